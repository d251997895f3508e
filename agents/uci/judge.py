"""A UCI engine that is asked what it thinks of positions, rather than to play."""

from __future__ import annotations

from collections.abc import Sequence

from agents.base import UnusableAgentError
from agents.kind import AgentSpec, AgentSpecError
from agents.uci.kind import uci_command, uci_settings
from agents.uci.pool import EnginePool
from agents.uci.process import EngineNotFoundError, IllegalAnswerError, Search, Setup, find_engine
from games.base import Position


class Judge:
    """Assesses positions of the games it was made for, several at a time, each as if it had seen no other.

    Owns its engine processes from `start` to `close`.
    """

    def __init__(self, spec: AgentSpec, games: Sequence[str], pool: EnginePool | None = None) -> None:
        """`spec` is of the kind `uci`. Raises AgentSpecError for another, for an engine that is not there, and for one
        that is to be weakened: what it thinks would not be what it knows."""
        if spec.kind != "uci":
            raise AgentSpecError(f"{spec.text}: a judge is a UCI engine, as in uci:stockfish?nodes=20000")
        try:
            settings, command = uci_settings(spec), uci_command(spec)
            find = (find_engine(command[0]), *command[1:])
        except (AgentSpecError, EngineNotFoundError) as error:
            raise AgentSpecError(f"{spec.text}: {error}") from error
        for name in ("skill", "elo"):
            if getattr(settings, name) is not None:
                raise AgentSpecError(f"{spec.text}: a judge plays at full strength; leave out {name}")
        self.spec = spec
        self.version = ""
        self._limits = settings.limits(clock=None)
        self._setups = {game: Setup(find, game, settings.engine_options()) for game in games}
        self._pool = pool or EnginePool()
        self._entered = False

    @property
    def at_once(self) -> int:
        """How many positions it assesses at a time."""
        return self._pool.at_once

    async def start(self) -> None:
        """Starts a process for each game, to see that it is an engine and knows the game, and learns its version.
        Raises UnusableAgentError."""
        if not self._entered:
            self._entered = True
            self._pool.enter()
        for setup in self._setups.values():
            async with self._pool.lend(setup) as process:
                self.version = process.version

    async def assess(self, position: Position) -> tuple[str, int]:
        """Its best move in a position that is not over, and the score for the side to move (`agents.uci.score`).

        Raises UnusableAgentError for a program that says neither, AgentCrashed if it ends.
        """
        async with self._pool.lend(self._setups[position.game]) as process:
            process.last_game = None  # a player of the same pool who keeps what it searched begins anew
            try:
                found = await process.search(position, self._limits, new_game=True)
            except IllegalAnswerError as error:
                raise UnusableAgentError(str(error)) from error
        return self._checked(found, position)

    async def close(self) -> None:
        """Ends the processes. May be called again."""
        if self._entered:
            self._entered = False
            await self._pool.leave()

    def _checked(self, found: Search, position: Position) -> tuple[str, int]:
        if found.best not in position.legal_moves():
            raise UnusableAgentError(f"{self.version} finds {found.best!r} best in {position.fen}, which is not legal")
        if found.score is None:
            raise UnusableAgentError(f"{self.version} tells no score with its moves: it cannot be a judge")
        return found.best, found.score
