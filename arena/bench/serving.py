"""Drives our engine with a workload in a closed loop, and measures what comes out."""

from __future__ import annotations

import resource
import sys
from dataclasses import dataclass
from functools import partial

from arena.bench.loop import percentiles, play
from arena.bench.observer import Observer
from arena.bench.workload import FREE_TOKENS, AnswerShape, Turn, Workload
from inference.engine import Engine, EngineConfig
from inference.loader import LoadedModel
from inference.runner import StepRunner
from inference.types import Reply, SamplingParams


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
    """Play the workload on an engine of its own. What all prompts begin with is sent once before the clock starts, as a
    run warms its system prompt. Figures are over the clocked part."""
    observers: list[Observer] = []

    def watch(runner: StepRunner) -> Observer:
        observer = Observer(runner, page_size=config.page_size, context_length=model.config.context_length)
        observers.append(observer)
        return observer

    async with Engine(config, model=model, wrap_runner=watch) as engine:
        await engine.generate(workload.preamble, SamplingParams(max_tokens=1))
        (observer,) = observers
        observer.reset()
        before = engine.stats()
        played = await play(workload, partial(_ask, engine, workload.load.answer))
        after = engine.stats()

    n, prompted = workload.load.requests, after.prompt_tokens - before.prompt_tokens
    return Measurement(
        requests=n,
        seconds=played.seconds,
        moves_per_s=n / played.seconds,
        latency_ms=percentiles(played.latencies_ms, 50, 95, 99),
        ttft_ms=percentiles([reply.timing.ttft_ms for reply in played.answers], 50, 95),
        prompt_tokens_per_move=sum(reply.usage.prompt_tokens for reply in played.answers) / n,
        forwarded_tokens_per_move=(after.forwarded_tokens - before.forwarded_tokens) / n,
        passes_per_move=sum(reply.usage.passes for reply in played.answers) / n,
        hit_rate=(after.cached_tokens - before.cached_tokens) / prompted if prompted else 0.0,
        duplicate_forwarded_tokens=observer.duplicates,
        preemptions=after.preemptions - before.preemptions,
        scheduler_us_per_request=(after.scheduler_ms - before.scheduler_ms) * 1e3 / n,
        loop_lag_ms=percentiles(played.lags_ms, 99),
        peak_rss_mb=peak_rss_mb(),
        kv_waste_percent={"paged": 100 * observer.paged_waste, "contiguous": 100 * observer.contiguous_waste},
    )


async def _ask(engine: Engine, answer: AnswerShape, turn: Turn) -> Reply:
    if answer == "free":
        return await engine.generate(turn.prompt, SamplingParams(max_tokens=FREE_TOKENS, ignore_eos=True))
    return await engine.choose(turn.prompt, turn.choices, temperature=1.0, seed=turn.seed)


def peak_rss_mb() -> float:
    """Peak resident memory of this process so far, MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
