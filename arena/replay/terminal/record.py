"""The record as the viewer asks it: in threads, so that the screen never waits for a disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.replay.prompts import recorded_replay
from arena.replay.viewmodel import Replay

if TYPE_CHECKING:
    from arena.store.database import Database
    from arena.store.queries import GameDetail, GameLine


@dataclass(frozen=True, slots=True)
class Filters:
    """Which games are listed; None is all of them. `most` is how many at most, the newest."""

    run: str | None = None
    agent: str | None = None
    result: str | None = None
    termination: str | None = None
    most: int = 1000


class Record:
    """Reads games for the viewer. Only reads: a run that writes is not held up."""

    def __init__(self, database: Database, filters: Filters) -> None:
        self._database = database
        self.filters = filters

    async def games(self) -> list[GameLine]:
        """The games that pass the filters, the newest first. Raises StoreError, UsageError."""
        return await asyncio.to_thread(self._games)

    async def replay(self, game: int) -> Replay:
        """Raises StoreError for a game that cannot be replayed, UsageError for one that is not there."""
        return await asyncio.to_thread(lambda: recorded_replay(self._detail(game)))

    async def written(self, game: int, write: Callable[[GameDetail], bytes]) -> bytes:
        """The game as `write` has it. Raises what that raises."""
        return await asyncio.to_thread(lambda: write(self._detail(game)))

    def _games(self) -> list[GameLine]:
        from arena.store.queries import list_games

        chosen = self.filters
        return list_games(
            self._database,
            run=chosen.run,
            agent=chosen.agent,
            result=chosen.result,
            termination=chosen.termination,
            limit=chosen.most,
        )

    def _detail(self, game: int) -> GameDetail:
        from arena.store.queries import game_detail

        return game_detail(self._database, game)
