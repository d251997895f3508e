"""The strip chart as a part of the screen; a click on a bar goes to its move."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual import events
from textual.widgets import Static

from arena.replay.terminal.moves import PlyChosen
from arena.replay.terminal.strip import Window, legend, strip, window
from arena.replay.viewmodel import Latency

HEIGHT = 5
"""Lines of the highest bar."""


class LatencyStrip(Static):
    """Owns what part of the game it shows."""

    def __init__(self) -> None:
        super().__init__()
        self._window = Window(0, 0, 1)

    def show_times(self, times: Sequence[Latency | None], ply: int, *, ascii_only: bool) -> None:
        """Draws the times of all moves, with the move that led to `ply` marked."""
        if not any(times):
            self.update(Text("No times are recorded.", "dim"))
            return
        self._window = window(len(times), max(ply - 1, 0), max(self.app.size.width - 4, 10))
        bars = strip(times, ply - 1, self._window, HEIGHT, ascii_only=ascii_only)
        self.update(legend(times, ascii_only=ascii_only).append("\n").append_text(bars))

    def on_click(self, event: events.Click) -> None:
        inside = event.get_content_offset(self)
        bar = None if inside is None else self._window.bar_at(inside.x)
        if bar is not None:
            self.post_message(PlyChosen(bar + 1))
