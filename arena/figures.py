"""The engines' figures, sampled while a run plays."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from arena.bus import EventBus
from arena.events import EngineSampled, Event, MovePlayed
from arena.store.records import StoredRun

if TYPE_CHECKING:
    from arena.engines import Engines
    from inference.types import EngineStats

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


def together(stats: Sequence[EngineStats]) -> dict[str, float]:
    """The figures of several engines as one's: counts add up; of times, and of the batch, the largest counts."""
    if not stats:
        return {}
    figures = [asdict(one) for one in stats]
    joined = {
        name: sum(one[name] for one in figures)
        if isinstance(figures[0][name], int)
        else max(one[name] for one in figures)
        for name in figures[0]
    }
    prompted = joined["prompt_tokens"]
    return {**joined, "hit_rate": joined["cached_tokens"] / prompted if prompted else 0.0}


async def sample(run_id: int, engines: Engines, bus: EventBus, rate: MoveRate) -> None:
    """Offers the bus an EngineSampled every SAMPLE_S seconds, until it is cancelled."""
    while True:
        await asyncio.sleep(SAMPLE_S)
        figures = {"moves_per_s": rate.per_second(), **together(engines.stats())}
        bus.offer(EngineSampled(run_id=run_id, figures=figures))
