"""The engine's figures. Counters since start, and windows over the most recent requests."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from inference.types import EngineStats

WINDOW = 512
"""Finished requests over which percentiles are taken."""


def percentile(values: Iterable[float], share: float) -> float:
    """Nearest-rank percentile: the smallest value with at least `share` of the values at or below it; 0 of none."""
    ordered = sorted(values)
    if not ordered:
        return 0.0
    rank = -(-len(ordered) * round(share * 1000) // 1000)
    return ordered[max(0, rank - 1)]


class Metrics:
    """Written by the step loop alone; `snapshot` makes an immutable copy for everyone else."""

    def __init__(self) -> None:
        self.finished = 0
        self.failed = 0
        self.cancelled = 0
        self.steps = 0
        self.prompt_tokens = 0
        self.cached_tokens = 0
        self.forwarded_tokens = 0
        self.generated_tokens = 0
        self.scheduler_ms = 0.0
        self._ttft_ms: deque[float] = deque(maxlen=WINDOW)
        self._itl_ms: deque[float] = deque(maxlen=WINDOW)
        self._batch: deque[int] = deque(maxlen=WINDOW)
        self._step_ms: deque[float] = deque(maxlen=WINDOW)

    def step(self, sequences: int, tokens: int, milliseconds: float, scheduler_ms: float) -> None:
        """A step of `sequences` and `tokens` that computed for `milliseconds`, after planning for `scheduler_ms`."""
        self.steps += 1
        self.scheduler_ms += scheduler_ms
        self.forwarded_tokens += tokens
        self._batch.append(sequences)
        self._step_ms.append(milliseconds)

    def admitted(self, prompt_tokens: int, cached_tokens: int) -> None:
        """Once a request, at its first admission: retries and preemptions do not count again."""
        self.prompt_tokens += prompt_tokens
        self.cached_tokens += cached_tokens

    def first_token(self, milliseconds: float) -> None:
        self._ttft_ms.append(milliseconds)

    def next_token(self, milliseconds: float) -> None:
        self._itl_ms.append(milliseconds)

    def snapshot(self, **gauges: int) -> EngineStats:
        """`gauges`: the figures that others own, by their names in EngineStats."""
        return EngineStats(
            finished=self.finished,
            failed=self.failed,
            cancelled=self.cancelled,
            steps=self.steps,
            prompt_tokens=self.prompt_tokens,
            cached_tokens=self.cached_tokens,
            forwarded_tokens=self.forwarded_tokens,
            generated_tokens=self.generated_tokens,
            scheduler_ms=self.scheduler_ms,
            ttft_p50_ms=percentile(self._ttft_ms, 0.5),
            ttft_p95_ms=percentile(self._ttft_ms, 0.95),
            itl_p50_ms=percentile(self._itl_ms, 0.5),
            itl_p95_ms=percentile(self._itl_ms, 0.95),
            batch_mean=sum(self._batch) / len(self._batch) if self._batch else 0.0,
            step_ms_mean=sum(self._step_ms) / len(self._step_ms) if self._step_ms else 0.0,
            **gauges,
        )
