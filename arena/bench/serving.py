"""Drives our engine with a workload in a closed loop, and measures what comes out."""

from __future__ import annotations

import asyncio
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from arena.bench.observer import Observer
from arena.bench.workload import FREE_TOKENS, Turn, Workload
from inference.engine import Engine, EngineConfig
from inference.loader import LoadedModel
from inference.metrics import percentile
from inference.runner import StepRunner
from inference.types import Reply, SamplingParams

LAG_PROBE_S = 0.005


@dataclass(frozen=True, slots=True)
class Measurement:
    """The figures of one cell. `_ms` are milliseconds, `_percent` per cent; per move is per request.

    `kv_waste_percent` is the share of KV places that hold no token, averaged over steps: `paged` as it was,
    `contiguous` if each sequence had the model's whole context set aside.
    """

    requests: int
    seconds: float
    moves_per_s: float
    latency_ms: dict[str, float]
    ttft_ms: dict[str, float]
    prompt_tokens_per_move: float
    forwarded_tokens_per_move: float
    passes_per_move: float
    hit_rate: float
    duplicate_forwarded_tokens: int
    preemptions: int
    scheduler_us_per_request: float
    loop_lag_ms: dict[str, float]
    peak_rss_mb: float
    kv_waste_percent: dict[str, float]


async def measure(workload: Workload, config: EngineConfig, model: LoadedModel) -> Measurement:
    """Play the workload on an engine of its own. The first prompt is sent once before the clock starts, as a run warms
    its system prompt. Figures are over the clocked part."""
    observers: list[Observer] = []

    def watch(runner: StepRunner) -> Observer:
        observer = Observer(runner, page_size=config.page_size, context_length=model.config.context_length)
        observers.append(observer)
        return observer

    async with Engine(config, model=model, wrap_runner=watch) as engine:
        await _ask(engine, workload, workload.games[0][0])
        (observer,) = observers
        observer.reset()
        before = engine.stats()
        load = _Load(engine, workload)
        seconds = await load.run()
        after = engine.stats()

    n, prompted = workload.requests, after.prompt_tokens - before.prompt_tokens
    return Measurement(
        requests=n,
        seconds=seconds,
        moves_per_s=n / seconds,
        latency_ms=_percentiles(load.latencies_ms, 50, 95, 99),
        ttft_ms=_percentiles([reply.timing.ttft_ms for reply in load.replies], 50, 95),
        prompt_tokens_per_move=sum(reply.usage.prompt_tokens for reply in load.replies) / n,
        forwarded_tokens_per_move=(after.forwarded_tokens - before.forwarded_tokens) / n,
        passes_per_move=sum(reply.usage.passes for reply in load.replies) / n,
        hit_rate=(after.cached_tokens - before.cached_tokens) / prompted if prompted else 0.0,
        duplicate_forwarded_tokens=observer.duplicates,
        preemptions=after.preemptions - before.preemptions,
        scheduler_us_per_request=(after.scheduler_ms - before.scheduler_ms) * 1e3 / n,
        loop_lag_ms=_percentiles(load.lags_ms, 99),
        peak_rss_mb=peak_rss_mb(),
        kv_waste_percent={"paged": 100 * observer.paged_waste, "contiguous": 100 * observer.contiguous_waste},
    )


class _Load:
    """All games of a workload at once, each asking for its next move when the last has come."""

    def __init__(self, engine: Engine, workload: Workload) -> None:
        self._engine = engine
        self._workload = workload
        self.replies: list[Reply] = []
        self.latencies_ms: list[float] = []
        self.lags_ms: list[float] = []

    async def run(self) -> float:
        """Seconds that it took."""
        prober = asyncio.create_task(self._probe())
        started = time.perf_counter()
        try:
            async with asyncio.TaskGroup() as group:
                for turns in self._workload.games:
                    group.create_task(self._play(turns))
        finally:
            prober.cancel()
        return time.perf_counter() - started

    async def _play(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            asked = time.perf_counter()
            self.replies.append(await _ask(self._engine, self._workload, turn))
            self.latencies_ms.append((time.perf_counter() - asked) * 1e3)

    async def _probe(self) -> None:
        """How late the event loop wakes a sleeper."""
        while True:
            due = time.perf_counter() + LAG_PROBE_S
            await asyncio.sleep(LAG_PROBE_S)
            self.lags_ms.append((time.perf_counter() - due) * 1e3)


async def _ask(engine: Engine, workload: Workload, turn: Turn) -> Reply:
    if workload.answer == "free":
        return await engine.generate(turn.prompt, SamplingParams(max_tokens=FREE_TOKENS, ignore_eos=True))
    return await engine.choose(turn.prompt, turn.choices, temperature=1.0, seed=turn.seed)


def _percentiles(values: Sequence[float], *shares: int) -> dict[str, float]:
    return {f"p{share}": percentile(values, share / 100) for share in shares}


def peak_rss_mb() -> float:
    """Peak resident memory of this process so far, MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
