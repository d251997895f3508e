"""The list of moves: where one is, and a way to go elsewhere with the mouse."""

from __future__ import annotations

from rich.text import Text
from textual.coordinate import Coordinate
from textual.message import Message
from textual.widgets import DataTable

from arena.printable import printable
from arena.replay.viewmodel import Replay

FAILED = "!"
"""Behind a move that was not the first try."""


class PlyChosen(Message):
    """Somebody wants to see the game after this ply."""

    def __init__(self, ply: int) -> None:
        super().__init__()
        self.ply = ply


class MoveList(DataTable[Text], can_focus=False):
    """A row for each move number, a cell for each ply. Invariant: `_cell_of[ply]` is where ply stands."""

    def __init__(self) -> None:
        super().__init__(cursor_type="cell", show_header=True)
        self._cell_of: dict[int, Coordinate] = {}

    def show_game(self, replay: Replay) -> None:
        """Writes the list anew."""
        self.clear(columns=True)
        self._cell_of = {}
        first, second = replay.players
        for heading, width in (("", 4), (first.side, 9), (second.side, 9)):
            self.add_column(heading, width=width)
        row: list[Text] = []
        for ply in replay.plies[1:]:
            if ply.side == "first" or not row:
                row = [Text(f"{str(ply.number).rstrip('.…')}.", "dim", justify="right"), Text(""), Text("")]
                self.add_row(*row)
            failed = ply.chosen is not None and any(attempt.failure for attempt in ply.chosen.attempts)
            said = Text(printable(str(ply.san))).append(FAILED if failed else "", "bold red")
            where = Coordinate(self.row_count - 1, 1 if ply.side == "first" else 2)
            self.update_cell_at(where, said)
            self._cell_of[ply.ply] = where

    def mark(self, ply: int) -> None:
        """Makes `ply` the current one; the start has no cell."""
        self.show_cursor = ply in self._cell_of
        if ply in self._cell_of:
            self.move_cursor(row=self._cell_of[ply].row, column=self._cell_of[ply].column, scroll=True)
        else:
            self.scroll_home(animate=False)

    def on_data_table_cell_selected(self, event: DataTable.CellSelected) -> None:
        event.stop()
        for ply, where in self._cell_of.items():
            if where == event.coordinate:
                self.post_message(PlyChosen(ply))
