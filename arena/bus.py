"""The way of an event from a match to everyone who wants it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol

from arena.events import Event
from arena.store.records import StoredRun

logger = logging.getLogger(__name__)


class Recorder(Protocol):
    """The durable reader: `arena.store.writer.Recorder`."""

    async def record(self, event: Event) -> None:
        """Returns once the event is durable. Raises StoreError."""

    def offer(self, event: Event) -> None:
        """Takes a figure to be written some time; never waits."""


class Reader(Protocol):
    """Someone who looks on: a screen, a log, a broker. Called in the event loop, so it must return at once."""

    def begin(self, run: StoredRun) -> None:
        """Called once, before the first event of the run."""

    def read(self, event: Event) -> None:
        """Called for each event, after it is durable."""


class EventBus:
    """Hands every event first to the recorder, which is awaited, then to the readers, which never are.

    Whatever a reader raises is logged, the first time with its traceback, and touches neither the match nor the
    other readers.
    """

    def __init__(self, recorder: Recorder, readers: Sequence[Reader] = ()) -> None:
        self._recorder = recorder
        self._readers = tuple(readers)
        self._complained: set[int] = set()

    def begin(self, run: StoredRun) -> None:
        """Tells the readers which run the events that follow belong to."""
        for index, reader in enumerate(self._readers):
            try:
                reader.begin(run)
            except Exception:
                self._complain(index)

    async def record(self, event: Event) -> None:
        """Returns when `event` is durable and the readers have seen it. Raises StoreError."""
        await self._recorder.record(event)
        self._show(event)

    def offer(self, event: Event) -> None:
        """Passes on an event that need not be durable before anything else happens."""
        self._recorder.offer(event)
        self._show(event)

    def _show(self, event: Event) -> None:
        for index, reader in enumerate(self._readers):
            try:
                reader.read(event)
            except Exception:
                self._complain(index)

    def _complain(self, index: int) -> None:
        if index not in self._complained:
            self._complained.add(index)
            logger.exception("%s failed to read an event; the games go on", type(self._readers[index]).__name__)
