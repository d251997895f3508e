"""The reader of events that publishes them on an MQTT broker, and never makes a match wait."""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
import threading
import time
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from agents.mqtt.broker import Broker, Will
from agents.mqtt.connection import Backoff, BrokerRefusedError, keep_connected, until_lost
from arena.events import Event
from arena.mqtt.messages import status_topic
from arena.mqtt.outbox import Outbox, Parcel, will_of
from arena.store.records import StoredRun

if TYPE_CHECKING:
    from aiomqtt import Client

logger = logging.getLogger(__name__)

FLUSH_S = 3.0
"""How long the end of a run waits for the broker to take what is left."""


class Publisher:
    """Publishes a run as README.md describes. A context manager around the run; a reader of its bus.

    Owns a thread with an event loop of its own, so that whatever the broker or the network does, the games' loop only
    ever appends to a bounded queue. `origin` tells runs of one name apart, which every new database has.
    """

    def __init__(
        self,
        broker: Broker,
        origin: str,
        *,
        clear: bool = False,
        backoff: Backoff | None = None,
        flush_s: float | None = None,
    ) -> None:
        """With `clear`, what is retained of the run is removed in the end. `flush_s`: FLUSH_S by default."""
        self.outbox = Outbox(broker, self._wake)
        self._broker = broker
        self._origin = origin
        self._clear = clear
        self._backoff = backoff or Backoff()
        self._flush_s = FLUSH_S if flush_s is None else flush_s
        self._identifier = f"arena-{secrets.token_hex(8)}"
        self._gate = threading.Lock()  # the loop does not close while it is woken
        self._loop: asyncio.AbstractEventLoop | None = None
        self._something = asyncio.Event()
        self._stopping = asyncio.Event()
        self._closing = False
        self._delivered = False
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def begin(self, run: StoredRun) -> None:
        self.outbox.begin(run, f"{run.name}-{self._origin}", time.time_ns() // 1_000_000)
        self._thread = threading.Thread(target=self._run, name="arena-mqtt", daemon=True)
        self._thread.start()

    def read(self, event: Event) -> None:
        self.outbox.add(event)

    def close(self) -> None:
        """Waits for the broker to take what is left, for a bounded time, then goes on without it and says so."""
        if self._thread is None:
            return
        self.outbox.end()
        self._closing = True
        self._wake()
        self._thread.join(self._flush_s)
        if not self._delivered:
            logger.warning("Not everything was published: %d messages are left.", self.outbox.waiting)
        if self.outbox.dropped:
            logger.warning("%d moves were not published: the broker was away or slow.", self.outbox.dropped)
        self._thread = None

    # --- the publishing thread -----------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            asyncio.run(self._publish())
        except BrokerRefusedError as error:
            logger.warning("%s; the games go on, and are not published.", error)
        except Exception:
            logger.exception("publishing has failed; the games go on")

    async def _publish(self) -> None:
        with self._gate:
            self._loop = asyncio.get_running_loop()
        self._hear()
        try:
            await self._stay()
        finally:
            with self._gate:
                self._loop = None

    async def _stay(self) -> None:
        status = self.outbox.status
        assert status is not None
        will = Will(status_topic(self._broker, status.run), will_of(status))
        await keep_connected(
            self._broker,
            lambda: self._broker.client(self._identifier, will),
            self._talk,
            stopping=self._stopping,
            backoff=self._backoff,
            meanwhile="the games go on",
        )

    async def _talk(self, client: Client) -> None:
        """Publishes until the end of the run, and returns when everything is confirmed."""
        self.outbox.everything_again()
        losing = asyncio.create_task(until_lost(client))
        publishing = asyncio.create_task(self._empty_outbox(client))
        try:
            await asyncio.wait({losing, publishing}, return_when=asyncio.FIRST_COMPLETED)
            (publishing if publishing.done() else losing).result()
        finally:
            losing.cancel()
            publishing.cancel()
            await asyncio.gather(losing, publishing, return_exceptions=True)

    async def _empty_outbox(self, client: Client) -> None:
        while True:
            self._something.clear()
            batch = self.outbox.take()
            if batch.parcels:
                try:
                    await self._send(client, batch.parcels)
                except BaseException:
                    self.outbox.put_back(batch)
                    raise
            elif self._stopping.is_set():
                break
            else:
                await self._something.wait()
        if self._clear:
            await self._send(client, self.outbox.clearing())
        self._delivered = True

    @staticmethod
    async def _send(client: Client, parcels: tuple[Parcel, ...]) -> None:
        """Publishes all at once, in their order, and waits for the confirmations."""
        sending = (client.publish(topic, payload, qos=1, retain=retain) for topic, payload, retain in parcels)
        await asyncio.gather(*sending)

    def _wake(self) -> None:
        """Something has changed. From any thread."""
        with self._gate:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._hear)

    def _hear(self) -> None:
        self._something.set()
        if self._closing:
            self._stopping.set()


def origin_of(db: str) -> str:
    """Six letters and digits for a database on this machine: the same whenever a run of it is resumed, and telling
    nothing about either."""
    where = db if "://" in db else str(Path(db).resolve())
    return blake2b(f"{socket.gethostname()}\0{where}".encode(), digest_size=3).hexdigest()
