"""Bar charts as SVG: rows of a name and a bar for each figure, readable on light and on dark screens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH = 960
MARGIN = 28
LABELS = 268  # of the width, for the names of rows
GAP = 18  # between columns
VALUE = 92  # right of the longest bar, for its text
ROW, BAR = 26, 14

STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #24292f }
.paper { fill: #ffffff; stroke: #d0d7de }
.title { font-size: 18px; font-weight: 600 }
.heading { font-weight: 600 }
.quiet { font-size: 12px; fill: #656d76 }
.number { font-variant-numeric: tabular-nums }
.track { fill: #eef1f4 }
.bar { fill: #8fa3b8 }
.best { fill: #1a7f37 }
.bad { fill: #cf5a4a }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .paper { fill: #0d1117; stroke: #30363d }
  .quiet { fill: #8d96a0 }
  .track { fill: #1c232b }
  .bar { fill: #5b7088 }
  .best { fill: #3fb950 }
  .bad { fill: #e0705f }
}
"""


@dataclass(frozen=True, slots=True)
class Bar:
    """`value` sets the length, None leaves the place empty; `text` stands behind it. `kind`: bar, best or bad."""

    value: float | None
    text: str
    kind: str = "bar"


@dataclass(frozen=True, slots=True)
class Row:
    """A name, and a bar for each column of its group."""

    label: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that share columns. `full` are the values that fill each column; None: those of the longest bars."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    full: tuple[float, ...] | None = None


def bar_chart(title: str, subtitle: str, groups: Sequence[Group]) -> str:
    """The chart as the text of an SVG file."""
    parts: list[str] = []
    y = MARGIN + 18
    parts.append(_text(MARGIN, y, title, "title"))
    parts.append(_text(MARGIN, y + 22, subtitle, "quiet"))
    y += 40
    for group in groups:
        y = _draw_group(parts, group, y + 18)
    height = y + MARGIN - 8
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{escape(title, _QUOTE)}">\n<style>{STYLE}</style>\n'
        f'<rect class="paper" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


_QUOTE = {'"': "&quot;"}


def _draw_group(parts: list[str], group: Group, y: int) -> int:
    """Append the group's elements, its head at `y`; returns where it ends."""
    count = len(group.columns)
    column = (WIDTH - 2 * MARGIN - LABELS - GAP * count) / count
    longest = column - VALUE
    parts.append(_text(MARGIN, y, group.heading, "heading"))
    tops = group.full or [max(row.bars[index].value or 0.0 for row in group.rows) for index in range(count)]
    for index, name in enumerate(group.columns):
        parts.append(_text(_left(index, column), y, name, "quiet"))
    for row in group.rows:
        y += ROW
        parts.append(_text(MARGIN, y, row.label))
        for index, (bar, top) in enumerate(zip(row.bars, tops, strict=True)):
            x = _left(index, column)
            if bar.value is None:
                parts.append(_text(x, y, bar.text, "quiet"))
                continue
            length = longest * bar.value / top if top else 0.0
            parts.append(_rect(x, y, longest, "track"))
            parts.append(_rect(x, y, max(length, 1.5), bar.kind))
            parts.append(_text(x + longest + 8, y, bar.text, "number"))
    return y + ROW - 8


def _left(index: int, column: float) -> float:
    return MARGIN + LABELS + GAP + index * (column + GAP)


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{attribute}>{escape(text)}</text>'


def _rect(x: float, y: float, width: float, kind: str) -> str:
    """A bar on the line of text whose foot is at `y`."""
    return f'<rect class="{kind}" x="{x:.1f}" y="{y - BAR + 2:.1f}" width="{width:.1f}" height="{BAR}" rx="3"/>'
