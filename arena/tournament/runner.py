"""Plays a tournament: stage by stage, from any state of its record to the end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from arena.bus import Reader
from arena.errors import ArenaError, UsageError
from arena.runner import Batches, carry_out, left_to_play
from arena.store.claim import claimed
from arena.store.database import Database
from arena.store.runs import create_run, reopen_run
from arena.store.stages import add_games, find_tournament, last_tries, load_header, same_tournament
from arena.tournament.lineup import TournamentLineup
from arena.tournament.plan import Plan
from arena.tournament.record import new_games, plan_from, scores


@dataclass(frozen=True, slots=True)
class TournamentResult:
    """A tournament as it stands in the record after play: `status` is `finished` or `interrupted`."""

    run_id: int
    name: str
    status: str


async def play_tournament(
    plan: Plan, *, db: str | Path = "arena.db", readers: Sequence[Reader] = (), lineup: TournamentLineup | None = None
) -> TournamentResult:
    """Plays `plan` as a new run of the database `db`, which is made if it is missing.

    Signals and errors as for `arena.runner.play`. `lineup`, made from `plan`, is closed in the end.
    """
    lineup = lineup or TournamentLineup(plan)
    try:
        Database.check(db)
        await lineup.start()
        with Database.open(db, create=True) as database:
            run_id = create_run(database, lineup.new_run()).run_id
            with claimed(database, run_id):
                return await _carry_on(run_id, database, lineup, readers)
    finally:
        await lineup.close()


async def resume_tournament(
    run: int | str | None = None,
    *,
    db: str | Path = "arena.db",
    readers: Sequence[Reader] = (),
    lineup: TournamentLineup | None = None,
) -> TournamentResult:
    """Plays what is left of a recorded tournament, by id or name; None: the newest that is not finished.

    It ends with the same schedule, and with agents that answer the same each time with the same games, as one that was
    never interrupted. Raises UsageError for a run that is not there, is finished, is no tournament or is being played,
    ArenaError if a model or an engine is another than when it began.
    """
    with Database.open(db, create=False) as database, claimed(database, unfinished_tournament(database, run)) as run_id:
        unfinished_tournament(database, run_id)  # as it is now that nobody else plays it
        lineup = lineup or TournamentLineup(recorded_plan(database, run_id))
        try:
            await lineup.start()
            begun = load_header(database, run_id, 0).new
            lineup.check_facts(begun)
            for fact, now in lineup.judge_facts.items():
                if (then := begun.environment.get(fact)) != now:
                    raise ArenaError(f"the {fact} was {then} when the tournament began and is {now} now")
            reopen_run(database, run_id)
            return await _carry_on(run_id, database, lineup, readers)
        finally:
            await lineup.close()


def unfinished_tournament(database: Database, run: int | str | None) -> int:
    """The id of the tournament to go on with. Raises UsageError if there is none or it is finished."""
    with database.reading() as session:
        row = find_tournament(session, run, unfinished=True)
        if row.status == "finished":
            raise UsageError(f"tournament {row.name} is finished: there is nothing to resume")
        return row.id


def recorded_plan(database: Database, run: int | str | None) -> Plan:
    """The plan that a tournament was recorded with; None: of the newest. Raises UsageError."""
    with database.reading() as session:
        return plan_from(find_tournament(session, run).config)


def run_to_continue(database: Database, plan: Plan) -> int | None:
    """The unfinished run that asks for the same games as `plan`, if there is one. Raises UsageError if it was finished:
    to play all of it again must be meant."""
    same = same_tournament(database, plan.content_hash)
    if same is None:
        return None
    run_id, status = same
    if status == "finished":
        raise UsageError(
            f"this tournament is finished as run {run_id}: `arena tournament standings {run_id}` shows it, --new plays "
            "another"
        )
    return run_id


async def _carry_on(
    run_id: int, database: Database, lineup: TournamentLineup, readers: Sequence[Reader]
) -> TournamentResult:
    run = load_header(database, run_id, lineup.plan.format.most_games())
    complete = await carry_out(run, database, lineup, readers, stages(lineup.plan, database, run_id))
    return TournamentResult(run_id, run.name, "finished" if complete else "interrupted")


async def stages(plan: Plan, database: Database, run_id: int) -> Batches:
    """The games of one stage after the other, scheduled in the record as soon as they are known.

    Holds the scores of the games and their places in the schedule, nothing of the games themselves.
    """
    tries = await asyncio.to_thread(last_tries, database, run_id)
    known, results = len(tries), scores(tries)
    while True:
        schedule = await asyncio.to_thread(plan.schedule, results)
        if new := schedule.games[known:]:
            await asyncio.to_thread(add_games, database, run_id, new_games(plan, new))
            known = len(schedule.games)
        if schedule.finished:
            return
        first = min(game.index for game in schedule.games if game.index not in results)
        tries = await asyncio.to_thread(last_tries, database, run_id, first)
        open_games = [last for last in tries if last.schedule_index not in results]
        yield await asyncio.to_thread(left_to_play, database, open_games)
        results |= scores(await asyncio.to_thread(last_tries, database, run_id, first))
