"""The agent that asks a UCI engine for its moves."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter

from agents.base import FLAG_MARGIN_MS, Accounting, Agent, Attempt, Failure, MoveReply, MoveRequest
from agents.uci.pool import EnginePool
from agents.uci.process import IllegalAnswerError, Setup, find_engine
from agents.uci.settings import UciSettings

POLICY = "engine"
"""The legality policy of every UCI engine: one answer, which has to be a legal move."""


class UciAgent(Agent):
    """Plays what an engine says. Keeps nothing between calls: the engine is told the whole game each time.

    A process that dies is a crash of the agent, and another is started for the next question. One that gives no answer
    in time is killed. Waiting for a process of the pool is queueing; the time from then on is the engine's own.
    """

    queues = True

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        games: Sequence[str],
        settings: UciSettings | None = None,
        pool: EnginePool | None = None,
    ) -> None:
        """`command` is the program and its arguments; `games` are those it will play. Raises EngineNotFoundError."""
        self.name = name
        self.settings = settings or UciSettings()
        self._pool = pool or EnginePool()
        found, options = (find_engine(command[0]), *command[1:]), self.settings.engine_options()
        self._setups = {game: Setup(found, game, options) for game in games}
        self._program = Path(found[0]).name
        self._version: str | None = None
        self._entered = False

    @property
    def facts(self) -> Mapping[str, str]:
        return {} if self._version is None else {"version": self._version}

    async def start(self) -> None:
        """Starts a process for each game, to see that it is an engine, knows the game and takes the options, and to
        learn its version. Raises EngineStartError."""
        if not self._entered:
            self._entered = True
            self._pool.enter()
        for setup in self._setups.values():
            async with self._pool.lend(setup) as process:
                self._version = process.version

    async def choose_move(self, request: MoveRequest) -> MoveReply:
        asked = begun = perf_counter()
        try:
            async with self._pool.lend(self._setups[request.position.game], request.game_id) as process:
                begun = perf_counter()
                new_game = not self.settings.keep_hash or process.last_game != request.game_id
                process.last_game = request.game_id
                async with asyncio.timeout(_patience(request, begun - asked)):
                    limits = self.settings.limits(request.clock)
                    answer = await process.best_move(request.position, limits, new_game=new_game)
        except TimeoutError:
            detail = f"{self._program} gave no move in {perf_counter() - begun:.1f} s"
            return self._failed("", Failure.TIMEOUT, detail, asked, begun)
        except IllegalAnswerError as error:
            return self._failed("", Failure.ILLEGAL, str(error), asked, begun)
        if not answer:
            return self._failed("", Failure.EMPTY, f"{self._program} sees no move here", asked, begun)
        if answer not in request.position.legal_moves():
            detail = f"{self._program} played {answer!r}, which is not legal here"
            return self._failed(answer, Failure.ILLEGAL, detail, asked, begun)
        return MoveReply(answer, (Attempt(answer, accounting=_accounting(asked, begun)),), POLICY)

    async def close(self) -> None:
        if self._entered:
            self._entered = False
            await self._pool.leave()

    def _failed(self, text: str, failure: Failure, detail: str, asked: float, begun: float) -> MoveReply:
        return MoveReply(None, (Attempt(text, failure, detail, accounting=_accounting(asked, begun)),), POLICY)


def _patience(request: MoveRequest, waited_s: float) -> float | None:
    """Seconds that the engine may think: what its clock has left, and what the caller still waits."""
    bounds = []
    if request.deadline_s is not None:
        bounds.append(request.deadline_s - waited_s)
    if request.clock is not None:
        bounds.append((request.clock.left(request.position.side_to_move) + FLAG_MARGIN_MS) / 1000)
    return max(0.0, min(bounds)) if bounds else None


def _accounting(asked: float, begun: float) -> Accounting:
    """Times only: from `asked` to `begun` it stood in line, since then it thought."""
    return Accounting(queue_ms=(begun - asked) * 1000, decode_ms=(perf_counter() - begun) * 1000)
