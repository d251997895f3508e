"""The asking side: one connection to the broker for all remote agents of a run."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agents.base import InfrastructureError
from agents.mqtt.broker import Broker, packet_properties
from agents.mqtt.codec import BadPayloadError, Rejected, decode
from agents.mqtt.connection import Backoff, BrokerRefusedError, keep_connected
from agents.mqtt.protocol import Answer, Ask, Offer, offer_topic, replies_topic, requests_topic

if TYPE_CHECKING:
    from aiomqtt import Client, Message

logger = logging.getLogger(__name__)

GRACE_S = 5.0
"""How long a server that has gone may take to come back before what it was asked is given up."""
MAX_SERVERS = 1000


class NoAnswerInTimeError(TimeoutError):
    """The server is there, the broker too, and the answer is not: the agent is too slow."""


@dataclass(slots=True, eq=False)
class Server:
    """One process that serves an agent. `leaving` runs while it has gone and may still come back."""

    name: str
    key: str
    offer: Offer
    leaving: asyncio.TimerHandle | None = None
    pending: set[bytes] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class _Question:
    server: Server
    payload: bytes
    answer: asyncio.Future[Answer]


class Link:
    """Asks servers and waits for their answers. Owns the connection, from the first `enter` to the last `leave`.

    Each question goes to one server, and is put again, under the same correlation data, when the connection or the
    server comes back; so each is answered once at most, and an answer nobody waits for any more is dropped.
    Invariant: a question is in `_questions` exactly while somebody awaits it, and in its server's `pending`.
    """

    def __init__(self, broker: Broker, *, backoff: Backoff | None = None) -> None:
        self.broker = broker
        self.dropped = 0
        """Answers that came twice, or too late."""
        self.rejected = Rejected()
        self._backoff = backoff or Backoff()
        self._client_key = f"arena-{secrets.token_hex(8)}"
        self._servers: dict[tuple[str, str], Server] = {}
        self._questions: dict[bytes, _Question] = {}
        self._users = 0
        self._stopping, self._changed = asyncio.Event(), asyncio.Event()
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None

    def enter(self) -> None:
        """Connects, unless it was done before. To be called in the event loop of the run."""
        self._users += 1
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="link to remote agents")

    async def leave(self) -> None:
        """The last to leave ends the connection."""
        self._users -= 1
        if self._users == 0 and self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
            for server in self._servers.values():
                if server.leaving:
                    server.leaving.cancel()
            self._servers.clear()

    async def server(self, name: str, wanted: Offer | None, limit_s: float) -> Server:
        """The server of the agent `name` that is asked least at present, once there is one that offers what is
        `wanted`. Raises InfrastructureError if there is none in `limit_s` seconds."""
        try:
            async with asyncio.timeout(limit_s):
                while not (there := self._present(name, wanted)):
                    self._check_connection()
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise InfrastructureError(self._absence(name, wanted)) from None
        return min(there, key=lambda server: (len(server.pending), server.key))

    async def ask(self, server: Server, ask: Ask, limit_s: float | None) -> Answer:
        """What `server` answers in `limit_s` seconds.

        Raises InfrastructureError if it has gone and does not come back, or the broker has; NoAnswerInTimeError if
        both are there.
        """
        with self._question(server, ask) as (correlation, question):
            await self._put(correlation, question)
            try:
                async with asyncio.timeout(limit_s):
                    return await question.answer
            except TimeoutError:
                if self._client is None or server.leaving is not None:
                    raise InfrastructureError(f"{server.name} cannot be reached by {self.broker.address}") from None
                raise NoAnswerInTimeError(f"{server.name} gave no move in {limit_s:.3g} s") from None

    @contextmanager
    def _question(self, server: Server, ask: Ask) -> Iterator[tuple[bytes, _Question]]:
        correlation = secrets.token_bytes(12)
        question = _Question(server, ask.encoded(), asyncio.get_running_loop().create_future())
        self._questions[correlation] = question
        server.pending.add(correlation)
        try:
            yield correlation, question
        finally:
            del self._questions[correlation]
            server.pending.discard(correlation)

    async def _put(self, correlation: bytes, question: _Question) -> None:
        from aiomqtt import MqttError

        if self._client is None:
            return  # put again when the connection is back
        mine = replies_topic(self.broker, self._client_key)
        properties = packet_properties("PUBLISH", ResponseTopic=mine, CorrelationData=correlation)
        topic = requests_topic(self.broker, question.server.name, question.server.key)
        try:
            await self._client.publish(topic, question.payload, qos=1, properties=properties)
        except MqttError as error:  # likewise
            logger.debug("a question to %s did not get through: %s", question.server.name, error)

    # --- the connection ----------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            await keep_connected(
                self.broker,
                lambda: self.broker.client(self._client_key),
                self._talk,
                stopping=self._stopping,
                backoff=self._backoff,
                meanwhile="remote agents cannot be asked",
            )
        finally:
            self._changed.set()

    async def _talk(self, client: Client) -> None:
        topic = offer_topic(self.broker, "+", "+")
        await client.subscribe([(topic, 1), (replies_topic(self.broker, self._client_key), 1)])
        for server in self._servers.values():
            self._miss(server)  # until it is heard of again
        self._client = client
        try:
            async for message in client.messages:
                await self._take(message)
        finally:
            self._client = None

    async def _take(self, message: Message) -> None:
        topic = str(message.topic)
        try:
            if topic == replies_topic(self.broker, self._client_key):
                self._take_answer(message)
            else:
                await self._take_offer(topic, message)
        except BadPayloadError as error:
            self.rejected.add(topic, str(error))

    def _take_answer(self, message: Message) -> None:
        correlation = getattr(message.properties, "CorrelationData", None)
        question = self._questions.get(correlation) if isinstance(correlation, bytes) else None
        if question is None or question.answer.done():
            self.dropped += 1
            logger.debug("dropped an answer that came twice or too late")
            return
        question.answer.set_result(decode(Answer, message.payload))

    async def _take_offer(self, topic: str, message: Message) -> None:
        name, _, key = topic.removeprefix(self.broker.topic("agents", "")).split("/")
        server = self._servers.get((name, key))
        if not message.payload:
            if server is not None:
                self._miss(server)
            return
        offer = decode(Offer, message.payload)
        if server is None:
            if len(self._servers) >= MAX_SERVERS:
                raise BadPayloadError(f"more than {MAX_SERVERS} servers")
            self._servers[name, key] = Server(name, key, offer)
        else:
            await self._return(server, offer)
        self._changed.set()

    # --- servers that go and come ------------------------------------------------------------------------------------

    def _present(self, name: str, wanted: Offer | None) -> list[Server]:
        return [
            server
            for server in self._servers.values()
            if server.name == name and server.leaving is None and wanted in (None, server.offer)
        ]

    def _miss(self, server: Server) -> None:
        if server.leaving is None:
            loop = asyncio.get_running_loop()
            server.leaving = loop.call_later(GRACE_S, self._lose, server)

    async def _return(self, server: Server, offer: Offer) -> None:
        server.offer = offer
        if server.leaving is not None:
            server.leaving.cancel()
            server.leaving = None
            for correlation in list(server.pending):
                if (question := self._questions.get(correlation)) is not None:  # it may have been given up meanwhile
                    await self._put(correlation, question)

    def _lose(self, server: Server) -> None:
        self._servers.pop((server.name, server.key), None)
        for correlation in server.pending:
            answer = self._questions[correlation].answer
            if not answer.done():
                answer.set_exception(InfrastructureError(f"the machine or process that serves {server.name} has gone"))

    # --- what went wrong ---------------------------------------------------------------------------------------------

    def _check_connection(self) -> None:
        """Raises InfrastructureError if there will never be a connection."""
        if self._task is not None and self._task.done() and not self._task.cancelled():
            error = self._task.exception()
            if isinstance(error, BrokerRefusedError):
                raise InfrastructureError(str(error))
            raise InfrastructureError(f"the connection to {self.broker.address} has ended") from error

    def _absence(self, name: str, wanted: Offer | None) -> str:
        if self._client is None:
            return f"no connection to the broker {self.broker.address}"
        if wanted is not None and self._present(name, None):
            return f"the servers of {name} at {self.broker.address} now serve something else than when the run began"
        return f"nobody serves an agent {name} at {self.broker.address}: `arena agents serve` does"
