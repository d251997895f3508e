"""The list of keys."""

from __future__ import annotations

from typing import ClassVar

from rich.table import Table
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Static

KEYS = (
    ("enter", "open the game"),
    ("← →", "one ply back, one on"),
    ("home end", "the start, the last ply"),
    ("space", "play, pause"),
    ("+ -", "faster, slower"),
    ("↑ ↓", "more of what is told about the move"),
    ("r", "fixed speed, or as fast as it was played"),
    ("f", "turn the board"),
    ("a", "ASCII only, or figures"),
    ("n p", "next game of the list, the one before"),
    ("/", "search the list"),
    ("e", "export the game to a file"),
    ("esc", "back to the list"),
    ("q", "quit"),
)


class HelpScreen(ModalScreen[None]):
    """Gone with any of the keys that come to mind, or a click."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q,enter,space", "app.pop_screen", "close", show=False)
    ]

    def compose(self) -> ComposeResult:
        table = Table(box=None, show_header=False, padding=(0, 2), title="Keys", title_style="bold")
        for keys, what in KEYS:
            table.add_row(f"[bold]{keys}[/]", what)
        yield Static(table, id="box")

    def on_click(self) -> None:
        self.app.pop_screen()
