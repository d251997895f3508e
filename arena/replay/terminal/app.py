"""The viewer: which game is open, and how one gets from one to the next."""

from __future__ import annotations

from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from arena.errors import ArenaError
from arena.printable import printable
from arena.replay.terminal.game import GameScreen
from arena.replay.terminal.games import GamesScreen
from arena.replay.terminal.help import HelpScreen
from arena.replay.terminal.record import Record


class ReplayApp(App[None]):
    """Owns the screens. `ascii_only` and `flip` hold for every game that is opened; `first_game` is opened at once."""

    TITLE = "arena replay"
    ENABLE_COMMAND_PALETTE = False
    CSS_PATH = "replay.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "quit"),
        Binding("question_mark", "help", "keys", key_display="?"),
    ]

    def __init__(
        self, record: Record, *, first_game: int | None = None, ascii_only: bool = False, flip: bool = False
    ) -> None:
        super().__init__()
        self.record = record
        self.ascii_only = ascii_only
        self.flip = flip
        self._first_game = first_game
        self._games = GamesScreen(record)

    async def on_mount(self) -> None:
        await self.push_screen(self._games)
        if self._first_game is not None:
            await self.open_game(self._first_game)

    def action_help(self) -> None:
        self.push_screen(HelpScreen())

    async def open_game(self, game: int) -> None:
        """Shows a game instead of the one that is open; a damaged one gives a message, and all stays as it was."""
        try:
            replay = await self.record.replay(game)
        except ArenaError as error:
            self.complain(error)
            return
        screen = GameScreen(self.record, replay, ascii_only=self.ascii_only, flip=self.flip)
        self._games.point_at(game)
        if isinstance(self.screen, GameScreen):
            await self.switch_screen(screen)
        else:
            await self.push_screen(screen)

    async def open_neighbour(self, game: int, steps: int) -> None:
        """Shows the game that is `steps` further down the list than `game`."""
        other = self._games.neighbour(game, steps)
        if other is None:
            self.notify("There is no next game in the list." if steps > 0 else "There is no game before this one.")
        else:
            await self.open_game(other)

    async def search(self) -> None:
        """Goes back to the list, to search in it."""
        while isinstance(self.screen, GameScreen):
            await self.pop_screen()
        self._games.action_search()

    def complain(self, error: ArenaError) -> None:
        """Says what went wrong and lets the user go on."""
        self.notify(printable(str(error)), title="This did not work", severity="error", timeout=8, markup=False)
