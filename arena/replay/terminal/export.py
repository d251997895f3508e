"""Exporting the game that is shown to a file."""

from __future__ import annotations

import asyncio
from itertools import count
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Label, OptionList
from textual.widgets.option_list import Option

from arena.errors import ArenaError
from arena.formats import Look, writer
from arena.printable import printable
from arena.replay.terminal.record import Record
from arena.replay.viewmodel import Replay

FORMS = {
    "html": "a page that replays the game, .html",
    "svg": "the board as it is shown, .svg",
    "gif": "an animation, .gif",
    "text": "text to read, .txt",
    "pgn": "for chess programs, .pgn",
    "gib": "for janggi programs, .gib",
    "jsonl": "everything, for scripts, .jsonl",
}
ENDINGS = {"text": "txt"}


class ExportScreen(ModalScreen[None]):
    """Asks for a form and writes the file into the current folder, under a name that is not taken."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,e", "app.pop_screen", "close")]

    def __init__(self, record: Record, replay: Replay, ply: int, *, flip: bool) -> None:
        super().__init__()
        self._record = record
        self._replay = replay
        self._look = Look(ply, flip, None)

    def compose(self) -> ComposeResult:
        other = "gib" if self._replay.board == "chess" else "pgn"
        with Vertical(id="box"):
            yield Label(f"Export game {self._replay.game_id} as")
            yield OptionList(*(Option(what, id=form) for form, what in FORMS.items() if form != other))

    async def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        form = str(event.option.id)
        self.app.pop_screen()
        try:
            data = await self._record.written(self._replay.game_id, writer(form, self._look))
            path = await asyncio.to_thread(_write, data, f"game-{self._replay.game_id}", ENDINGS.get(form, form))
        except ArenaError as error:
            self.app.notify(printable(str(error)), title="Not exported", severity="error", timeout=8, markup=False)
            return
        self.app.notify(f"Written to {printable(str(path))}", markup=False)


def _write(data: bytes, name: str, ending: str) -> Path:
    """Writes a file that was not there before: `game-7.html`, else `game-7-2.html` and so on. Raises ArenaError."""
    for number in count(1):
        path = Path(f"{name}.{ending}" if number == 1 else f"{name}-{number}.{ending}")
        try:
            with path.open("xb") as stream:
                stream.write(data)
        except FileExistsError:
            continue
        except OSError as error:
            raise ArenaError(f"cannot write {path}: {error.strerror or error}") from error
        return path
    raise AssertionError("numbers do not end")
