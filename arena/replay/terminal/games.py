"""The list of recorded games."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Input, Static

from arena.errors import ArenaError
from arena.game_line import HEADINGS, game_cells
from arena.replay.terminal.record import Record

if TYPE_CHECKING:
    from arena.replay.terminal.app import ReplayApp
    from arena.store.queries import GameLine

REFRESH_S = 2.0


class GamesScreen(Screen[None]):
    """Lists what passes the record's filters and, of that, what holds every word of the search."""

    app: ReplayApp
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open"),
        Binding("slash", "search", "search", key_display="/"),
        Binding("escape", "all", "all games"),
    ]

    def __init__(self, record: Record) -> None:
        super().__init__()
        self._record = record
        self._all: Sequence[GameLine] = ()
        self._shown: list[int] = []
        self._wanted: int | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="summary")
        table: DataTable[Text] = DataTable(cursor_type="row", zebra_stripes=True)
        table.add_columns(*HEADINGS)
        yield table
        yield Input(placeholder="Search: players, run, rules, result, ending. Enter opens, Esc shows all.", id="search")
        yield Footer()

    async def on_mount(self) -> None:
        self.query_one(Input).display = False
        self.set_interval(REFRESH_S, self._refresh_live)
        await self._load()

    def point_at(self, game: int) -> None:
        """Moves the cursor to a game, now or once the list is there."""
        self._wanted = game
        if game in self._shown:
            self.query_one(DataTable).move_cursor(row=self._shown.index(game))

    def neighbour(self, game: int, steps: int) -> int | None:
        """The game that is `steps` further down than `game`; None outside the list."""
        index = (self._shown.index(game) if game in self._shown else -1) + steps
        return self._shown[index] if 0 <= index < len(self._shown) else None

    def action_search(self) -> None:
        box = self.query_one(Input)
        box.display = True
        box.focus()

    def action_all(self) -> None:
        box = self.query_one(Input)
        box.value = ""
        box.display = False
        self.query_one(DataTable).focus()

    async def action_open(self) -> None:
        row = self.query_one(DataTable).cursor_row
        if row < len(self._shown):
            await self.app.open_game(self._shown[row])

    async def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        await self.action_open()

    async def on_input_submitted(self) -> None:
        self.query_one(DataTable).focus()
        await self.action_open()

    def on_input_changed(self) -> None:
        self._fill()

    async def _refresh_live(self) -> None:
        """Looks again, but not behind a game that is being watched, nor at a record where nothing can change."""
        if self.is_current and any(game.status != "finished" for game in self._all):
            await self._load()

    async def _load(self) -> None:
        try:
            self._all = await self._record.games()
        except ArenaError as error:
            self.app.complain(error)
            return
        self._fill()

    def _fill(self) -> None:
        """Writes the table anew, with the cursor on the game it was on."""
        words = self.query_one(Input).value.lower().split()
        table: DataTable[Text] = self.query_one(DataTable)
        if self._wanted is None and table.cursor_row < len(self._shown):
            self._wanted = self._shown[table.cursor_row]
        rows = [(game.game_id, game_cells(game)) for game in self._all]
        found = [(game, cells) for game, cells in rows if all(word in " ".join(cells).lower() for word in words)]
        self._shown = [game for game, _ in found]
        table.clear()
        for _, cells in found:
            table.add_row(*(Text(cell) for cell in cells))
        if self._wanted in self._shown:
            table.move_cursor(row=self._shown.index(self._wanted))
        self._wanted = None
        self.query_one("#summary", Static).update(self._summary())

    def _summary(self) -> Text:
        count = len(self._all)
        line = Text(" arena replay ", "bold reverse").append("  ")
        line.append(f"{len(self._shown)} of {count} games" if len(self._shown) < count else f"{count} games")
        if count == self._record.filters.most:
            line.append(f" (the newest {count}; --limit N lists more)", "dim")
        return line if count else line.append("; no recorded game matches", "dim")
