"""Drives any engine with a workload in a closed loop: all games at once, each asking when the last answer has come."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from arena.bench.workload import Turn, Workload
from inference.metrics import percentile

LAG_PROBE_S = 0.005


class Answer(Protocol):
    """What the loop needs of an answer."""

    @property
    def text(self) -> str: ...


A = TypeVar("A", bound=Answer)


@dataclass(slots=True)
class Played(Generic[A]):
    """What came of it: seconds in all, each answer with its turn and its latency, how late the event loop woke a
    sleeper (milliseconds both)."""

    seconds: float = 0.0
    turns: list[Turn] = field(default_factory=list)
    answers: list[A] = field(default_factory=list)
    latencies_ms: list[float] = field(default_factory=list)
    lags_ms: list[float] = field(default_factory=list)


async def play(workload: Workload, ask: Callable[[Turn], Awaitable[A]]) -> Played[A]:
    """Play all games of the workload. The first error of `ask` ends it, and is raised."""
    played: Played[A] = Played()

    async def game(index: int) -> None:
        turns = workload.turns(index)
        turn = next(turns, None)
        while turn is not None:
            asked = time.perf_counter()
            answer = await ask(turn)
            played.latencies_ms.append((time.perf_counter() - asked) * 1e3)
            played.turns.append(turn)
            played.answers.append(answer)
            try:
                turn = turns.send(answer.text)
            except StopIteration:
                return

    prober = asyncio.create_task(_probe(played.lags_ms))
    started = time.perf_counter()
    try:
        async with asyncio.TaskGroup() as group:
            for index in range(workload.load.in_flight):
                group.create_task(game(index))
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    finally:
        prober.cancel()
    played.seconds = time.perf_counter() - started
    return played


async def _probe(lags_ms: list[float]) -> None:
    while True:
        due = time.perf_counter() + LAG_PROBE_S
        await asyncio.sleep(LAG_PROBE_S)
        lags_ms.append((time.perf_counter() - due) * 1e3)


def percentiles(values: Sequence[float], *shares: int) -> dict[str, float]:
    """`{"p50": ...}` for shares in per cent."""
    return {f"p{share}": percentile(values, share / 100) for share in shares}
