"""The engine's figures, sampled while a run plays."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING

from arena.bus import EventBus
from arena.events import EngineSampled, Event, MovePlayed
from arena.store.records import StoredRun

if TYPE_CHECKING:
    from inference.engine import Engine

SAMPLE_S = 1.0
WINDOW_S = 10.0


class MoveRate:
    """Moves a second over the last WINDOW_S seconds. A reader of the bus; `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun = clock()
        self._times: deque[float] = deque()

    def begin(self, run: StoredRun) -> None:
        self._begun = self._clock()

    def read(self, event: Event) -> None:
        if isinstance(event, MovePlayed):
            self._times.append(self._clock())

    def per_second(self) -> float:
        now = self._clock()
        while self._times and self._times[0] <= now - WINDOW_S:
            self._times.popleft()
        seconds = min(WINDOW_S, now - self._begun)
        return len(self._times) / seconds if seconds > 0 else 0.0


async def sample(run_id: int, engine: Engine | None, bus: EventBus, rate: MoveRate) -> None:
    """Offers the bus an EngineSampled every SAMPLE_S seconds, until it is cancelled."""
    while True:
        await asyncio.sleep(SAMPLE_S)
        figures = {"moves_per_s": rate.per_second()}
        if engine is not None:
            stats = engine.stats()
            figures |= {**asdict(stats), "hit_rate": stats.hit_rate}
        bus.offer(EngineSampled(run_id=run_id, figures=figures))
