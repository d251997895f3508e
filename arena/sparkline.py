"""A curve in one line of text."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII = "_.-=+*#@"


def sparkline(values: Sequence[float | None], width: int, *, ascii_only: bool = False) -> str:
    """The values, from 0 to the highest of them, in at most `width` characters: each shows the mean of its share of
    them, a space where none is known. Values below 0 look like 0."""
    marks = ASCII if ascii_only else BLOCKS
    shown = means(values, width)
    top = max((mean for mean in shown if mean is not None), default=0.0)
    return "".join(" " if mean is None else marks[_level(mean, top, len(marks))] for mean in shown)


def means(values: Sequence[float | None], most: int) -> list[float | None]:
    """At most `most` values in the place of many: the mean of what is known in each equal part, None if nothing is."""
    parts = min(most, len(values))
    return [_mean(values[at * len(values) // parts : (at + 1) * len(values) // parts]) for at in range(parts)]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _level(value: float, top: float, levels: int) -> int:
    return min(levels - 1, int(max(0.0, value) / top * levels)) if top > 0 else 0
