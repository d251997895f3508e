"""The strip chart of a terminal: a bar for every move, stacked from queue, prefill, decode and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text

from arena.replay.viewmodel import Latency

PARTS = ("queue", "prefill", "decode", "other")
COLORS = {"queue": "#8a94a2", "prefill": "#e9a944", "decode": "#4a9ae8", "other": "#a58ac8"}
EIGHTHS = " ▁▂▃▄▅▆▇█"
NOW = "#5a4a12"
MOST_WIDE = 4


class Window(NamedTuple):
    """The part of a game that a strip has room for: bars `first` to before `end`, each `columns` wide."""

    first: int
    end: int
    columns: int

    def bar_at(self, column: int) -> int | None:
        """The bar in a column of the strip."""
        bar = self.first + column // self.columns
        return bar if column >= 0 and bar < self.end else None


def window(bars: int, current: int, width: int) -> Window:
    """What to show of `bars` bars in `width` columns, the `current` one among them."""
    columns = max(1, min(MOST_WIDE, width // max(bars, 1)))
    room = max(1, width // columns)
    first = max(0, min(current - room // 2, bars - room))
    return Window(first, min(bars, first + room), columns)


def strip(times: Sequence[Latency | None], current: int, shown: Window, height: int, *, ascii_only: bool) -> Text:
    """The bars in `height` lines, the highest of all moves filling them; `current` (from 0) stands out.

    In ASCII a part is its first letter, to the nearest line.
    """
    top = max((sum(_parts(time)) for time in times), default=0.0) or 1.0
    lines = [Text(no_wrap=True) for _ in range(height)]
    for bar in range(shown.first, shown.end):
        ground = f" on {NOW}" if bar == current else ""
        gap = " " if shown.columns > 1 else ""
        for row, (mark, style) in enumerate(_cells(times[bar], top, height, ascii_only)):
            with_ground = style if " on " in style else f"{style}{ground}".strip()
            lines[height - 1 - row].append(mark * (shown.columns - len(gap)), with_ground)
            lines[height - 1 - row].append(gap)
    if ascii_only:
        lines.append(Text("".join(("^" if bar == current else " ") * shown.columns for bar in _bars(shown))))
    return Text("\n").join(lines)


def legend(times: Sequence[Latency | None], *, ascii_only: bool) -> Text:
    """What the colours mean, and how high the highest bar is."""
    top = max((sum(_parts(time)) for time in times), default=0.0)
    line = Text("Latency of every move ", "bold")
    for part in PARTS:
        line.append(f" {part[0]} " if ascii_only else " ■ ", COLORS[part])
        line.append(part, "default")
    return line.append(f"   highest {seconds(top)}", "dim")


def seconds(ms: float) -> str:
    """A time with its unit: `85 ms`, `2.31 s`."""
    return f"{ms:.0f} ms" if ms < 1000 else f"{ms / 1000:.2f} s"


def _bars(shown: Window) -> range:
    return range(shown.first, shown.end)


def _parts(time: Latency | None) -> tuple[float, ...]:
    return () if time is None else (time.queue_ms, time.prefill_ms, time.decode_ms, time.other_ms)


def _cells(time: Latency | None, top: float, height: int, ascii_only: bool) -> list[tuple[str, str]]:
    """Character and style of a bar's cells from the bottom up, each an eighth of a line exact."""
    step = height * 8 / top
    edges, reached = [], 0.0
    for part, ms in zip(PARTS, _parts(time), strict=False):
        reached += ms * step
        edges.append((part, round(reached)))
    cells = []
    for row in range(height):
        bottom = 8 * row
        below = [(part, edge) for part, edge in edges if edge > bottom]
        if not below:
            cells.append((" ", ""))
            continue
        part, edge = below[0]
        if ascii_only:
            cells.append((part[0] if edge >= bottom + 4 or len(below) > 1 else " ", ""))
            continue
        above = next((other for other, end in below[1:] if end > edge), None)
        filled = min(8, edge - bottom)
        ground = f" on {COLORS[above]}" if above is not None and filled < 8 else ""
        cells.append((EIGHTHS[filled], f"{COLORS[part]}{ground}"))
    return cells
