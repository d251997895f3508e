"""A report as Markdown: the tables, for a pull request or a chat."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from arena.printable import printable
from arena.report.data import AgentReport, Report
from arena.report.words import decimal, duration, elo_text, number, percent, points

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&])")


def to_markdown(report: Report) -> str:
    """The report. What came from outside is escaped: a name is text, never a heading, a link or a cell more."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"# {escaped(report.title)}"
    yield ""
    yield (
        f"Run {escaped(report.run)}: {number(len(report.agents))} agents, {number(report.games)} games, "
        f"{number(report.moves)} moves; {number(report.forfeits)} forfeits, {number(report.duplicates)} repeats, "
        f"{number(report.void)} void, {number(report.unfinished)} unfinished."
    )
    yield from _section(
        "Standings", ("#", "Agent", "Elo", "Points", "Games", "W", "D", "L"), map(_standing, report.agents)
    )
    if report.games:
        numbers = [str(agent.rank) for agent in report.agents]
        yield from _section("Crosstable", ("#", "Agent", *numbers), (_cross(report, agent) for agent in report.agents))
        ended = ((escaped(name), *map(number, counts)) for name, counts in report.terminations.items())
        first, second = report.sides
        yield from _section("How games ended", ("Termination", f"{first} won", "Draws", f"{second} won"), ended)
    for title, found in (("Openings", report.openings), ("First moves", report.first_moves)):
        if found:
            scores = ((escaped(one.name), number(one.games), percent(one.score)) for one in found)
            yield from _section(title, (title, "Games", f"Score of {report.sides[0]}"), scores)
    if report.moves:
        headings = (
            "Agent",
            "Moves",
            "Mean time",
            "p95",
            "Tokens a move",
            "Legal at first try",
            "Attempts a move",
            "Entropy",
        )
        yield from _section("Moves", headings, (_cost(agent) for agent in report.agents if agent.cost.moves))
    for judge in report.judges:
        judged = (
            (escaped(agent.name), number(play.moves), percent(play.agreement), decimal(play.average_loss))
            for agent in report.agents
            if (play := agent.judged.get(judge))
        )
        columns = ("Agent", "Moves", "Agreement", "Average centipawn loss")
        yield from _section(f"Judged by {escaped(judge)}", columns, judged)


def escaped(text: str) -> str:
    """`text` so that Markdown shows it as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", printable(text))


def _section(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    yield ""
    yield f"| {' | '.join(headings)} |"
    yield f"|{'|'.join('---' if name in ('Agent', 'Termination') else '--:' for name in headings)}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _standing(agent: AgentReport) -> tuple[str, ...]:
    tally = agent.tally
    counts = (tally.games, tally.wins, tally.draws, tally.losses)
    name = escaped(agent.name)
    return str(agent.rank), name, elo_text(agent.elo), points(tally.points), *map(number, counts)


def _cross(report: Report, agent: AgentReport) -> tuple[str, ...]:
    met = {one.opponent: one for one in agent.versus if one.games}
    cells = (
        f"{points(one.wins + one.draws / 2)}/{number(one.games)}" if (one := met.get(other.name)) else ""
        for other in report.agents
    )
    return str(agent.rank), escaped(agent.name), *cells


def _cost(agent: AgentReport) -> tuple[str, ...]:
    latency, manners = agent.cost.latency, agent.manners
    return (
        escaped(agent.name),
        number(agent.cost.moves),
        duration(latency.mean if latency else None),
        duration(latency.p95 if latency else None),
        decimal(agent.cost.tokens_per_move),
        str(manners.first_tries or "–"),
        decimal(manners.attempts_per_move, 2),
        decimal(manners.entropy_bits, 2),
    )
