"""Line charts of the engine's figures, as data for the page's SVG: pure, and readable as sentences too."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from arena.stats import Values, per_second
from arena.store.watching import EngineSample

WIDTH, HEIGHT = 480, 200
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 10, 24
GAP = 5.0
"""A pause this many times the usual distance between samples breaks the line: nothing was measured there."""


@dataclass(frozen=True, slots=True)
class Line:
    """A curve: SVG path data, its name, and in words what it does."""

    name: str
    path: str
    summary: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis, in the units of the picture, and what is written there."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart in a picture of WIDTH times HEIGHT units. `lines` is empty where there is nothing to show."""

    title: str
    unit: str
    lines: tuple[Line, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]


def engine_charts(samples: Sequence[EngineSample]) -> list[Chart]:
    """TTFT, queue depth, tokens a second, hit rate, KV pages and moves a second over the time of a run."""
    if len(samples) < 2:
        return []
    start = samples[0].at
    seconds = [(sample.at - start).total_seconds() for sample in samples]

    def figure(name: str, scale: float = 1.0) -> Values:
        found = [sample.figures.get(name) for sample in samples]
        return [None if value is None else value * scale for value in found]

    def rate(name: str) -> Values:
        return per_second(seconds, figure(name))

    wanted: list[tuple[str, str, dict[str, Values]]] = [
        ("Time to first token", "ms", {"median": figure("ttft_p50_ms"), "95 %": figure("ttft_p95_ms")}),
        ("Queue depth", "requests", {"waiting": figure("waiting"), "running": figure("running")}),
        ("Tokens a second", "tokens/s", {"forwarded": rate("forwarded_tokens"), "generated": rate("generated_tokens")}),
        ("Prefix cache hit rate", "%", {"of all prompt tokens": figure("hit_rate", 100)}),
        (
            "KV pages",
            "pages",
            {"locked": figure("pages_locked"), "cached": figure("pages_cached"), "free": figure("pages_free")},
        ),
        ("Moves a second", "moves/s", {"over 10 s": figure("moves_per_s")}),
    ]
    return [_chart(title, unit, seconds, curves) for title, unit, curves in wanted]


def _chart(title: str, unit: str, seconds: Sequence[float], curves: dict[str, Values]) -> Chart:
    known = [value for values in curves.values() for value in values if value is not None]
    if not known:
        return Chart(title, unit, (), (), ())
    up = ticks(max(known))
    span = seconds[-1] or 1.0

    def x(second: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * second / span

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / up[-1]

    usual = sorted(later - earlier for earlier, later in pairwise(seconds))[(len(seconds) - 1) // 2]
    lines = tuple(
        Line(name, _path(seconds, values, x, y, GAP * usual), _summary(name, values, unit))
        for name, values in curves.items()
        if any(value is not None for value in values)
    )
    across = tuple(Tick(x(second), _time(second)) for second in (0.0, span / 2, span))
    return Chart(title, unit, lines, across, tuple(Tick(y(value), _number(value)) for value in up))


def _path(
    seconds: Sequence[float],
    values: Values,
    x: Callable[[float], float],
    y: Callable[[float], float],
    gap: float,
) -> str:
    parts: list[str] = []
    last: float | None = None
    for second, value in zip(seconds, values, strict=True):
        if value is None:
            last = None
            continue
        joined = last is not None and second - last <= gap
        parts.append(f"{'L' if joined else 'M'}{x(second):.1f} {y(value):.1f}")
        last = second
    return "".join(parts)


def ticks(top: float) -> tuple[float, ...]:
    """Round values from 0 to at least `top`, three to six of them."""
    if top <= 0:
        return (0.0, 1.0)
    rough = top / 4
    magnitude = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * magnitude for factor in (1, 2, 2.5, 5, 10) if factor * magnitude >= rough)
    return tuple(step * index for index in range(math.ceil(top / step - 1e-9) + 1))


def _summary(name: str, values: Values, unit: str) -> str:
    known = [value for value in values if value is not None]
    mean = sum(known) / len(known)
    return (
        f"{name}: last {_number(known[-1])}, mean {_number(mean)}, "
        f"between {_number(min(known))} and {_number(max(known))} {unit}"
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == round(value) else f"{value:.3g}"


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
