"""A report as tables for other programs: CSV for the standings and the crosstable, JSON for everything."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from arena.jsonl import json_value
from arena.report.data import AgentReport, Report


def to_json(report: Report) -> str:
    """All of the report, with the figures that follow from others. None stands for infinite or not known."""
    value = asdict(report)
    for entry, agent in zip(value["agents"], report.agents, strict=True):
        entry["points"] = agent.tally.points
        entry["cost"] |= {
            "tokens_per_move": agent.cost.tokens_per_move,
            "generated_per_move": agent.cost.generated_per_move,
            "hit_rate": agent.cost.hit_rate,
        }
        entry["manners"]["attempts_per_move"] = agent.manners.attempts_per_move
        for judge, play in agent.judged.items():
            entry["judged"][judge] |= {"agreement": play.agreement, "average_loss": play.average_loss}
    return json.dumps(value, default=json_value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def standings_csv(report: Report) -> str:
    """A row an agent. Empty: infinite, or not known; times in milliseconds."""
    judged = [
        (f"{name} by {judge}", judge, place)
        for judge in report.judges
        for place, name in enumerate(("agreement", "average centipawn loss"))
    ]
    rows = []
    for agent in report.agents:
        row = _row(agent)
        for heading, judge, place in judged:
            play = agent.judged.get(judge)
            row[heading] = None if play is None else (play.agreement, play.average_loss)[place]
        rows.append(row)
    return _csv(list(rows[0]) if rows else [], (list(row.values()) for row in rows))


def _row(agent: AgentReport) -> dict[str, Any]:
    tally, cost, manners = agent.tally, agent.cost, agent.manners
    tries = manners.first_tries
    return {
        "rank": agent.rank,
        "agent": agent.name,
        "pool": agent.pool,
        "elo": agent.elo.value,
        "elo low": agent.elo.low,
        "elo high": agent.elo.high,
        "points": tally.points,
        "games": tally.games,
        "wins": tally.wins,
        "draws": tally.draws,
        "losses": tally.losses,
        "lost by forfeit": tally.forfeited,
        "repeated games": tally.duplicates,
        "moves": cost.moves,
        "mean ms a move": cost.latency.mean if cost.latency else None,
        "p95 ms a move": cost.latency.p95 if cost.latency else None,
        "tokens forwarded a move": cost.tokens_per_move,
        "tokens generated a move": cost.generated_per_move,
        "attempts a move": manners.attempts_per_move,
        "legal at first try": tries.legal / tries.answers if tries and tries.answers else None,
        "entropy bits": manners.entropy_bits,
        "spec": agent.spec,
    }


def crosstable_csv(report: Report) -> str:
    """A row for each two agents that met, in both orders."""
    rows = (
        (agent.name, one.opponent, one.games, one.wins, one.draws, one.losses, one.wins + one.draws / 2)
        for agent in report.agents
        for one in agent.versus
        if one.games
    )
    return _csv(("agent", "opponent", "games", "wins", "draws", "losses", "points"), rows)


def _csv(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows(rows)
    return out.getvalue()
