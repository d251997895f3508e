"""What a reader asks of the record, answered in plain values. Each function sees one state of the record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session, aliased

from arena.errors import UsageError
from arena.store.assessments import Judgement, judgements
from arena.store.database import Database
from arena.store.models import AgentRow, AttemptRow, GameRow, MoveRow, RunRow
from arena.store.runs import find_run
from arena.store.summary import RunSummary, run_summary
from inference.types import Decision, Option

__all__ = [
    "AttemptDetail",
    "GameDetail",
    "GameLine",
    "MoveDetail",
    "RunLine",
    "RunSummary",
    "game_detail",
    "list_games",
    "list_runs",
    "run_summary",
]


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run in a list. `games` counts those of the schedule and replays, `finished` those with an end."""

    run_id: int
    name: str
    status: str
    detail: str
    model: str | None
    seed: int
    games: int
    finished: int
    created_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class GameLine:
    """A game in a list. `result` and `termination` are None until it is finished; times are UTC."""

    game_id: int
    run_id: int
    run: str
    game: str
    white: str
    black: str
    status: str
    result: str | None
    termination: str | None
    void: bool
    detail: str
    plies: int
    index: int
    replay: int
    pair: int | None
    opening: str | None
    duplicate_of: int | None
    started_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class AttemptDetail:
    """One try at a move, as recorded; `failure` None: it gave the move."""

    number: int
    text: str
    failure: str | None
    detail: str
    seed: int | None
    prompt_tokens: int
    cached_tokens: int
    forwarded_tokens: int
    generated_tokens: int
    total_ms: float


@dataclass(frozen=True, slots=True)
class MoveDetail:
    """A ply with what it cost, and what judges think of it, if there were any; times are milliseconds. `decisions` are
    those that led to the move, as far as they are known."""

    ply: int
    agent: str
    side: str
    move: str
    san: str
    fen: str
    policy: str
    probability: float | None
    prompt_tokens: int
    cached_tokens: int
    forwarded_tokens: int
    generated_tokens: int
    forward_passes: int
    queue_ms: float
    prefill_ms: float
    decode_ms: float
    ttft_ms: float
    total_ms: float
    batch_size: int
    clock_ms: float | None
    played_at: datetime
    attempts: tuple[AttemptDetail, ...]
    decisions: tuple[Decision, ...] = ()
    judgements: tuple[Judgement, ...] = ()


@dataclass(frozen=True, slots=True)
class GameDetail(GameLine):
    """A game with all that is recorded of it. `initial_fen` None: it has not started, and its schedule names no
    position. `open_attempts` are tries at the ply after the last move, which got none. `time_control` is written as
    60+1, and what it charges is `charge`; None: no clocks. `source_tags` are those of the file that an imported game
    comes from, None for a game that was played here. The settings are all that are in force for an agent."""

    seed: int
    max_plies: int
    rule_policy: str
    initial_fen: str | None
    white_spec: str
    black_spec: str
    white_template: str | None
    black_template: str | None
    model: str | None
    model_checksum: str | None
    time_control: str | None
    charge: str | None
    moves: tuple[MoveDetail, ...]
    open_attempts: tuple[AttemptDetail, ...]
    source_tags: Mapping[str, str] | None
    white_settings: Mapping[str, Any] = field(default_factory=dict)
    black_settings: Mapping[str, Any] = field(default_factory=dict)


def list_runs(db: Database) -> list[RunLine]:
    """All runs, the newest first."""
    games = func.count(GameRow.id)
    finished = func.count(GameRow.result)
    query = (
        select(RunRow, games, finished)
        .outerjoin(GameRow, GameRow.run_id == RunRow.id)
        .group_by(RunRow.id)
        .order_by(RunRow.id.desc())
    )
    with db.reading() as session:
        return [run_line_of(run, scheduled, ended) for run, scheduled, ended in session.execute(query)]


def run_line_of(run: RunRow, games: int, finished: int) -> RunLine:
    """The line of a run with so many games, of which so many are finished."""
    return RunLine(
        run_id=run.id,
        name=run.name,
        status=run.status,
        detail=run.detail,
        model=run.model,
        seed=run.seed,
        games=games,
        finished=finished,
        created_at=run.created_at,
        ended_at=run.ended_at,
    )


def list_games(
    db: Database,
    *,
    run: int | str | None = None,
    agent: str | None = None,
    result: str | None = None,
    termination: str | None = None,
    before: int | None = None,
    limit: int | None = None,
) -> list[GameLine]:
    """Games that match every filter given, the newest first; `before` a game's number: only older ones.

    Raises UsageError for a run or an agent that is not in the record.
    """
    with db.reading() as session:
        query = _games()
        if run is not None:
            query = query.where(GameRow.run_id == find_run(session, run).id)
        if agent is not None:
            _check_agent(session, agent)
            query = query.where((_WHITE.name == agent) | (_BLACK.name == agent))
        if result is not None:
            query = query.where(GameRow.result == result)
        if termination is not None:
            query = query.where(GameRow.termination == termination)
        if before is not None:
            query = query.where(GameRow.id < before)
        rows = session.execute(query.order_by(GameRow.id.desc()).limit(limit))
        return [GameLine(**_line(*row)) for row in rows]


def game_detail(db: Database, game_id: int) -> GameDetail:
    """One game with its moves and attempts. Raises UsageError if there is none with that id."""
    with db.reading() as session:
        found = session.execute(_games().where(GameRow.id == game_id)).one_or_none()
        if found is None:
            raise UsageError(f"there is no game {game_id}; {_known_games(session)}")
        game, run, white, black = found
        attempts = _attempts(session, game_id)
        names = {white.id: white.name, black.id: black.name}
        rows = session.scalars(select(MoveRow).where(MoveRow.game_id == game_id).order_by(MoveRow.ply))
        judged = judgements(session, game_id)
        moves = tuple(
            _move(row, names[row.agent_id], tuple(attempts[row.ply]), judged.get(row.ply, ())) for row in rows
        )
        return GameDetail(
            **_line(game, run, white, black),
            seed=game.seed,
            max_plies=game.max_plies,
            rule_policy=game.rule_policy,
            initial_fen=game.initial_fen or game.start_fen,
            white_spec=white.spec,
            black_spec=black.spec,
            white_settings=white.settings,
            black_settings=black.settings,
            white_template=game.white_template,
            black_template=game.black_template,
            model=run.model,
            model_checksum=game.model_checksum,
            time_control=time_control_of(run),
            charge=_asked(run).get("charge") if time_control_of(run) else None,
            moves=moves,
            open_attempts=tuple(attempts[len(moves) + 1]),
            source_tags=run.config["tags"][game.schedule_index] if run.config.get("kind") == "import" else None,
        )


def time_control_of(run: RunRow) -> str | None:
    """The time control of a run's games, written as 60+1; None: they have no clocks."""
    written: str | None = _asked(run).get("time_control")
    return written


def _asked(run: RunRow) -> Mapping[str, Any]:
    """What `arena play` was asked, or a tournament's file."""
    asked: Mapping[str, Any] = run.config.get("spec", run.config)
    return asked


_WHITE, _BLACK = aliased(AgentRow), aliased(AgentRow)


def _games() -> Select[GameRow, RunRow, AgentRow, AgentRow]:
    return (
        select(GameRow, RunRow, _WHITE, _BLACK)
        .join(RunRow, RunRow.id == GameRow.run_id)
        .join(_WHITE, _WHITE.id == GameRow.white_id)
        .join(_BLACK, _BLACK.id == GameRow.black_id)
    )


def _line(game: GameRow, run: RunRow, white: AgentRow, black: AgentRow) -> dict[str, Any]:
    return {
        "game_id": game.id,
        "run_id": run.id,
        "run": run.name,
        "game": game.game,
        "white": white.name,
        "black": black.name,
        "status": game.status,
        "result": game.result,
        "termination": game.termination,
        "void": game.void,
        "detail": game.detail,
        "plies": game.plies,
        "index": game.schedule_index,
        "replay": game.replay,
        "pair": game.pair,
        "opening": game.opening,
        "duplicate_of": game.duplicate_of,
        "started_at": game.started_at,
        "ended_at": game.ended_at,
    }


def _move(row: MoveRow, agent: str, attempts: tuple[AttemptDetail, ...], judged: tuple[Judgement, ...]) -> MoveDetail:
    same = {field.name for field in fields(MoveDetail)} - {"agent", "attempts", "decisions", "judgements"}
    return MoveDetail(
        agent=agent,
        attempts=attempts,
        decisions=tuple(map(_decision, row.decisions or ())),
        judgements=judged,
        **{name: getattr(row, name) for name in same},
    )


def _decision(written: Mapping[str, Any]) -> Decision:
    return Decision(tuple(Option(*option) for option in written["options"]), written["taken"])


def _attempts(session: Session, game_id: int) -> defaultdict[int, list[AttemptDetail]]:
    """Attempts by ply, in order."""
    by_ply: defaultdict[int, list[AttemptDetail]] = defaultdict(list)
    of_game = select(AttemptRow).where(AttemptRow.game_id == game_id)
    for row in session.scalars(of_game.order_by(AttemptRow.ply, AttemptRow.number)):
        by_ply[row.ply].append(AttemptDetail(*(getattr(row, field.name) for field in fields(AttemptDetail))))
    return by_ply


def _check_agent(session: Session, name: str) -> None:
    if session.scalar(select(AgentRow.id).where(AgentRow.name == name).limit(1)) is None:
        known = session.scalars(select(AgentRow.name).distinct().order_by(AgentRow.name).limit(20)).all()
        raise UsageError(f"no agent is named {name}; there are {', '.join(known) or 'none'}")


def _known_games(session: Session) -> str:
    low, high = session.execute(select(func.min(GameRow.id), func.max(GameRow.id))).one()
    return "the record holds none" if low is None else f"the record holds games {low} to {high}"
