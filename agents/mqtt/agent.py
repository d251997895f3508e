"""The agent whose moves are made elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from agents.base import (
    Agent,
    AgentCrashed,
    Attempt,
    Failure,
    InfrastructureError,
    MoveReply,
    MoveRequest,
    UnusableAgentError,
)
from agents.mqtt.link import Link, NoAnswerInTimeError
from agents.mqtt.protocol import Ask, Offer

START_LIMIT_S = 10.0
"""How long the start of a run waits for a server."""
ABSENCE_LIMIT_S = 30.0
"""How long a move waits for a server when none is there."""


class MqttAgent(Agent):
    """Passes each request to a server of the agent `target`, and its answer back. Keeps nothing between calls.

    A server that dies, or a broker that goes, is nobody's fault in the game: InfrastructureError, and the game is
    played again. A server that is there and gives no answer in time is too slow, and loses on time as any agent does.
    """

    queues = True

    def __init__(self, name: str, target: str, link: Link, games: Sequence[str]) -> None:
        self.name = name
        self._target = target
        self._link = link
        self._games = tuple(games)
        self._offer: Offer | None = None
        self._entered = False

    @property
    def facts(self) -> Mapping[str, str]:
        return {} if self._offer is None else {"served": self._offer.spec}

    def template_hash(self, game: str) -> str | None:
        return None if self._offer is None else self._offer.templates.get(game)

    async def start(self) -> None:
        """Waits for a server, to learn what it serves; others are not asked. Raises UnusableAgentError."""
        if not self._entered:
            self._entered = True
            self._link.enter()
        try:
            self._offer = (await self._link.server(self._target, None, START_LIMIT_S)).offer
        except InfrastructureError as error:
            raise UnusableAgentError(str(error)) from error
        missing = [game for game in self._games if game not in self._offer.games]
        if missing:
            raise UnusableAgentError(f"{self._target} is served for {', '.join(self._offer.games)}, not {missing[0]}")

    async def choose_move(self, request: MoveRequest) -> MoveReply:
        begun = time.perf_counter()
        limit_s = _before(request.deadline_s)
        server = await self._link.server(self._target, self._offer, min(limit_s or ABSENCE_LIMIT_S, ABSENCE_LIMIT_S))
        if limit_s is not None:
            limit_s = max(0.001, limit_s - (time.perf_counter() - begun))
        try:
            answer = await self._link.ask(server, Ask.of(request, limit_s), limit_s)
        except NoAnswerInTimeError as error:
            return MoveReply(None, (Attempt("", Failure.TIMEOUT, str(error)),), "remote")
        if answer.error == "infrastructure":
            raise InfrastructureError(f"{self._target}, at its server: {answer.detail}")
        if answer.error == "crash":
            raise AgentCrashed(f"at its server: {answer.detail}")
        return answer.reply()

    async def close(self) -> None:
        if self._entered:
            self._entered = False
            await self._link.leave()


def _before(deadline_s: float | None) -> float | None:
    """A little less than `deadline_s`: past it nobody would hear whose fault the silence was."""
    return None if deadline_s is None else deadline_s - min(0.5, deadline_s / 10)
