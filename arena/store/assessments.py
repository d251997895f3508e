"""What judges think of recorded positions, and what follows from it for the moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Integer, SQLColumnExpression, case, cast, func, insert, select
from sqlalchemy.orm import Session, aliased

from arena.store.database import Database
from arena.store.models import AssessmentRow, GameRow, JudgeRow, MoveRow
from arena.store.records import OPENING

CAP = 1_000
"""Centipawns beyond which a position is won, and counts no more than that: a mate missed costs no thousands."""

BLUNDER = 300
"""Centipawns; a move that loses so much is called a blunder."""


@dataclass(frozen=True, slots=True)
class JudgeName:
    """A judge of the record."""

    judge_id: int
    spec: str
    version: str

    def __str__(self) -> str:
        return f"{self.version} ({self.spec})"


@dataclass(frozen=True, slots=True)
class Assessment:
    """A position's: `best` is None where the game is over, `score` is the side to move's (`agents.uci.score`)."""

    game_id: int
    ply: int
    best: str | None
    score: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """A move, judged. `score` is what the mover had before it and `after` what it had then, as assessed and for the
    mover; `loss` is in centipawns, never negative."""

    judge: str
    best: str | None
    score: int
    after: int
    loss: int
    agrees: bool


@dataclass(frozen=True, slots=True)
class JudgedPlay:
    """An agent's moves before one judge: how many, how many were the judge's own choice, the centipawns lost by all,
    how many were blunders."""

    moves: int
    agreed: int
    lost: int
    blunders: int

    @property
    def agreement(self) -> float:
        """Share of moves that were the judge's own choice."""
        return self.agreed / self.moves

    @property
    def average_loss(self) -> float:
        """Centipawns a move (ACPL)."""
        return self.lost / self.moves


def centipawn_loss(score: int, after: int, *, agrees: bool) -> int:
    """Centipawns that a move lost, both scores being the mover's; nothing where it is what the judge would have played,
    whose two searches only differ by how far they saw."""
    return 0 if agrees else max(0, _capped(score) - _capped(after))


def _capped(score: int) -> int:
    return max(-CAP, min(CAP, score))


def add_judge(db: Database, spec: str, version: str) -> JudgeName:
    """The judge with that spec and version, recorded now if it was not."""
    with db.writing() as session:
        row = session.scalar(select(JudgeRow).where(JudgeRow.spec == spec, JudgeRow.version == version))
        if row is None:
            row = JudgeRow(spec=spec, version=version)
            session.add(row)
            session.flush()
        return JudgeName(row.id, spec, version)


def record_assessments(db: Database, judge_id: int, found: Sequence[Assessment]) -> None:
    """Write what is new of `found`, in one transaction; another process may have assessed the same."""
    with db.writing() as session:
        games = {one.game_id for one in found}
        of_them = (AssessmentRow.judge_id == judge_id, AssessmentRow.game_id.in_(games))
        there = {
            (game, ply)
            for game, ply in session.execute(select(AssessmentRow.game_id, AssessmentRow.ply).where(*of_them))
        }
        rows = [
            {"judge_id": judge_id, "game_id": one.game_id, "ply": one.ply, "best": one.best, "score": one.score}
            for one in found
            if (one.game_id, one.ply) not in there
        ]
        if rows:
            session.execute(insert(AssessmentRow), rows)


def assessed_plies(session: Session, judge_id: int, game_id: int) -> set[int]:
    """The positions of a game that the judge has assessed."""
    own = (AssessmentRow.judge_id == judge_id, AssessmentRow.game_id == game_id)
    return set(session.scalars(select(AssessmentRow.ply).where(*own)))


def judgements(session: Session, game_id: int) -> dict[int, tuple[Judgement, ...]]:
    """By ply: what each judge that assessed the game makes of the move. Moves with one side unassessed are left out."""
    rows = session.execute(
        select(AssessmentRow, JudgeRow)
        .join(JudgeRow, JudgeRow.id == AssessmentRow.judge_id)
        .where(AssessmentRow.game_id == game_id)
        .order_by(JudgeRow.id)
    ).all()
    by_place = {(judge.id, row.ply): row for row, judge in rows}
    judges = {judge.id: str(JudgeName(judge.id, judge.spec, judge.version)) for _, judge in rows}
    moves = select(MoveRow.ply, MoveRow.move).where(MoveRow.game_id == game_id)
    found: dict[int, tuple[Judgement, ...]] = {}
    for ply, move in session.execute(moves) if rows else ():
        found[ply] = tuple(
            _judgement(name, move, before, after)
            for judge_id, name in judges.items()
            if (before := by_place.get((judge_id, ply - 1))) and (after := by_place.get((judge_id, ply)))
        )
    return found


def _judgement(judge: str, move: str, before: AssessmentRow, after: AssessmentRow) -> Judgement:
    agrees = move == before.best
    loss = centipawn_loss(before.score, -after.score, agrees=agrees)
    return Judgement(judge, before.best, before.score, -after.score, loss, agrees)


def judged_play(session: Session, run_id: int) -> dict[JudgeName, dict[int, JudgedPlay]]:
    """For each judge that assessed games of the run: play by agent id, without void games and moves of openings."""
    before, after = aliased(AssessmentRow), aliased(AssessmentRow)
    agrees = MoveRow.move == before.best
    loss = _capped_sql(before.score) - _capped_sql(-after.score)
    lost = case((agrees, 0), (loss > 0, loss), else_=0)
    query = (
        select(
            before.judge_id,
            MoveRow.agent_id,
            func.count(),
            func.sum(case((agrees, 1), else_=0)),
            func.sum(lost),
            func.sum(case((lost >= BLUNDER, 1), else_=0)),
        )
        .select_from(GameRow)
        .join(MoveRow, MoveRow.game_id == GameRow.id)
        .join(before, (before.game_id == MoveRow.game_id) & (before.ply == MoveRow.ply - 1))
        .join(
            after,
            (after.game_id == MoveRow.game_id) & (after.ply == MoveRow.ply) & (after.judge_id == before.judge_id),
        )
        .where(GameRow.run_id == run_id, GameRow.void.is_(False), MoveRow.policy != OPENING)
        .group_by(before.judge_id, MoveRow.agent_id)
    )
    names = {row.id: JudgeName(row.id, row.spec, row.version) for row in session.scalars(select(JudgeRow))}
    found: dict[JudgeName, dict[int, JudgedPlay]] = {}
    for judge_id, agent_id, *counts in session.execute(query):
        found.setdefault(names[judge_id], {})[agent_id] = JudgedPlay(*map(int, counts))
    return found


def _capped_sql(score: SQLColumnExpression[int]) -> ColumnElement[int]:
    return cast(case((score > CAP, CAP), (score < -CAP, -CAP), else_=score), Integer)
