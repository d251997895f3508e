"""Runs as a whole: put into the record before play, taken out of it to continue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from arena.errors import StoreError, UsageError
from arena.events import now
from arena.store.database import Database
from arena.store.models import AgentRow, GameRow, MoveRow, RunRow
from arena.store.names import check_run_name, run_name
from arena.store.records import NewAgent, NewGame, NewRun, StoredGame, StoredRun
from games.base import Side

SEED_LIMIT = 2**63


def create_run(db: Database, new: NewRun) -> StoredRun:
    """Record a run with its agents and its whole schedule, in one transaction.

    Raises UsageError for a name that is taken or cannot be one and for a seed that does not fit 64 bits,
    StoreError if it cannot be written.
    """
    with db.writing() as session:
        return add_run(session, new)


def add_run(session: Session, new: NewRun) -> StoredRun:
    """`create_run` inside the transaction of whoever calls. Raises UsageError."""
    for seed in (new.seed, *(game.seed for game in new.games)):
        if not -SEED_LIMIT <= seed < SEED_LIMIT:
            raise UsageError(f"seed {seed} does not fit a signed 64-bit number")
    if new.name is not None and _find(session, check_run_name(new.name)) is not None:
        raise UsageError(f"there is a run named {new.name} already: choose another name")
    row = RunRow(
        name=new.name or "",
        status="running",
        seed=new.seed,
        model=new.model,
        model_checksum=new.model_checksum,
        config=dict(new.config),
        environment=dict(new.environment),
        created_at=now(),
        content_hash=new.content_hash,
    )
    session.add(row)
    session.flush()
    if new.name is None:
        row.name = run_name(row.id)
    agents = {
        agent.name: AgentRow(run_id=row.id, name=agent.name, spec=agent.spec, settings=dict(agent.settings))
        for agent in new.agents
    }
    if len(agents) != len(new.agents):
        raise UsageError(f"agents of a run need different names, not {[agent.name for agent in new.agents]}")
    session.add_all(agents.values())
    session.flush()
    for game in new.games:
        for name in (game.white, game.black):
            if name not in agents:
                raise UsageError(f"game {game.index} is scheduled for {name}, which is not an agent of the run")
        session.add(GameRow(**game_values(row.id, game, agents[game.white].id, agents[game.black].id, row)))
    session.flush()
    return _stored_run(session, row)


def load_run(db: Database, run: int | str | None = None) -> StoredRun:
    """The run with that id or name; None: the newest that is not finished. Raises UsageError if none is."""
    with db.reading() as session:
        return _stored_run(session, find_run(session, run))


def add_replay(db: Database, game_id: int) -> StoredGame:
    """Schedule the game once more: a new row like it, with `replay` one higher.

    Raises UsageError for an unknown game, StoreError if that replay exists already.
    """
    with db.writing() as session:
        old = session.get(GameRow, game_id)
        if old is None:
            raise UsageError(f"there is no game {game_id}")
        taken = session.scalar(
            select(GameRow.id).where(
                GameRow.run_id == old.run_id,
                GameRow.schedule_index == old.schedule_index,
                GameRow.replay == old.replay + 1,
            )
        )
        if taken is not None:
            raise StoreError(f"game {game_id} has its replay already, game {taken}")
        names = agent_names(session, old.run_id)
        again = replace(_new_game(old, names), replay=old.replay + 1)
        row = GameRow(**game_values(old.run_id, again, old.white_id, old.black_id, old))
        session.add(row)
        session.flush()
        return stored_game(row, names, ())


def reopen_run(db: Database, run_id: int) -> None:
    """Mark a run as running again, to continue it. Raises UsageError for an unknown run."""
    with db.writing() as session:
        row = find_run(session, run_id)
        row.status, row.detail, row.ended_at = "running", "", None


def find_run(session: Session, run: int | str | None) -> RunRow:
    """The row of `load_run`'s answer, for queries that go on from it. Raises UsageError."""
    if run is None:
        row = session.scalar(select(RunRow).where(RunRow.status != "finished").order_by(RunRow.id.desc()).limit(1))
        if row is None:
            raise UsageError("there is no unfinished run")
        return row
    row = _find(session, run)
    if row is None:
        known = session.execute(select(RunRow.id, RunRow.name).order_by(RunRow.id.desc()).limit(5)).all()
        names = ", ".join(f"{run_id} ({name})" for run_id, name in known)
        raise UsageError(f"there is no run {run}" + (f"; the latest are {names}" if known else "; none is recorded"))
    return row


def _find(session: Session, run: int | str) -> RunRow | None:
    if isinstance(run, int) or run.isdecimal():
        return session.get(RunRow, int(run)) if int(run) < 2**63 else None
    return session.scalar(select(RunRow).where(RunRow.name == run))


def game_values(run_id: int, game: NewGame, white_id: int, black_id: int, of: RunRow | GameRow) -> dict[str, Any]:
    """The columns of a scheduled game; `of`, its run or an earlier try, has the model's checksum."""
    return {
        "run_id": run_id,
        "schedule_index": game.index,
        "replay": game.replay,
        "white_id": white_id,
        "black_id": black_id,
        "game": game.game,
        "seed": game.seed,
        "max_plies": game.max_plies,
        "rule_policy": game.rule_policy,
        "pair": game.pair,
        "opening": game.opening,
        "start_fen": game.start_fen,
        "opening_moves": " ".join(game.opening_moves) or None,
        "round": game.round,
        "model_checksum": of.model_checksum,
    }


def agent_names(session: Session, run_id: int) -> dict[int, str]:
    """The names of the run's agents by id, in their order."""
    agents = session.scalars(select(AgentRow).where(AgentRow.run_id == run_id).order_by(AgentRow.id))
    return {agent.id: agent.name for agent in agents}


def _new_game(row: GameRow, names: dict[int, str]) -> NewGame:
    return NewGame(
        index=row.schedule_index,
        white=names[row.white_id],
        black=names[row.black_id],
        game=row.game,
        seed=row.seed,
        max_plies=row.max_plies,
        rule_policy=row.rule_policy,
        pair=row.pair,
        opening=row.opening,
        start_fen=row.start_fen,
        replay=row.replay,
        opening_moves=tuple((row.opening_moves or "").split()),
        round=row.round,
    )


def stored_game(
    row: GameRow, names: dict[int, str], moves: tuple[str, ...], clock_ms: Mapping[Side, float] | None = None
) -> StoredGame:
    """The game of `row` as plain values; `names` are those of the agents by id."""
    return StoredGame(
        game_id=row.id,
        new=_new_game(row, names),
        result=row.result,
        termination=row.termination,
        void=row.void,
        moves=moves,
        clock_ms=clock_ms or {},
    )


def _stored_run(session: Session, row: RunRow) -> StoredRun:
    names = agent_names(session, row.id)
    moves: defaultdict[int, list[str]] = defaultdict(list)
    clocks: defaultdict[int, dict[Side, float]] = defaultdict(dict)
    played = (
        select(MoveRow.game_id, MoveRow.move, MoveRow.side, MoveRow.clock_ms)
        .join(GameRow, GameRow.id == MoveRow.game_id)
        .where(GameRow.run_id == row.id)
        .order_by(MoveRow.game_id, MoveRow.ply)
    )
    for game_id, move, side, clock_ms in session.execute(played):
        moves[game_id].append(move)
        if clock_ms is not None:
            clocks[game_id]["first" if side == "first" else "second"] = clock_ms
    in_order = select(GameRow).where(GameRow.run_id == row.id).order_by(GameRow.schedule_index, GameRow.replay)
    games = tuple(
        stored_game(game, names, tuple(moves[game.id]), clocks[game.id]) for game in session.scalars(in_order)
    )
    scheduled = tuple(game.new for game in games if game.new.replay == 0)
    return StoredRun(row.id, row.name, row.status, as_begun(session, row, scheduled), games)


def as_begun(session: Session, row: RunRow, games: tuple[NewGame, ...]) -> NewRun:
    """What the run of `row` was started with, with the `games` of its schedule."""
    agents = session.scalars(select(AgentRow).where(AgentRow.run_id == row.id).order_by(AgentRow.id))
    return NewRun(
        config=row.config,
        seed=row.seed,
        agents=tuple(NewAgent(agent.name, agent.spec, agent.settings) for agent in agents),
        games=games,
        model=row.model,
        model_checksum=row.model_checksum,
        environment=row.environment,
        name=row.name,
        content_hash=row.content_hash,
    )
