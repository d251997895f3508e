"""Updates of runs from the database, by looking again and again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session, aliased

from arena.events import now
from arena.mqtt.messages import GameState, Move, RunStatus, Update
from arena.printable import printable, shortened
from arena.store.database import Database
from arena.store.models import AgentRow, GameRow, MoveRow, RunRow
from arena.store.runs import find_run
from games import get_game
from games.base import Side

MAX_TEXT = 300
MAX_ENDED = 12
"""Games of a run that had ended before the first look, the last of which are told."""
LATE = timedelta(minutes=1)
"""How long after its end a game may reach the record, other games that ended later being there already."""


class Follower:
    """Reads what is new since it last looked: of the run that is named, else of all that are being played.

    Keeps the ply that each game was seen at, and nothing of the record open between two looks.
    """

    def __init__(self, database: Database, run: int | str | None = None) -> None:
        """Raises UsageError for a run that is not in the record."""
        self._database = database
        self._only: int | None = None
        if run is not None:
            with database.reading() as session:
                self._only = find_run(session, run).id
        self._plies: dict[int, int] = {}
        self._ended: set[int] = set()
        self._runs: set[int] = set()
        self._latest: dict[int, datetime | None] = {}  # by run: when a game ended last, at the look before

    def poll(self) -> list[Update]:
        """What is new. Blocks for as long as the database takes to answer."""
        with self._database.reading() as session:
            return [update for run in self._followed(session) for update in self._of_run(session, run)]

    def _followed(self, session: Session) -> list[RunRow]:
        """The runs to look at: one that has ended is looked at once more."""
        query = select(RunRow).order_by(RunRow.id)
        if self._only is not None:
            return list(session.scalars(query.where(RunRow.id == self._only)))
        runs = list(session.scalars(query.where((RunRow.status == "running") | RunRow.id.in_(self._runs))))
        self._runs = {run.id for run in runs if run.status == "running"}
        return runs

    def _of_run(self, session: Session, run: RunRow) -> Iterator[Update]:
        white, black = aliased(AgentRow), aliased(AgentRow)
        of_run = GameRow.run_id == run.id
        if run.id not in self._latest:
            finished = select(GameRow.id).where(of_run, GameRow.status == "finished").order_by(GameRow.id)
            self._ended.update(session.scalars(finished).all()[:-MAX_ENDED])
        latest = session.scalar(select(func.max(GameRow.ended_at)).where(of_run))
        before = self._latest.get(run.id, latest)
        self._latest[run.id] = latest
        over = GameRow.status == "finished"
        if before is not None:
            over = and_(over, GameRow.ended_at >= before - LATE)
        going = session.scalars(select(GameRow.id).where(of_run, (GameRow.status == "playing") | over))
        query = (
            select(GameRow, white.name, black.name)
            .join(white, white.id == GameRow.white_id)
            .join(black, black.id == GameRow.black_id)
            .where(GameRow.id.in_([game for game in going if game not in self._ended]))
            .order_by(GameRow.id)
        )
        yield _status(session, run)
        for game, first, second in session.execute(query).all():
            yield from self._of_game(session, run, game, {"first": first, "second": second})

    def _of_game(self, session: Session, run: RunRow, game: GameRow, names: dict[Side, str]) -> Iterator[Update]:
        seen = self._plies.get(game.id)
        query = select(MoveRow).where(MoveRow.game_id == game.id, MoveRow.ply > (seen or 0)).order_by(MoveRow.ply)
        moves = session.scalars(query).all()
        if seen is not None:
            yield from (_move(run, game, move, names) for move in moves)
        self._plies[game.id] = moves[-1].ply if moves else seen or 0
        ended = game.result is not None
        if ended:
            self._ended.add(game.id)
        if seen is None or ended:
            last = session.scalars(
                select(MoveRow).where(MoveRow.game_id == game.id).order_by(MoveRow.ply.desc()).limit(2)
            ).all()
            yield _state(run, game, last, names)


def _status(session: Session, run: RunRow) -> RunStatus:
    counts = select(
        func.count(GameRow.schedule_index.distinct()),
        func.count(GameRow.result).filter(GameRow.void.is_(False)),
        func.count().filter(GameRow.void),
    )
    games, done, void = session.execute(counts.where(GameRow.run_id == run.id)).one()
    return RunStatus.model_construct(
        session=run.id,
        run=run.name,
        at=now(),
        status=run.status,
        detail=_text(run.detail),
        seed=run.seed,
        model=run.model,
        games=games,
        done=done,
        void=void,
    )


def _state(run: RunRow, game: GameRow, last: Sequence[MoveRow], names: dict[Side, str]) -> GameState:
    """The state of `game`, whose latest moves are `last`, the newest first."""
    start = get_game(game.game).position(game.initial_fen or game.start_fen)
    move = last[0] if last else None
    to_move: Side = start.side_to_move
    if move is not None:
        to_move = "second" if move.side == "first" else "first"
    return GameState.model_construct(
        session=run.id,
        run=run.name,
        at=game.ended_at or (move.played_at if move else game.started_at) or now(),
        game_id=game.id,
        game=game.game,
        white=_text(names["first"]),
        black=_text(names["second"]),
        ply=move.ply if move else 0,
        fen=move.fen if move else start.fen,
        to_move=to_move,
        last_move=move.move if move else None,
        last_san=move.san if move else None,
        clock_ms={each.side: each.clock_ms for each in last if each.clock_ms is not None},
        result=game.result,
        termination=_text(game.termination or ""),
        detail=_text(game.detail),
    )


def _move(run: RunRow, game: GameRow, move: MoveRow, names: dict[Side, str]) -> Move:
    side: Side = "first" if move.side == "first" else "second"
    return Move.model_construct(
        session=run.id,
        run=run.name,
        at=move.played_at,
        game_id=game.id,
        game=game.game,
        ply=move.ply,
        side=side,
        agent=_text(names[side]),
        move=move.move,
        san=move.san,
        fen=move.fen,
        clock_ms=move.clock_ms,
        total_ms=move.total_ms,
    )


def _text(text: str) -> str:
    return shortened(printable(text), MAX_TEXT)
