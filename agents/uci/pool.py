"""Engine processes that many agents share: as many as think at once, not as many as play."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from agents.uci.process import START_LIMIT_S, EngineProcess, EngineStartError, Setup

logger = logging.getLogger(__name__)

KEPT = 16
"""Processes that may be alive at once, thinking or idle; more only if more may think at once."""

Launch = Callable[[Setup], Awaitable[EngineProcess]]


class EnginePool:
    """Owns engine processes, and lends each to one question at a time.

    Invariant: `at_once` processes think at most, `kept` are alive at most; a process is either idle or lent, and
    only an idle one is ever lent. Agents enter and leave; when the last has left, no process is.
    """

    def __init__(self, at_once: int | None = None, kept: int = KEPT, launch: Launch | None = None) -> None:
        """`at_once` None: one for each processor, since more would only slow each other down."""
        self.at_once = at_once or os.cpu_count() or 1
        self._kept = max(kept, self.at_once)
        self._launch = launch or launch_engine
        self._turns = asyncio.Semaphore(self.at_once)
        self._idle: list[tuple[Setup, EngineProcess]] = []  # the one that has been idle longest comes first
        self._lent = 0
        self._users = 0

    @property
    def alive(self) -> int:
        """Processes there are, those being started included."""
        return len(self._idle) + self._lent

    def enter(self) -> None:
        self._users += 1

    async def leave(self) -> None:
        """The last to leave ends the idle processes; those that are lent end with their question, cancelled or not."""
        self._users -= 1
        if self._users == 0:
            idle, self._idle = self._idle, []
            await asyncio.gather(*(process.quit() for _, process in idle))

    @asynccontextmanager
    async def lend(self, setup: Setup, game: int | None = None) -> AsyncIterator[EngineProcess]:
        """A ready process with this setup, if possible the one that thought about `game` last.

        Waits for a turn, in order; starts a process if none with the setup is idle. However the question ends but
        with an answer, the process is killed: what it would say next answers nobody. Raises EngineStartError.
        """
        async with self._turns:
            self._lent += 1
            try:
                process = self._take(setup, game)
                if process is None:
                    await self._make_room()
                    process = await self._start(setup)
                try:
                    yield process
                except BaseException:
                    await asyncio.shield(process.kill())
                    raise
                if self._users and process.running:
                    self._idle.append((setup, process))
                else:
                    await process.quit()
            finally:
                self._lent -= 1

    def _take(self, setup: Setup, game: int | None) -> EngineProcess | None:
        """An idle process with this setup, off the list; those that have ended meanwhile are dropped."""
        for ended in [entry for entry in self._idle if not entry[1].running]:
            logger.warning("%s ended while it was idle; it will be started again", ended[1].version)
            self._idle.remove(ended)
        fitting = [entry for entry in self._idle if entry[0] == setup]
        if not fitting:
            return None
        chosen = next((entry for entry in fitting if entry[1].last_game == game), fitting[-1])
        self._idle.remove(chosen)
        return chosen[1]

    async def _make_room(self) -> None:
        while self.alive > self._kept:
            _, longest_idle = self._idle.pop(0)
            await longest_idle.quit()

    async def _start(self, setup: Setup) -> EngineProcess:
        try:
            async with asyncio.timeout(START_LIMIT_S):
                return await self._launch(setup)
        except TimeoutError as error:
            raise EngineStartError(
                f"{setup.program} did not get ready in {START_LIMIT_S:g} s: is it a UCI engine?"
            ) from error
        except OSError as error:
            raise EngineStartError(f"cannot run {setup.program}: {error}") from error


async def launch_engine(setup: Setup) -> EngineProcess:
    """Starts an engine: chess by the `chess` package, every other game by the client here."""
    if setup.variant == "chess":
        from agents.uci.library import ChessEngine

        return await ChessEngine.launch(setup)
    from agents.uci.client import UciClient

    return await UciClient.launch(setup)
