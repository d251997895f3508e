"""A run in figures: results by agent, latency, tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from sqlalchemy import func, select
from sqlalchemy.orm import Session, aliased

from arena.store.database import Database
from arena.store.first_tries import FirstTries, first_tries
from arena.store.models import AgentRow, GameRow, MoveRow
from arena.store.records import OPENING
from arena.store.runs import find_run


@dataclass(frozen=True, slots=True)
class AgentResult:
    """How an agent did in a run. `games` are those that count (wins + draws + losses); `void` and `unfinished`
    ones do not. `forfeits` are the losses that were not decided on the board: no legal move, time, a crash.
    `first_tries` is there for agents that answer in free text."""

    agent: str
    games: int
    wins: int
    draws: int
    losses: int
    forfeits: int
    void: int
    unfinished: int
    first_tries: FirstTries | None = None


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Of `count` values, by nearest rank: the smallest value that at least p per cent do not exceed."""

    count: int
    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Percentiles | None:
        """None if there are no values."""
        if not values:
            return None
        ordered = sorted(values)
        p50, p95, p99 = (ordered[ceil(len(ordered) * percent / 100) - 1] for percent in (50, 95, 99))
        return cls(len(ordered), p50, p95, p99)


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run in figures. Latencies are milliseconds a move: `total` over all moves, `queue` and `ttft` over those
    that a model was asked for. `hit_rate` is cached over prompt tokens, 0 if there were none."""

    run_id: int
    name: str
    status: str
    agents: tuple[AgentResult, ...]
    moves: int
    prompt_tokens: int
    cached_tokens: int
    forwarded_tokens: int
    generated_tokens: int
    queue: Percentiles | None
    ttft: Percentiles | None
    total: Percentiles | None

    @property
    def hit_rate(self) -> float:
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else 0.0


def run_summary(db: Database, run: int | str) -> RunSummary:
    """The figures of a run, finished or not, as of now. Raises UsageError for an unknown run."""
    with db.reading() as session:
        row = find_run(session, run)
        of_run = GameRow.run_id == row.id
        chosen = MoveRow.policy != OPENING
        totals = (
            select(
                func.count(MoveRow.id),
                func.coalesce(func.sum(MoveRow.prompt_tokens), 0),
                func.coalesce(func.sum(MoveRow.cached_tokens), 0),
                func.coalesce(func.sum(MoveRow.forwarded_tokens), 0),
                func.coalesce(func.sum(MoveRow.generated_tokens), 0),
            )
            .join(GameRow, GameRow.id == MoveRow.game_id)
            .where(of_run, chosen)
        )
        moves, prompt, cached, forwarded, generated = session.execute(totals).one()
        latencies = (
            select(MoveRow.queue_ms, MoveRow.ttft_ms, MoveRow.total_ms, MoveRow.prompt_tokens)
            .join(GameRow, GameRow.id == MoveRow.game_id)
            .where(of_run, chosen)
        )
        times = session.execute(latencies).all()
        asked = [time for time in times if time.prompt_tokens > 0]
        return RunSummary(
            run_id=row.id,
            name=row.name,
            status=row.status,
            agents=_results(session, row.id),
            moves=moves,
            prompt_tokens=prompt,
            cached_tokens=cached,
            forwarded_tokens=forwarded,
            generated_tokens=generated,
            queue=Percentiles.of([time.queue_ms for time in asked]),
            ttft=Percentiles.of([time.ttft_ms for time in asked]),
            total=Percentiles.of([time.total_ms for time in times]),
        )


def is_forfeit(termination: str | None) -> bool:
    """Whether a decided game with this termination was lost without the board deciding it."""
    return termination is not None and (termination.startswith("forfeit-") or termination in ("time", "crash"))


def _results(session: Session, run_id: int) -> tuple[AgentResult, ...]:
    white, black = aliased(AgentRow), aliased(AgentRow)
    games = session.execute(
        select(white.name, black.name, GameRow.result, GameRow.void, GameRow.termination, func.count())
        .join(white, white.id == GameRow.white_id)
        .join(black, black.id == GameRow.black_id)
        .where(GameRow.run_id == run_id)
        .group_by(white.id, black.id, GameRow.result, GameRow.void, GameRow.termination)
    )
    names = session.scalars(select(AgentRow.name).where(AgentRow.run_id == run_id).order_by(AgentRow.id)).all()
    tries = first_tries(session, run_id)
    tallies: dict[str, Counter[str]] = {name: Counter() for name in names}
    for white_name, black_name, result, void, termination, count in games:
        for name, win in ((white_name, "1-0"), (black_name, "0-1")):
            kind = _kind(result, void, win)
            tallies[name][kind] += count
            tallies[name]["forfeits"] += count if kind == "losses" and is_forfeit(termination) else 0
    return tuple(
        AgentResult(
            agent=name,
            games=tally["wins"] + tally["draws"] + tally["losses"],
            wins=tally["wins"],
            draws=tally["draws"],
            losses=tally["losses"],
            forfeits=tally["forfeits"],
            void=tally["void"],
            unfinished=tally["unfinished"],
            first_tries=tries.get(name),
        )
        for name, tally in tallies.items()
    )


def _kind(result: str | None, void: bool, win: str) -> str:
    """What a game was for the agent to whom the result `win` is a win."""
    if result is None:
        return "unfinished"
    if void:
        return "void"
    if result == "1/2-1/2":
        return "draws"
    return "wins" if result == win else "losses"
