"""The answering side: one agent, offered to whoever asks by the broker."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from agents.base import Agent, Attempt, Failure, InfrastructureError, MoveReply, PlayerLeft
from agents.mqtt.broker import Broker, Will, packet_properties
from agents.mqtt.codec import MAX_PAYLOAD, BadPayloadError, Rejected, decode
from agents.mqtt.connection import Backoff, keep_connected
from agents.mqtt.protocol import Answer, Ask, Offer, offer_topic, replies_topic, requests_topic

if TYPE_CHECKING:
    from aiomqtt import Client, Message

logger = logging.getLogger(__name__)

MAX_AT_ONCE = 256
"""Questions worked at; more are refused at once."""
KEPT_ANSWERS = 1000
"""Answers kept for those who ask again after a lost connection."""

Caller = tuple[str, bytes]
"""Response topic and correlation data: the same question has the same, however often it arrives."""


class AgentServer:
    """Offers `agent` as `name`. Owns the connection and the questions being worked at, not the agent.

    A question that arrives twice is worked at once. Answers are functions of the question alone, as far as the agent's
    are. While the offer stands the broker holds a will that withdraws it.
    """

    def __init__(
        self, broker: Broker, name: str, agent: Agent, offer: Offer, *, backoff: Backoff | None = None
    ) -> None:
        self.answered = 0
        self.rejected = Rejected()
        self._broker = broker
        self._name = name
        self._agent = agent
        self._offer = offer
        self._backoff = backoff or Backoff()
        self._key = secrets.token_hex(8)
        self._work: dict[Caller, asyncio.Task[None]] = {}
        self._answers: OrderedDict[Caller, bytes] = OrderedDict()
        self._client: Client | None = None

    async def serve(self, stopping: asyncio.Event, offered: Callable[[], None] = lambda: None) -> None:
        """Answers until `stopping` is set, then withdraws the offer. `offered` is called at each connection, once the
        offer is there. Raises BrokerRefusedError."""
        will = Will(offer_topic(self._broker, self._name, self._key), b"")
        try:
            await keep_connected(
                self._broker,
                lambda: self._broker.client(f"arena-{self._key}", will),
                lambda client: self._talk(client, stopping, offered),
                stopping=stopping,
                backoff=self._backoff,
                meanwhile=f"nobody can ask {self._name}",
            )
        finally:
            for task in self._work.values():
                task.cancel()
            await asyncio.gather(*self._work.values(), return_exceptions=True)

    async def _talk(self, client: Client, stopping: asyncio.Event, offered: Callable[[], None]) -> None:
        if stopping.is_set():
            return
        await client.subscribe(requests_topic(self._broker, self._name, self._key), qos=1)
        offer_at = offer_topic(self._broker, self._name, self._key)
        await client.publish(offer_at, self._offer.encoded(), qos=1, retain=True)
        self._client = client
        offered()
        listening = asyncio.create_task(self._listen(client))
        stop = asyncio.create_task(stopping.wait())
        try:
            await asyncio.wait({listening, stop}, return_when=asyncio.FIRST_COMPLETED)
            if listening.done():
                listening.result()
            await client.publish(offer_at, b"", qos=1, retain=True)
        finally:
            self._client = None
            listening.cancel()
            stop.cancel()
            await asyncio.gather(listening, stop, return_exceptions=True)

    async def _listen(self, client: Client) -> None:
        async for message in client.messages:
            try:
                self._take(message)
            except BadPayloadError as error:
                self.rejected.add(str(message.topic), str(error))

    def _take(self, message: Message) -> None:
        caller = self._caller(message)
        if caller in self._work:
            return
        if caller in self._answers:
            self._begin(caller, self._send(caller, self._answers[caller]))
            return
        ask = decode(Ask, message.payload)
        if len(self._work) >= MAX_AT_ONCE:
            busy = Answer.failed("infrastructure", f"{MAX_AT_ONCE} questions are being worked at")
            self._begin(caller, self._send(caller, busy.encoded()))
            return
        self._begin(caller, self._answer(caller, ask))

    def _caller(self, message: Message) -> Caller:
        response = getattr(message.properties, "ResponseTopic", None)
        correlation = getattr(message.properties, "CorrelationData", None)
        if not isinstance(response, str) or not response.startswith(replies_topic(self._broker, "")):
            raise BadPayloadError("no response topic, or one elsewhere than with the replies")
        if not isinstance(correlation, bytes) or not 1 <= len(correlation) <= 64 or set(response) & set("+#"):
            raise BadPayloadError("no correlation data of at most 64 bytes")
        return response, correlation

    def _begin(self, caller: Caller, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._work[caller] = task
        task.add_done_callback(lambda _: self._work.pop(caller, None))

    async def _answer(self, caller: Caller, ask: Ask) -> None:
        answer = (await self._ask_agent(ask)).encoded()
        if len(answer) > MAX_PAYLOAD:
            answer = Answer.failed(
                "crash", f"its answer has {len(answer):,} bytes, more than {MAX_PAYLOAD:,}"
            ).encoded()
        self._answers[caller] = answer
        while len(self._answers) > KEPT_ANSWERS:
            self._answers.popitem(last=False)
        self.answered += 1
        await self._send(caller, answer)

    async def _ask_agent(self, ask: Ask) -> Answer:
        try:
            request = ask.request()
        except ValueError as error:
            return Answer.failed("infrastructure", f"the position cannot be set up: {error}")
        try:
            async with asyncio.timeout(ask.deadline_s) as limit:
                return Answer.of(await self._agent.choose_move(request))
        except (InfrastructureError, PlayerLeft) as error:
            return Answer.failed("infrastructure", str(error))
        except (Exception, SystemExit) as error:  # whatever the agent's code does, the others are served on
            if isinstance(error, TimeoutError) and limit.expired():
                return Answer.of(
                    MoveReply(None, (Attempt("", Failure.TIMEOUT, f"{self._name} was too slow"),), "remote")
                )
            logger.warning("%s crashed: %s: %s", self._name, type(error).__name__, error)
            return Answer.failed("crash", f"{type(error).__name__}: {error}")

    async def _send(self, caller: Caller, answer: bytes) -> None:
        from aiomqtt import MqttError

        if self._client is None:
            return  # it will be asked for again
        response, correlation = caller
        properties = packet_properties("PUBLISH", CorrelationData=correlation)
        try:
            await self._client.publish(response, answer, qos=1, properties=properties)
        except MqttError as error:  # likewise
            logger.debug("an answer did not get through: %s", error)
