"""Small pictures as SVG, to stand inside a page: colours come from its style sheet by class, sizes from here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

CHARACTER = 7.2
"""Width of a character of a chart's text, about: 13 px sans serif."""

_QUOTE = {'"': "&quot;"}


class Canvas:
    """Collects the elements of one picture, in pixels from the top left. `render` gives its text."""

    def __init__(self, width: float, height: float, title: str) -> None:
        """`title` is what somebody is told who cannot see it."""
        self.width, self.height = width, height
        self._title = title
        self._parts: list[str] = []

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        place = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self._parts.append(f'<text x="{x:.1f}" y="{y:.1f}"{_class(kind)}{place}>{escape(text)}</text>')

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        self._parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"{_class(kind)}/>')

    def bar(self, x: float, y: float, width: float, height: float, kind: str, hint: str = "") -> None:
        """A rectangle; `hint` is told to whoever points at it."""
        shape = f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(0.0, width):.1f}" height="{height:.1f}"{_class(kind)}'
        self._parts.append(f"{shape}>{_hint(hint)}</rect>" if hint else f"{shape}/>")

    def dot(self, x: float, y: float, radius: float, kind: str, hint: str = "") -> None:
        shape = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"{_class(kind)}'
        self._parts.append(f"{shape}>{_hint(hint)}</circle>" if hint else f"{shape}/>")

    def arrow(self, x: float, y: float, direction: int, kind: str) -> None:
        """The head of an arrow whose tip is at `x`, `y`, to the right (1) or to the left (-1)."""
        back = x - 7 * direction
        points = f"{x:.1f},{y:.1f} {back:.1f},{y - 4.5:.1f} {back:.1f},{y + 4.5:.1f}"
        self._parts.append(f'<polygon points="{points}"{_class(kind)}/>')

    def render(self, kind: str = "") -> str:
        title = escape(self._title, _QUOTE)
        size = f'viewBox="0 0 {self.width:.0f} {self.height:.0f}" width="{self.width:.0f}" height="{self.height:.0f}"'
        parts = "".join(self._parts)
        return f'<svg{_class(kind)} {size} role="img" aria-label="{title}"><title>{title}</title>{parts}</svg>'


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _hint(text: str) -> str:
    return f"<title>{escape(text)}</title>"


FEWEST_TICKS = 3
"""A logarithmic axis so short that it has fewer powers and their parts takes evenly spaced values."""


def fitted(text: str, width: float) -> str:
    """`text` cut to about `width` pixels."""
    most = max(2, int(width / CHARACTER))
    return text if len(text) <= most else text[: most - 1] + "…"


@dataclass(frozen=True, slots=True)
class Axis:
    """Maps values from `low` to `high` to pixels from `left` to `right`, evenly or, with `log`, by their logarithm.
    `left` may be more than `right`."""

    low: float
    high: float
    left: float
    right: float
    log: bool = False

    def at(self, value: float) -> float:
        low, high, place = (math.log10(each) if self.log else each for each in (self.low, self.high, value))
        return self.left + (self.right - self.left) * (place - low) / (high - low)

    def ticks(self, most: int) -> list[float]:
        """At most about `most` round values on the axis."""
        if self.log and len(found := _log_ticks(self.low, self.high, most)) >= FEWEST_TICKS:
            return found
        step = _round_step((self.high - self.low) / max(1, most))
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


def axis(values: Sequence[float], left: float, right: float, *, log: bool = False, room: float = 0.06) -> Axis:
    """An axis that holds `values`, which must not be empty, with some room at both ends; a logarithmic one takes
    positive values only."""
    low, high = min(values), max(values)
    if log:
        spread = max(math.log10(high / low), 0.3)
        return Axis(low / 10 ** (spread * room), high * 10 ** (spread * room), left, right, log=True)
    spread = (high - low) or abs(high) or 1.0
    return Axis(low - spread * room, high + spread * room, left, right)


def _round_step(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * times for times in (1, 2, 5, 10) if power * times >= least * (1 - 1e-9))


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for times in ((1, 2, 5), (1, 3), (1,)):
        found = [time * 10.0**power for power in powers for time in times if low <= time * 10.0**power <= high]
        if len(found) <= most:
            return found
    return found[:: -(-len(found) // most)]
