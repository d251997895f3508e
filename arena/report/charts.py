"""The pictures of a report. Each is drawn for a width in pixels, None where there is nothing to draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from arena.report.data import AgentReport, Opening, Report
from arena.report.svg import CHARACTER, Axis, Canvas, axis, fitted
from arena.report.words import duration, elo_text, number
from arena.tournament.elo import Estimate

ROW = 30
MOST_ROWS = 40
"""Of a chart; the table beside it has them all."""
MOST_OPENINGS = 12
"""Likewise, of a chart of openings."""

Chart = Callable[[Report, float], Canvas | None]


def ratings(report: Report, width: float) -> Canvas | None:
    """Elo with its interval, an arrow where it is open."""
    agents = report.agents[:MOST_ROWS]
    known = [value for agent in agents for value in _ends(agent.elo)]
    if not known:
        return None
    labels = _label_width(width)
    canvas = Canvas(width, ROW * len(agents) + 34, "Ratings in Elo points with 95 % intervals")
    is_open = any(agent.elo.value is None for agent in agents)
    scale = axis([*known, min(known) - 1, max(known) + 1], labels + 12, width - 16, room=0.12 if is_open else 0.04)
    _grid(
        canvas, scale, 8 if width > 500 else 4, ROW * len(agents) + 8, lambda value: f"{value:+.0f}" if value else "0"
    )
    for row, agent in enumerate(agents):
        y = ROW * row + 20
        canvas.text(0, y + 4, fitted(agent.name, labels), "name")
        _interval(canvas, scale, agent.elo, y, f"{agent.name}: {elo_text(agent.elo)}")
    return canvas


def _ends(elo: Estimate) -> list[float]:
    return [value for value in (elo.low, elo.value, elo.high) if value is not None]


def _interval(canvas: Canvas, scale: Axis, elo: Estimate, y: float, hint: str) -> None:
    known = _ends(elo)
    if not known:
        canvas.text(scale.left, y + 4, "no games", "quiet")
        return
    left = scale.left if elo.low is None else scale.at(elo.low)
    right = scale.right if elo.high is None else scale.at(elo.high)
    if elo.low is not None or elo.high is not None:
        canvas.line(left, y, right, y, "whisker")
        for end, value, direction in ((left, elo.low, -1), (right, elo.high, 1)):
            if value is None:
                canvas.arrow(end, y, direction, "accent")
            else:
                canvas.line(end, y - 5, end, y + 5, "whisker")
    if elo.value is not None:
        canvas.dot(scale.at(elo.value), y, 5.5, "accent", hint)


def terminations(report: Report, width: float) -> Canvas | None:
    """How games ended, and for whom."""
    return _stacked(report.terminations, width, "How games ended", report.sides)


def openings(report: Report, width: float) -> Canvas | None:
    """The openings, and how they went for the side that moves first."""
    return _opening_chart(report.openings, width, "Results by opening", report.sides)


def first_moves(report: Report, width: float) -> Canvas | None:
    return _opening_chart(report.first_moves, width, "Results by first move", report.sides)


def _opening_chart(found: Sequence[Opening], width: float, title: str, sides: tuple[str, str]) -> Canvas | None:
    return _stacked(
        {each.name: (each.wins, each.draws, each.losses) for each in found[:MOST_OPENINGS]}, width, title, sides
    )


def _stacked(
    counts: Mapping[str, tuple[int, int, int]], width: float, title: str, sides: tuple[str, str]
) -> Canvas | None:
    if not counts:
        return None
    rows = list(counts.items())[:MOST_ROWS]
    labels = _label_width(width)
    canvas = Canvas(width, 26 * len(rows) + 4, title)
    longest = max(sum(parts) for _, parts in rows)
    full = width - labels - 12 - 48
    for row, (name, parts) in enumerate(rows):
        y = 26 * row
        canvas.text(0, y + 17, fitted(name, labels), "name")
        x = labels + 12
        for part, kind, what in zip(parts, ("win", "draw", "loss"), (sides[0], "draw", sides[1]), strict=True):
            length = full * part / longest
            if part:
                verb = "" if what == "draw" else " won"
                canvas.bar(x, y + 4, length, 18, kind, f"{name}: {number(part)} {what}{verb}")
            x += length
        canvas.text(x + 8, y + 17, number(sum(parts)), "number")
    return canvas


def latency(report: Report, width: float) -> Canvas | None:
    """Time a move: the middle half as a box, 5 to 95 per cent as a line, the median as a stroke."""
    agents = [agent for agent in report.agents if agent.cost.latency][:MOST_ROWS]
    ends = [max(value, 0.01) for agent in agents if (one := agent.cost.latency) for value in (one.p5, one.p95)]
    if not ends:
        return None
    labels = _label_width(width)
    canvas = Canvas(width, ROW * len(agents) + 34, "Time a move by agent, logarithmic")
    scale = axis(ends, labels + 12, width - 20, log=True)
    _grid(canvas, scale, 5 if width > 500 else 3, ROW * len(agents) + 8, duration)
    for row, agent in enumerate(agents):
        if (found := agent.cost.latency) is None:
            continue
        y = ROW * row + 20
        canvas.text(0, y + 4, fitted(agent.name, labels), "name")
        p5, p25, p50, p75, p95 = (
            scale.at(max(value, 0.01)) for value in (found.p5, found.p25, found.p50, found.p75, found.p95)
        )
        canvas.line(p5, y, p95, y, "whisker")
        hint = f"{agent.name}: median {duration(found.p50)}, 95 % within {duration(found.p95)}"
        canvas.bar(p25, y - 7, max(2.0, p75 - p25), 14, "box", hint)
        canvas.line(p50, y - 7, p50, y + 7, "median")
    return canvas


def lengths(report: Report, width: float) -> Canvas | None:
    """How many games had so many plies."""
    if not report.lengths:
        return None
    bins = 24 if width > 500 else 14
    size = max(1, -(-(max(report.lengths) + 1) // bins))
    counts = Counter(plies // size for plies in report.lengths)
    canvas = Canvas(width, 190, "Length of games in plies")
    scale = Axis(0, size * (max(counts) + 1), 8, width - 16)
    top = max(counts.values())
    for place, count in sorted(counts.items()):
        height = 140 * count / top
        left, right = scale.at(place * size), scale.at((place + 1) * size)
        first, last = place * size, place * size + size - 1
        plies = f"{first}" if first == last else f"{first} to {last}"
        canvas.bar(left + 1, 158 - height, right - left - 2, height, "box", f"{plies} plies: {number(count)} games")
    canvas.line(8, 158.5, width - 16, 158.5, "axis")
    for tick in scale.ticks(8 if width > 500 else 4):
        canvas.text(scale.at(tick), 178, f"{tick:g}", "tick", "middle")
    return canvas


def rating_by_tokens(report: Report, width: float) -> Canvas | None:
    return _scatter(report, width, "tokens", lambda agent: agent.cost.tokens_per_move, lambda value: f"{value:,.4g}")


def rating_by_time(report: Report, width: float) -> Canvas | None:
    def mean(agent: AgentReport) -> float | None:
        return max(agent.cost.latency.mean, 0.01) if agent.cost.latency else None

    return _scatter(report, width, "time", mean, duration)


def _scatter(
    report: Report,
    width: float,
    cost: str,
    value_of: Callable[[AgentReport], float | None],
    text: Callable[[float], str],
) -> Canvas | None:
    points = [
        (agent, value, known[len(known) // 2])
        for agent in report.agents[:MOST_ROWS]
        if (value := value_of(agent)) is not None and value > 0 and (known := _ends(agent.elo))
    ]
    if len(points) < 2:
        return None
    height = 320.0
    canvas = Canvas(width, height, f"Rating against {cost} a move")
    across = axis([value for _, value, _ in points], 56, width - 24, log=True, room=0.18)
    ends = [end for agent, _, _ in points for end in _ends(agent.elo)]
    up = axis([*ends, min(ends) - 1, max(ends) + 1], height - 34, 14)
    _grid(canvas, across, 5 if width > 500 else 3, height - 34, text)
    for tick in up.ticks(6):
        canvas.line(56, up.at(tick), width - 24, up.at(tick), "grid")
        canvas.text(48, up.at(tick) + 4, f"{tick:+.0f}" if tick else "0", "tick", "end")
    dots = [(across.at(value), up.at(elo)) for _, value, elo in points]
    taken = [(x - 7, y - 7, x + 7, y + 7) for x, y in dots]
    for (agent, value, _), (x, y) in zip(points, dots, strict=True):
        low, high = agent.elo.low, agent.elo.high
        if low is not None and high is not None:
            canvas.line(x, up.at(low), x, up.at(high), "whisker")
        hint = f"{agent.name}: {elo_text(agent.elo)}, {text(value)} a move"
        canvas.dot(x, y, 5.5, "accent" if agent.elo.value is not None else "open", hint)
        _label(canvas, fitted(agent.name, 150), x, y, taken)
    return canvas


Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def _label(canvas: Canvas, name: str, x: float, y: float, taken: list[Box]) -> None:
    """Writes a dot's name beside it where there is room, as near as there is."""
    length = len(name) * CHARACTER
    places = [
        (left, top)
        for shift in (0, -13, 13, -26, 26, -39, 39)
        for left in (x + 10, x - 10 - length)
        if left >= 56 and left + length <= canvas.width and 10 <= (top := y + shift) <= canvas.height - 40
    ]
    free = (place for place in places if not any(_overlap(_box(place, length), other) for other in taken))
    left, top = next(free, places[0] if places else (x + 10, y))
    taken.append(_box((left, top), length))
    canvas.text(left if left > x else x - 10, top + 4, name, "name", "start" if left > x else "end")


def _box(place: tuple[float, float], length: float) -> Box:
    left, middle = place
    return left, middle - 6, left + length, middle + 6


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _grid(canvas: Canvas, scale: Axis, most: int, height: float, text: Callable[[float], str]) -> None:
    for tick in scale.ticks(most):
        canvas.line(scale.at(tick), 4, scale.at(tick), height, "grid")
        canvas.text(scale.at(tick), height + 18, text(tick), "tick", "middle")


def _label_width(width: float) -> float:
    return min(220.0, width * 0.36)
