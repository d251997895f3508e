"""A report as one HTML page that needs nothing beside it: style and pictures are inside, scripts there are none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from arena.report import charts
from arena.report.data import AgentReport, Report
from arena.report.words import decimal, duration, elo_text, number, percent, points
from arena.store.assessments import BLUNDER, CAP

if TYPE_CHECKING:
    from markupsafe import Markup

TEMPLATES = Path(__file__).resolve().parent / "templates"
WIDE, NARROW = 880, 340
"""Each picture is there twice, and the page shows the one that fits: shrunk to a telephone, text cannot be read."""


def to_html(report: Report) -> str:
    """The page. Names, settings and whatever else came from outside are text in it, never markup."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "count": number,
        "percent": percent,
        "decimal": decimal,
        "points": points,
        "duration": duration,
        "elo": elo_text,
        "tint": _tint,
    }
    return environment.get_template("report.html").render(_context(report))


def _context(report: Report) -> dict[str, Any]:
    return {
        "report": report,
        "single": len(report.agents) == 1,
        "has_models": any(agent.cost.prompt_tokens for agent in report.agents),
        "has_free_text": any(agent.manners.first_tries for agent in report.agents),
        "has_failures": any(agent.manners.failures or agent.manners.forfeits for agent in report.agents),
        "has_entropy": any(agent.manners.entropy_bits is not None for agent in report.agents),
        "anchors": {agent.name: f"agent-{place}" for place, agent in enumerate(report.agents, start=1)},
        "pictures": {
            "ratings": _picture(charts.ratings, report),
            "terminations": _picture(charts.terminations, report),
            "openings": _picture(charts.openings, report),
            "first_moves": _picture(charts.first_moves, report),
            "latency": _picture(charts.latency, report),
            "lengths": _picture(charts.lengths, report),
            "by_tokens": _picture(charts.rating_by_tokens, report),
            "by_time": _picture(charts.rating_by_time, report),
        },
        "most_openings": charts.MOST_OPENINGS,
        "results": _results_bar,
        "settings": _settings,
        "blunder": BLUNDER,
        "cap": CAP,
    }


def _picture(chart: charts.Chart, report: Report) -> Markup | None:
    from markupsafe import Markup

    wide, narrow = chart(report, WIDE), chart(report, NARROW)
    if wide is None or narrow is None:
        return None
    return Markup(wide.render("wide") + narrow.render("narrow"))


def _results_bar(agent: AgentReport) -> list[tuple[str, float]]:
    """Shares of wins, draws and losses, in per cent."""
    tally = agent.tally
    counts = (("win", tally.wins), ("draw", tally.draws), ("loss", tally.losses))
    return [(kind, 100 * count / tally.games) for kind, count in counts if count]


def _settings(agent: AgentReport) -> list[tuple[str, str]]:
    return [(key, str(value)) for key, value in agent.settings.items() if value not in ({}, None, "")]


def _tint(score: float) -> str:
    """How strongly a cell of the crosstable is coloured, as a class: `good-1` to `good-5`, or `bad-`; none in the
    middle."""
    strength = round(abs(score - 0.5) * 10)
    return f"{'good' if score > 0.5 else 'bad'}-{strength}" if strength else ""
