"""What a judge makes of recorded games: every position assessed once, off the clock, whatever interrupts it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import func, select

from agents.base import AgentCrashed, UnusableAgentError
from agents.kind import AgentSpecError
from agents.spec import parse_spec
from agents.uci.judge import Judge
from agents.uci.score import MATE
from arena.errors import ArenaError, StoreError, UsageError
from arena.store.assessments import (
    Assessment,
    JudgeName,
    add_judge,
    assessed_plies,
    record_assessments,
)
from arena.store.database import Database
from arena.store.models import AssessmentRow, GameRow, MoveRow
from arena.store.runs import find_run
from games import get_game
from games.base import IllegalMoveError, InvalidPositionError, Position, UnknownGameError

WRITE_EVERY_S = 1.0
"""How much work a kill may cost."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """What was done: `positions` of `games` there were, `assessed` now; the others had been before."""

    judge: JudgeName
    games: int
    positions: int
    assessed: int


@dataclass(frozen=True, slots=True)
class _Task:
    game_id: int
    ply: int
    position: Position


def find_games(db: Database, names: Sequence[str | int]) -> list[int]:
    """Ids of the games named: an int is a game, a text names a run, by id or name, and stands for its games that have
    moves and are not void. Raises UsageError for what is not there, and if that leaves nothing."""
    found: dict[int, None] = {}
    with db.reading() as session:
        for name in names:
            if isinstance(name, int):
                if session.get(GameRow, name) is None:
                    raise UsageError(f"there is no game {name}; `arena games` lists them")
                found[name] = None
                continue
            run = find_run(session, name)
            of_run = (GameRow.run_id == run.id, GameRow.void.is_(False), GameRow.initial_fen.is_not(None))
            found |= dict.fromkeys(session.scalars(select(GameRow.id).where(*of_run).order_by(GameRow.id)))
    if not found:
        raise UsageError(f"no game of {', '.join(map(str, names))} has started: there is nothing to analyse")
    return list(found)


async def analyse(
    db: Database, spec: str, games: Sequence[int], progress: Callable[[int, int], None] | None = None
) -> Analysis:
    """Has the judge `spec` assess all positions of `games` that it has not assessed before.

    `progress` is told the positions done and in all. Raises UsageError for a judge that cannot be one, ArenaError if
    it ends; what was assessed until then is recorded.
    """
    judge = _make_judge(spec, _rules(db, games))
    try:
        await judge.start()
        name = add_judge(db, judge.spec.text, judge.version)
        total, done = _counts(db, name.judge_id, games)
        ledger = _Ledger(db, name.judge_id)

        def tell() -> None:
            if progress is not None:
                progress(done + ledger.added, total)

        tell()
        await _share(_tasks(db, name.judge_id, games), judge, ledger, tell)
        return Analysis(name, len(games), total, ledger.added)
    except UnusableAgentError as error:
        raise UsageError(f"{spec}: {error}") from error
    except AgentCrashed as error:
        raise ArenaError(
            f"{spec}: {error}; what it assessed is recorded, the same command goes on from there"
        ) from error
    finally:
        await judge.close()


def _make_judge(spec: str, rules: Sequence[str]) -> Judge:
    try:
        return Judge(parse_spec(spec), rules)
    except AgentSpecError as error:
        raise UsageError(str(error) if str(error).startswith(spec) else f"{spec}: {error}") from error


class _Ledger:
    """Collects assessments and writes them about once a second. Owns those not written yet; `added` counts all."""

    def __init__(self, db: Database, judge_id: int) -> None:
        self._db = db
        self._judge_id = judge_id
        self._waiting: list[Assessment] = []
        self._written_at = time.monotonic()
        self.added = 0

    async def add(self, found: Assessment) -> None:
        """Raises StoreError."""
        self._waiting.append(found)
        self.added += 1
        if time.monotonic() >= self._written_at + WRITE_EVERY_S:
            await self.write()

    async def write(self) -> None:
        """Raises StoreError."""
        waiting, self._waiting = self._waiting, []
        self._written_at = time.monotonic()
        if waiting:
            await asyncio.to_thread(record_assessments, self._db, self._judge_id, waiting)


async def _share(tasks: Iterator[_Task], judge: Judge, ledger: _Ledger, tell: Callable[[], None]) -> None:
    """Has as many workers as the judge has processes do `tasks`. Whatever ends it, what was found is recorded."""

    async def work() -> None:
        for task in tasks:
            best, score = _by_the_rules(task.position) or await judge.assess(task.position)
            await ledger.add(Assessment(task.game_id, task.ply, best, score))
            tell()

    workers = [asyncio.create_task(work()) for _ in range(judge.at_once)]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        await ledger.write()


def _by_the_rules(position: Position) -> tuple[str | None, int] | None:
    """The assessment of a position in which the game is over: no engine is asked. None for others."""
    outcome = position.outcome()
    if outcome is None:
        return None
    if outcome.winner is None:
        return None, 0
    return None, MATE if outcome.winner == position.side_to_move else -MATE


def _tasks(db: Database, judge_id: int, games: Sequence[int]) -> Iterator[_Task]:
    """The positions that are not assessed, game by game. Raises StoreError for a game that cannot be replayed."""
    for game_id in games:
        with db.reading() as session:
            row = session.get_one(GameRow, game_id)
            rules, start = row.game, row.initial_fen
            moves = session.scalars(select(MoveRow.move).where(MoveRow.game_id == game_id).order_by(MoveRow.ply)).all()
            done = assessed_plies(session, judge_id, game_id)
        if len(done) == len(moves) + 1:
            continue
        try:
            position = get_game(rules).position(start)
            for ply in range(len(moves) + 1):
                position = position.play(moves[ply - 1]) if ply else position
                if ply not in done:
                    yield _Task(game_id, ply, position)
        except (IllegalMoveError, InvalidPositionError) as error:
            raise StoreError(f"game {game_id} cannot be replayed from the record: {error}") from error


def _rules(db: Database, games: Sequence[int]) -> list[str]:
    """The names of the games' rules. Raises UsageError for rules that are not installed."""
    with db.reading() as session:
        rules: set[str] = set()
        for some in _slices(games):
            rules |= set(session.scalars(select(GameRow.game).where(GameRow.id.in_(some)).distinct()))
    try:
        return [get_game(name).name for name in sorted(rules)]
    except UnknownGameError as error:
        raise UsageError(str(error)) from error


def _counts(db: Database, judge_id: int, games: Sequence[int]) -> tuple[int, int]:
    """The positions of `games`, and how many of them the judge has assessed."""
    total, done = len(games), 0
    with db.reading() as session:
        for some in _slices(games):
            of_judge = (AssessmentRow.judge_id == judge_id, AssessmentRow.game_id.in_(some))
            total += session.scalar(select(func.count(MoveRow.id)).where(MoveRow.game_id.in_(some))) or 0
            done += session.scalar(select(func.count(AssessmentRow.ply)).where(*of_judge)) or 0
    return total, done


def _slices(games: Sequence[int], size: int = 500) -> Iterator[Sequence[int]]:
    """A database takes only so many parameters at once."""
    for start in range(0, len(games), size):
        yield games[start : start + size]
