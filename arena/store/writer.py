"""The one writer: events go in from any task, and are committed in groups by one thread."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from concurrent.futures import Future
from typing import NamedTuple

from arena.errors import StoreError
from arena.events import Event
from arena.store.apply import apply
from arena.store.database import Database


class _Item(NamedTuple):
    event: Event
    committed: Future[None] | None  # None: nobody waits


class Recorder:
    """Writes events, in the order they were given, from one thread of its own.

    A group is what arrives while the last one is being committed, and no more than `commit_interval_s` of
    arrivals; it is one transaction. Owns the thread and the queue, not the database. Invariants: `record` has
    returned only for events that are durable; after the first failure nothing more is written. Belongs to no
    event loop: `record` may be awaited from several.
    """

    def __init__(self, db: Database, *, commit_interval_s: float = 0.05) -> None:
        if commit_interval_s < 0:
            raise ValueError(f"commit_interval_s must be at least 0, not {commit_interval_s}")
        self._db = db
        self._interval_s = commit_interval_s
        self._queue: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._gate = threading.Lock()  # nothing enters the queue after the None that ends it
        self._closed = False
        self._failure: StoreError | None = None
        self._failure_told = False
        self._thread = threading.Thread(target=self._run, name="arena-recorder", daemon=True)
        self._thread.start()

    async def record(self, event: Event) -> None:
        """Return once the event is committed. Raises StoreError if it is not, and at every call from then on.

        Cancelling the call does not take the event back.
        """
        committed: Future[None] = Future()
        self._put(_Item(event, committed))
        await asyncio.wrap_future(committed)

    def offer(self, event: Event) -> None:
        """Queue an event that nobody waits for. Raises StoreError only if an earlier event failed."""
        self._put(_Item(event, None))

    async def close(self) -> None:
        """Commit what is queued, end the thread and empty the write-ahead log. May be called again.

        Raises StoreError if an event failed and no caller has been told.
        """
        with self._gate:
            first = not self._closed
            self._closed = True
            if first:
                self._queue.put(None)
        await asyncio.to_thread(self._thread.join)
        if self._failure is not None:
            if not self._failure_told:
                self._failure_told = True
                raise self._failure
        elif first:
            await asyncio.to_thread(self._db.checkpoint)

    def _put(self, item: _Item) -> None:
        with self._gate:
            if self._failure is not None:
                self._failure_told = True
                raise StoreError(str(self._failure)) from self._failure
            if self._closed:
                raise StoreError("the recorder is closed")
            self._queue.put(item)

    def _run(self) -> None:
        ending = False
        while not ending:
            group, ending = self._next_group()
            if group:
                self._commit(group)

    def _next_group(self) -> tuple[list[_Item], bool]:
        """Wait for an event, then take what is there; also whether the queue has ended."""
        group: list[_Item] = []
        item = self._queue.get()
        until = time.monotonic() + self._interval_s
        while item is not None:
            group.append(item)
            if time.monotonic() >= until:
                return group, False
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return group, False
        return group, True

    def _commit(self, group: list[_Item]) -> None:
        if self._failure is None:
            try:
                with self._db.writing() as session:
                    connection = session.connection()
                    for item in group:
                        apply(connection, item.event)
            except StoreError as error:
                self._failure = error
            except Exception as error:  # whatever it was, those who wait must hear of it
                self._failure = StoreError(f"database {self._db.name}: {type(error).__name__}: {error}")
                self._failure.__cause__ = error
        for item in group:
            if item.committed is None or not item.committed.set_running_or_notify_cancel():
                continue
            if self._failure is None:
                item.committed.set_result(None)
            else:
                self._failure_told = True
                item.committed.set_exception(StoreError(str(self._failure)))
