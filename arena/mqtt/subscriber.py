"""The other end: updates of runs from a broker, through every outage."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING

from agents.mqtt.broker import Broker
from agents.mqtt.codec import BadPayloadError, Rejected
from agents.mqtt.connection import Backoff, keep_connected
from arena.live.boards import Gone
from arena.mqtt.messages import Update, move_topic, read_update, state_topic, status_topic

if TYPE_CHECKING:
    from aiomqtt import Client, Message


class Subscriber:
    """Hears what is published about one run, or all of them. What cannot be used is counted in `rejected`."""

    def __init__(
        self,
        broker: Broker,
        take: Callable[[Update | Gone], object],
        run: str | None,
        *,
        backoff: Backoff | None = None,
    ) -> None:
        self.rejected = Rejected()
        self._broker = broker
        self._take = take
        self._run = run or "+"
        self._backoff = backoff or Backoff()
        self._identifier = f"arena-{secrets.token_hex(8)}"

    async def listen(self, stopping: asyncio.Event, subscribed: Callable[[], None] = lambda: None) -> None:
        """Until `stopping` is set. `subscribed` is called at each connection, once nothing is missed any more. Raises
        BrokerRefusedError."""
        await keep_connected(
            self._broker,
            lambda: self._broker.client(self._identifier),
            lambda client: self._talk(client, stopping, subscribed),
            stopping=stopping,
            backoff=self._backoff,
            meanwhile="trying again and again",
        )

    async def _talk(self, client: Client, stopping: asyncio.Event, subscribed: Callable[[], None]) -> None:
        topics = (
            move_topic(self._broker, self._run, "+"),
            state_topic(self._broker, self._run, "+"),
            status_topic(self._broker, self._run),  # last, so that a run's end is heard after its games
        )
        await client.subscribe([(topic, 1) for topic in topics])  # after each connection: the broker may be a new one
        subscribed()
        listening = asyncio.create_task(self._listen(client))
        stop = asyncio.create_task(stopping.wait())
        try:
            await asyncio.wait({listening, stop}, return_when=asyncio.FIRST_COMPLETED)
            if listening.done():
                listening.result()
        finally:
            listening.cancel()
            stop.cancel()
            await asyncio.gather(listening, stop, return_exceptions=True)

    async def _listen(self, client: Client) -> None:
        async for message in client.messages:
            self._hear(message)

    def _hear(self, message: Message) -> None:
        topic = str(message.topic)
        try:
            self._take(self._read(topic, message.payload))
        except BadPayloadError as error:
            self.rejected.add(topic, str(error))

    def _read(self, topic: str, payload: object) -> Update | Gone:
        if payload:
            return read_update(self._broker, topic, payload)
        match topic.removeprefix(self._broker.topic("")).split("/"):
            case [run, "status"]:
                return Gone(run)
            case [run, game_id, "state"] if game_id.isascii() and game_id.isdecimal():
                return Gone(run, int(game_id))
        raise BadPayloadError("empty")
