"""What is said when a run is over: results, latency, tokens, where the record is."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from arena.runner import RunResult
from arena.store.records import StoredGame
from arena.store.summary import AgentResult, Percentiles, RunSummary


def report(result: RunResult, summary: RunSummary, db: str, *, name_db: bool) -> Iterator[RenderableType]:
    """The closing report for a person, piece by piece. `name_db`: the next commands have to name it."""
    yield results_table(summary.agents)
    yield latency_table(summary)
    yield Text(tokens_line(summary))
    yield Text()
    left = sum(game.result is None for game in result.games)
    unfinished = f"; {left} of its games {'is' if left == 1 else 'are'} unfinished" if left else ""
    yield Text.assemble(
        "Recorded in ",
        (db, "bold"),
        " as run ",
        (result.name, "bold cyan"),
        f" (seed {result.seed}), {result.status}{unfinished}.",
    )
    where = f" --db {shlex.quote(db)}" if name_db else ""
    if result.status != "finished":
        yield _next(f"arena play --resume {result.name}{where}", "goes on with it")
    shown = next((game for game in result.games if game.moves), None)
    if shown is not None:
        yield _next(f"arena show {shown.game_id}{where}", "shows a game, move by move")
    yield _next(f"arena games --run {result.name}{where}", "lists its games")


def results_table(agents: tuple[AgentResult, ...]) -> Table:
    """Points and what they are made of, the best first. Columns without a number in them are left out."""
    table = Table(box=box.SIMPLE_HEAD, title="Results", title_justify="left", title_style="bold", pad_edge=False)
    table.add_column("agent", overflow="fold")
    optional = [name for name in ("forfeits", "void", "unfinished") if any(getattr(agent, name) for agent in agents)]
    for name in ("points", "games", "W", "D", "L", *optional):
        table.add_column(name, justify="right")
    in_free_text = any(agent.first_tries for agent in agents)
    if in_free_text:
        table.add_column("legal at first try", justify="right")
    for agent in sorted(agents, key=lambda agent: -points(agent)):
        numbers = [agent.games, agent.wins, agent.draws, agent.losses]
        numbers += [getattr(agent, name) for name in optional]
        legal = [str(agent.first_tries) if agent.first_tries else ""] if in_free_text else []
        table.add_row(Text(agent.agent), f"{points(agent):g}", *map(str, numbers), *legal)
    return table


def points(agent: AgentResult) -> float:
    """One for a win, a half for a draw."""
    return agent.wins + agent.draws / 2


def latency_table(summary: RunSummary) -> Table:
    """Percentiles a move, in milliseconds; queue and TTFT only where a model was asked."""
    table = Table(
        box=box.SIMPLE_HEAD, title="Latency a move, ms", title_justify="left", title_style="bold", pad_edge=False
    )
    table.add_column("")
    for name in ("p50", "p95", "p99", "moves"):
        table.add_column(name, justify="right")
    rows = {"queue": summary.queue, "TTFT": summary.ttft, "total": summary.total}
    for name, found in rows.items():
        if found is not None:
            values = (f"{value:,.1f}" for value in (found.p50, found.p95, found.p99))
            table.add_row(name, *values, f"{found.count:,}")
    return table


def tokens_line(summary: RunSummary) -> str:
    """Moves played and what they cost in tokens."""
    moves = f"{summary.moves:,} moves"
    if not summary.prompt_tokens:
        return moves
    return (
        f"{moves}; {summary.prompt_tokens:,} prompt tokens, {summary.hit_rate:.1%} of them from the cache; "
        f"{summary.forwarded_tokens:,} tokens forwarded, {summary.generated_tokens:,} generated"
    )


def as_json(result: RunResult, summary: RunSummary, db: str) -> dict[str, Any]:
    """The closing report for a program."""
    return {
        "run_id": result.run_id,
        "run": result.name,
        "status": result.status,
        "seed": result.seed,
        "db": db,
        "games": [_game_as_json(game) for game in result.games],
        "agents": [{**asdict(agent), "points": points(agent)} for agent in summary.agents],
        "moves": summary.moves,
        "tokens": {
            "prompt": summary.prompt_tokens,
            "cached": summary.cached_tokens,
            "forwarded": summary.forwarded_tokens,
            "generated": summary.generated_tokens,
            "hit_rate": summary.hit_rate,
        },
        "latency_ms": {
            "queue": _percentiles(summary.queue),
            "ttft": _percentiles(summary.ttft),
            "total": _percentiles(summary.total),
        },
    }


def _game_as_json(game: StoredGame) -> dict[str, Any]:
    return {
        "game_id": game.game_id,
        "index": game.new.index,
        "replay": game.new.replay,
        "white": game.new.white,
        "black": game.new.black,
        "result": game.result,
        "termination": game.termination,
        "void": game.void,
        "plies": len(game.moves),
    }


def _percentiles(found: Percentiles | None) -> dict[str, float] | None:
    return None if found is None else asdict(found)


def _next(command: str, what: str) -> Text:
    return Text.assemble("  ", (command, "bold"), "   ", (what, "dim"))
