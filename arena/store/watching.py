"""What somebody who watches asks again and again: boards as they stand, and the engine's figures over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Integer, func, select, true
from sqlalchemy.orm import Session, aliased

from arena.clocks import TimeControl
from arena.errors import UsageError
from arena.store.database import Database
from arena.store.models import AgentRow, EngineSampleRow, GameRow, MoveRow, RunRow
from arena.store.queries import GameLine, RunLine, run_line_of, time_control_of
from arena.store.runs import find_run
from games.base import Side


@dataclass(frozen=True, slots=True)
class Board:
    """A game as it stands: the position after its last ply, and that ply (all None before the first). `fen` None:
    it has not been set up yet. `clocks_ms` are what both sides have left, None in a game without clocks."""

    game_id: int
    game: str
    white: str
    black: str
    status: str
    result: str | None
    termination: str | None
    void: bool
    plies: int
    fen: str | None
    move: str | None
    san: str | None
    side: Side | None
    clocks_ms: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Picture:
    """What a board shows after some ply: enough to draw it, without the moves that led there."""

    game: str
    fen: str
    move: str | None


@dataclass(frozen=True, slots=True)
class EngineSample:
    """The engine's figures at one moment, by the names of `inference.types.EngineStats`."""

    at: datetime
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class FinishedGame:
    """What a table needs to know of a game that counts; `pair` is its own number within the run."""

    white: str
    black: str
    result: str
    termination: str
    pair: int | None
    duplicate: bool


@dataclass(frozen=True, slots=True)
class Choices:
    """What games can be told apart by: every agent's name and every termination that occurs."""

    agents: tuple[str, ...]
    terminations: tuple[str, ...]


def run_line(db: Database, run: int | str) -> RunLine:
    """One run as `list_runs` shows it. Raises UsageError for an unknown one."""
    with db.reading() as session:
        row = find_run(session, run)
        counts = select(func.count(GameRow.id), func.count(GameRow.result)).where(GameRow.run_id == row.id)
        games, finished = session.execute(counts).one()
        return run_line_of(row, games, finished)


def boards(db: Database, run: int | str, *, ended: int) -> list[Board]:
    """The games of a run that are being played, by number, then the `ended` ones that ended last.

    Raises UsageError for an unknown run.
    """
    with db.reading() as session:
        row = find_run(session, run)
        run_id, clock = row.id, _time_control(row)
        playing = _boards(session, clock, GameRow.run_id == run_id, GameRow.status == "playing")
        recent = (
            select(GameRow.id)
            .where(GameRow.run_id == run_id, GameRow.status == "finished")
            .order_by(GameRow.ended_at.desc(), GameRow.id.desc())
            .limit(ended)
        )
        over = _boards(session, clock, GameRow.id.in_(session.scalars(recent).all()))
        return [*playing, *reversed(over)]


def board(db: Database, game_id: int) -> Board:
    """One game as it stands. Raises UsageError for an unknown one."""
    with db.reading() as session:
        run = session.scalar(select(RunRow).join(GameRow, GameRow.run_id == RunRow.id).where(GameRow.id == game_id))
        if run is None:
            raise UsageError(f"there is no game {game_id}")
        return _boards(session, _time_control(run), GameRow.id == game_id)[0]


def picture(db: Database, game_id: int, ply: int | None = None) -> Picture:
    """The board of a game after `ply` (None: its last; 0: the start). Raises UsageError if there is none."""
    with db.reading() as session:
        game = session.get(GameRow, game_id)
        if game is None:
            raise UsageError(f"there is no game {game_id}")
        at = game.plies if ply is None else ply
        if at == 0:
            fen = game.initial_fen or game.start_fen
            if fen is None:
                raise UsageError(f"game {game_id} has not started")
            return Picture(game.game, fen, None)
        move = session.scalar(select(MoveRow).where(MoveRow.game_id == game_id, MoveRow.ply == at))
        if move is None:
            raise UsageError(f"game {game_id} has plies 0 to {game.plies}, not {at}")
        return Picture(game.game, move.fen, move.move)


def neighbours(db: Database, game: GameLine) -> tuple[int | None, int | None]:
    """The games of the same run before and after a game, by number; None where there is none."""
    of_run = GameRow.run_id == game.run_id
    with db.reading() as session:
        older = session.scalar(select(func.max(GameRow.id)).where(of_run, GameRow.id < game.game_id))
        newer = session.scalar(select(func.min(GameRow.id)).where(of_run, GameRow.id > game.game_id))
    return older, newer


def engine_samples(db: Database, run: int | str, *, most: int) -> list[EngineSample]:
    """The engine's figures over a run, oldest first: all of them, or about `most` at equal steps.

    Raises UsageError for an unknown run.
    """
    with db.reading() as session:
        run_id = find_run(session, run).id
        of_run = EngineSampleRow.run_id == run_id
        count = session.scalar(select(func.count()).select_from(EngineSampleRow).where(of_run)) or 0
        step = max(1, -(-count // most))
        number = func.row_number().over(order_by=(EngineSampleRow.at, EngineSampleRow.id))
        numbered = select(EngineSampleRow.id, number.cast(Integer).label("number")).where(of_run).subquery()
        chosen = select(numbered.c.id).where((numbered.c.number % step == 0) if step > 1 else true())
        rows = session.scalars(
            select(EngineSampleRow).where(EngineSampleRow.id.in_(chosen)).order_by(EngineSampleRow.at)
        )
        return [EngineSample(row.at, row.figures) for row in rows]


def choices(db: Database, *, most: int) -> Choices:
    """What there is to filter by, in alphabetical order; at most `most` of a kind."""
    with db.reading() as session:
        names = select(AgentRow.name).distinct().order_by(AgentRow.name).limit(most)
        ends = select(GameRow.termination).where(GameRow.termination.is_not(None)).distinct().limit(most)
        return Choices(
            tuple(session.scalars(names)), tuple(sorted(end for end in session.scalars(ends) if end is not None))
        )


def finished_games(db: Database, run: int | str) -> tuple[list[str], list[FinishedGame]]:
    """The agents of a run, and its games that count. Raises UsageError for an unknown run."""
    white, black = aliased(AgentRow), aliased(AgentRow)
    with db.reading() as session:
        run_id = find_run(session, run).id
        names = session.scalars(select(AgentRow.name).where(AgentRow.run_id == run_id).order_by(AgentRow.id)).all()
        rows = session.execute(
            select(
                white.name,
                black.name,
                GameRow.result,
                GameRow.termination,
                GameRow.pair,
                GameRow.duplicate_of.is_not(None),
            )
            .join(white, white.id == GameRow.white_id)
            .join(black, black.id == GameRow.black_id)
            .where(GameRow.run_id == run_id, GameRow.status == "finished", GameRow.result != "*")
            .order_by(GameRow.id)
        )
        return list(names), [
            FinishedGame(first, second, result or "", termination or "", pair, duplicate)
            for first, second, result, termination, pair, duplicate in rows
        ]


def _time_control(run: RunRow) -> TimeControl | None:
    written = time_control_of(run)
    return None if written is None else TimeControl.parse(written)


def _boards(session: Session, clock: TimeControl | None, *where: ColumnElement[bool]) -> list[Board]:
    white, black, before = aliased(AgentRow), aliased(AgentRow), aliased(MoveRow)
    query = (
        select(GameRow, white.name, black.name, MoveRow, before.clock_ms)
        .join(white, white.id == GameRow.white_id)
        .join(black, black.id == GameRow.black_id)
        .outerjoin(MoveRow, (MoveRow.game_id == GameRow.id) & (MoveRow.ply == GameRow.plies))
        .outerjoin(before, (before.game_id == GameRow.id) & (before.ply == GameRow.plies - 1))
        .where(*where)
        .order_by(GameRow.id)
    )
    return [_board(clock, *row) for row in session.execute(query)]


def _board(
    clock: TimeControl | None, game: GameRow, white: str, black: str, move: MoveRow | None, before_ms: float | None
) -> Board:
    return Board(
        game_id=game.id,
        game=game.game,
        white=white,
        black=black,
        status=game.status,
        result=game.result,
        termination=game.termination,
        void=game.void,
        plies=game.plies,
        fen=(game.initial_fen or game.start_fen) if move is None else move.fen,
        move=None if move is None else move.move,
        san=None if move is None else move.san,
        side=None if move is None else "first" if move.side == "first" else "second",
        clocks_ms=None if clock is None else _clocks_ms(clock, move, before_ms),
    )


def _clocks_ms(clock: TimeControl, move: MoveRow | None, before_ms: float | None) -> tuple[float, float]:
    """What both sides have left after `move`; `before_ms` is what the other side had after the one before it."""
    mover = clock.base_ms if move is None or move.clock_ms is None else move.clock_ms
    other = clock.base_ms if before_ms is None else before_ms
    return (other, mover) if move is not None and move.side == "second" else (mover, other)
