"""The figures of an engine over a run, from its samples and its moves: pure functions of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from itertools import pairwise
from statistics import fmean

from arena.capacity import Flow
from arena.store.summary import Percentiles
from arena.store.timing import MoveTime
from arena.store.watching import EngineSample

Values = Sequence[float | None]

TTFT_GREW = 2.0
"""Times the median TTFT of a run's first half, from which on the second half's is a sign of saturation."""
QUEUE_LASTS = 0.5
"""Share of the samples in which more requests waited than ran, likewise. A few always wait, for the step under way."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Of some values: their mean, the percentiles by nearest rank, and both ends."""

    mean: float
    least: float
    p50: float
    p95: float
    most: float

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Spread | None:
        """None if there are no values but None."""
        known = [value for value in values if value is not None]
        found = Percentiles.of(known)
        return None if found is None else cls(fmean(known), min(known), found.p50, found.p95, max(known))


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure over a run: a value for each sample, None where it is not known; `last` is the latest that is."""

    name: str
    unit: str
    last: float
    spread: Spread
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of making a move, in milliseconds, over all moves; `share` is its part of their whole time."""

    name: str
    share: float
    ms: Spread


@dataclass(frozen=True, slots=True)
class Totals:
    """What an engine counted over a run, through all the times that it was started."""

    finished: int
    failed: int
    cancelled: int
    preemptions: int
    evicted_pages: int
    prompt_tokens: int
    cached_tokens: int
    forwarded_tokens: int
    generated_tokens: int

    @property
    def hit_rate(self) -> float:
        """Share of prompt tokens found in the prefix cache; 0 without any."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else 0.0


FIGURES = (
    ("queue depth", "requests", "waiting"),
    ("running", "requests", "running"),
    ("in a step", "requests", "batch_mean"),
    ("TTFT p50", "ms", "ttft_p50_ms"),
    ("TTFT p95", "ms", "ttft_p95_ms"),
    ("moves", "/s", "moves_per_s"),
    ("tokens forwarded", "/s", "forwarded_tokens"),
    ("tokens generated", "/s", "generated_tokens"),
    ("cache hit rate", "%", "hit_rate"),
    ("KV pages locked", "pages", "pages_locked"),
    ("KV pages cached", "pages", "pages_cached"),
    ("KV pages free", "pages", "pages_free"),
)
"""Name, unit, and the sampled figure that it comes from: a counter if the unit is `/s` and it counts tokens."""


def engine_figures(samples: Sequence[EngineSample]) -> list[Figure]:
    """What the samples, oldest first, say; figures that were never sampled are left out."""
    seconds = [(sample.at - samples[0].at).total_seconds() for sample in samples]
    figures = []
    for name, unit, source in FIGURES:
        values: Values = [sample.figures.get(source) for sample in samples]
        if source.endswith("_tokens"):
            values = per_second(seconds, values)
        elif unit == "%":
            values = [None if value is None else 100 * value for value in values]
        spread = Spread.of(values)
        if spread is not None:
            last = next(value for value in reversed(values) if value is not None)
            figures.append(Figure(name, unit, last, spread, tuple(values)))
    return figures


def per_second(seconds: Sequence[float], counter: Values) -> Values:
    """How fast a counter grows; None where it does not (the first sample, and a counter that began anew)."""
    rates: list[float | None] = [None]
    for (then, now), (before, after) in zip(pairwise(seconds), pairwise(counter), strict=True):
        known = before is not None and after is not None and after >= before and now > then
        rates.append((after - before) / (now - then) if known else None)  # type: ignore[operator]
    return rates


def totals(samples: Sequence[EngineSample]) -> Totals | None:
    """Counters at the end, and before each time that they began anew; None if there was no engine."""
    names = [field.name for field in fields(Totals)]
    if not any(name in sample.figures for sample in samples for name in names):
        return None

    def total(name: str) -> int:
        counted = [0.0, *(sample.figures.get(name, 0.0) for sample in samples)]
        return round(sum(after if after < before else after - before for before, after in pairwise(counted)))

    return Totals(**{name: total(name) for name in names})


def phases(times: Sequence[MoveTime]) -> list[Phase]:
    """Where the time of a move goes: queue, prefill, decode, and the rest, which is spent outside the engine; then all
    of it."""
    whole = sum(time.total_ms for time in times)
    parts = {
        "queue": [time.queue_ms for time in times],
        "prefill": [time.prefill_ms for time in times],
        "decode": [time.decode_ms for time in times],
        "rest": [max(0.0, time.total_ms - time.queue_ms - time.prefill_ms - time.decode_ms) for time in times],
        "all": [time.total_ms for time in times],
    }
    spreads = {name: (values, Spread.of(values)) for name, values in parts.items()}
    return [
        Phase(name, sum(values) / whole if whole else 0.0, spread)
        for name, (values, spread) in spreads.items()
        if spread is not None
    ]


def flow(times: Sequence[MoveTime]) -> Flow | None:
    """How many moves a second came, and how long each took, over the time in which any was being made: a run that was
    interrupted and resumed is not slower for it. None if there were none that took any time."""
    busy_s = _busy(times).total_seconds()
    if not busy_s:
        return None
    return Flow(len(times) / busy_s, fmean(time.total_ms for time in times) / 1000)


def _busy(times: Sequence[MoveTime]) -> timedelta:
    """For how long any of the moves was being made."""
    if not times:
        return timedelta()
    spans = sorted((time.played_at - timedelta(milliseconds=time.total_ms), time.played_at) for time in times)
    busy, end = timedelta(), spans[0][0]
    for begun, done in spans:
        busy += max(timedelta(), done - max(begun, end))
        end = max(end, done)
    return busy


def signs_of_saturation(samples: Sequence[EngineSample]) -> list[str]:
    """Sentences about what says that more is asked of an engine than it can give, and what helps."""
    signs = []
    longer = [
        sample.figures["waiting"] > sample.figures.get("running", 0.0)
        for sample in samples
        if "waiting" in sample.figures
    ]
    lasting = fmean(longer) if longer else 0.0
    if lasting >= QUEUE_LASTS:
        signs.append(
            f"In {lasting:.0%} of the samples more requests waited than ran: more games at once would only wait longer."
        )
    ttft = [sample.figures["ttft_p50_ms"] for sample in samples if sample.figures.get("ttft_p50_ms")]
    early, late = Spread.of(ttft[: len(ttft) // 2]), Spread.of(ttft[len(ttft) // 2 :])
    if early is not None and late is not None and late.p50 >= TTFT_GREW * early.p50:
        signs.append(
            f"TTFT grew from {early.p50:,.0f} to {late.p50:,.0f} ms between the halves of the run: fewer games at "
            "once, or shorter prompts, would bring it down."
        )
    counted = totals(samples)
    if counted is not None and counted.preemptions:
        signs.append(
            f"{counted.preemptions:,} preemptions: KV memory was short; --kv int8, more --kv-memory or fewer games."
        )
    return signs
