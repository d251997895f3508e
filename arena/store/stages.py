"""Runs whose schedule grows while they are played, and may be too long to be held in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from arena.errors import UsageError
from arena.store.database import Database
from arena.store.models import AgentRow, GameRow, MoveRow, RunRow
from arena.store.records import NewGame, Progress, StoredGame, StoredRun
from arena.store.runs import agent_names, as_begun, find_run, game_values, stored_game
from games.base import Side

AT_ONCE = 1000
"""Games inserted by one statement."""


class Try(NamedTuple):
    """How a scheduled game stands: its try number `replay` is game `game_id` of the record. `result` None: it has no
    end yet."""

    game_id: int
    schedule_index: int
    replay: int
    result: str | None
    termination: str | None
    void: bool


def load_header(db: Database, run: int | str, games: int) -> StoredRun:
    """The run without its games, of which there are `games` in all, or at most. Raises UsageError if there is none."""
    with db.reading() as session:
        row = find_run(session, run)
        done, void = session.execute(
            select(
                func.count().filter(GameRow.result.is_not(None), GameRow.void.is_(False)),
                func.count().filter(GameRow.void.is_(True)),
            ).where(GameRow.run_id == row.id)
        ).one()
        counted = Progress(games, done, void)
        return StoredRun(row.id, row.name, row.status, as_begun(session, row, ()), (), counted)


def same_tournament(db: Database, content_hash: str) -> tuple[int, str] | None:
    """Id and status of the newest run that asks for the same games, one that is not finished if there is one."""
    finished = RunRow.status == "finished"
    query = select(RunRow.id, RunRow.status).where(RunRow.content_hash == content_hash)
    with db.reading() as session:
        found = session.execute(query.order_by(finished, RunRow.id.desc()).limit(1)).one_or_none()
        return None if found is None else (found.id, found.status)


def find_tournament(session: Session, run: int | str | None, *, unfinished: bool = False) -> RunRow:
    """The row of a tournament by its id or name; None: the newest one, or the newest that is not finished. Raises
    UsageError."""
    if run is None:
        newest = select(RunRow).where(RunRow.content_hash.is_not(None)).order_by(RunRow.id.desc()).limit(1)
        row = session.scalar(newest.where(RunRow.status != "finished") if unfinished else newest)
        if row is None:
            raise UsageError(f"there is no {'unfinished ' if unfinished else ''}tournament in the record")
        return row
    row = find_run(session, run)
    if row.content_hash is None:
        raise UsageError(f"run {row.name} is no tournament")
    return row


def add_games(db: Database, run_id: int, games: Sequence[NewGame]) -> None:
    """Adds games to the schedule of a run, all or none. Raises StoreError if one is there already."""
    with db.writing() as session:
        run = find_run(session, run_id)
        ids = {name: number for number, name in agent_names(session, run_id).items()}
        for start in range(0, len(games), AT_ONCE):
            some = games[start : start + AT_ONCE]
            session.execute(
                insert(GameRow), [game_values(run_id, game, ids[game.white], ids[game.black], run) for game in some]
            )


def last_tries(db: Database, run_id: int, first: int = 0) -> list[Try]:
    """The last try of each game of the schedule so far, from index `first` on, in its order."""
    query = (
        select(
            GameRow.id, GameRow.schedule_index, GameRow.replay, GameRow.result, GameRow.termination, GameRow.void
        )
        .where(GameRow.run_id == run_id, GameRow.schedule_index >= first)
        .order_by(GameRow.schedule_index, GameRow.replay)
    )  # fmt: skip
    with db.reading() as session:
        last = {row.schedule_index: Try._make(row) for row in session.execute(query)}
    return list(last.values())


def load_game(db: Database, game_id: int) -> StoredGame:
    """A game as it stands. Raises UsageError if there is none with that id."""
    with db.reading() as session:
        row = session.get(GameRow, game_id)
        if row is None:
            raise UsageError(f"there is no game {game_id}")
        moves: list[str] = []
        clocks: dict[Side, float] = {}
        played = select(MoveRow.move, MoveRow.side, MoveRow.clock_ms).where(MoveRow.game_id == game_id)
        for move, side, clock_ms in session.execute(played.order_by(MoveRow.ply)):
            moves.append(move)
            if clock_ms is not None:
                clocks["first" if side == "first" else "second"] = clock_ms
        players = select(AgentRow.id, AgentRow.name).where(AgentRow.id.in_((row.white_id, row.black_id)))
        return stored_game(row, {player.id: player.name for player in session.execute(players)}, tuple(moves), clocks)
