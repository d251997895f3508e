"""Agents whose behaviour is known in advance: they put a match, a runner or a user's own tooling to the test.

Reachable in an agent spec as `python:agents.scripted:SlowAgent?delay_s=0.5`.
"""

from __future__ import annotations

import asyncio

from agents.base import Agent, AgentCrashed, Attempt, Failure, MoveReply, MoveRequest
from agents.random import random_move


class FixedLineAgent(Agent):
    """Plays its moves of one line of the whole game, `moves` in canonical notation with spaces between.

    Does not look whether they are legal. Crashes where the line ends.
    """

    def __init__(self, moves: str, name: str = "fixed line") -> None:
        self.name = name
        self._line = tuple(moves.split())

    async def choose_move(self, request: MoveRequest) -> MoveReply:
        played = len(request.position.moves)
        if played >= len(self._line):
            raise AgentCrashed(f"{self.name}: the line has {len(self._line)} plies and all are played")
        return MoveReply.of(self._line[played], policy="scripted")


class IllegalAgent(Agent):
    """Answers every try with the same illegal move and owns up to it, as an agent with `retry:tries` does."""

    def __init__(self, tries: int = 1, name: str = "illegal") -> None:
        self.name = name
        self._tries = tries

    async def choose_move(self, request: MoveRequest) -> MoveReply:
        attempt = Attempt("a1a1", Failure.ILLEGAL, "'a1a1' is never legal")
        return MoveReply(None, (attempt,) * self._tries, f"retry:{self._tries}")


class DishonestAgent(Agent):
    """Claims an illegal move as its move: a fault of the agent that a match has to notice itself."""

    def __init__(self, name: str = "dishonest") -> None:
        self.name = name

    async def choose_move(self, request: MoveRequest) -> MoveReply:
        return MoveReply.of("a1a1", policy="scripted")


class SlowAgent(Agent):
    """Plays a random move after `delay_s` seconds."""

    def __init__(self, delay_s: float, name: str = "slow") -> None:
        self.name = name
        self._delay_s = delay_s

    async def choose_move(self, request: MoveRequest) -> MoveReply:
        await asyncio.sleep(self._delay_s)
        return MoveReply.of(random_move(request), policy="constrained")


class CrashingAgent(Agent):
    """Plays random moves until `plies` plies of the game are played, then raises."""

    def __init__(self, plies: int = 0, name: str = "crashing") -> None:
        self.name = name
        self._plies = plies

    async def choose_move(self, request: MoveRequest) -> MoveReply:
        if len(request.position.moves) >= self._plies:
            raise ZeroDivisionError(f"{self.name} crashes, as it is scripted to, after {self._plies} plies")
        return MoveReply.of(random_move(request), policy="constrained")


class SilentAgent(Agent):
    """Never answers. Counts who waits for it (`waiting`) and who gave up (`cancelled`)."""

    def __init__(self, name: str = "silent") -> None:
        self.name = name
        self.waiting = 0
        self.cancelled = 0

    async def choose_move(self, request: MoveRequest) -> MoveReply:
        self.waiting += 1
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.waiting -= 1
        raise AssertionError("an event that nobody sets was set")
