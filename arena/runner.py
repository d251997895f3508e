"""Many games in one event loop, from a schedule to its last result."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agents.base import PlayerLeft
from arena.bus import EventBus, Reader
from arena.config import RunConfig, stored_config
from arena.endings import MAX_REPLAYS, REPLAYED, Fault
from arena.errors import StoreError, UsageError
from arena.events import RunEnded
from arena.figures import MoveRate, sample
from arena.interrupts import on_interrupt
from arena.lineup import Lineup, Roster
from arena.match import play_game
from arena.store.claim import claimed
from arena.store.database import Database
from arena.store.records import StoredGame, StoredRun
from arena.store.runs import add_replay, create_run, load_run, reopen_run
from arena.store.stages import Try, last_tries, load_game
from arena.store.writer import Recorder

logger = logging.getLogger(__name__)

Batches = AsyncIterator[Sequence[int]]
"""Games by their ids: those of a batch can be played at the same time, and the next is asked for when all have their
end."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run as it stands in the record after play: `status` is `finished` or `interrupted`."""

    run_id: int
    name: str
    status: str
    seed: int
    games: tuple[StoredGame, ...]


async def play(
    config: RunConfig,
    *,
    db: str | Path = "arena.db",
    readers: Sequence[Reader] = (),
    lineup: Lineup | None = None,
) -> RunResult:
    """Plays a new run to its end, recorded in the database `db`, which is made if it is missing.

    SIGINT or SIGTERM: the first lets running games finish and starts no other, the second stops at once; either
    way every finished ply is kept and the result says `interrupted` unless all games ended. `lineup`, made from
    `config` and perhaps with its engines started, is closed in the end. Raises UsageError before the first game
    for what cannot be played, ArenaError for what stops a run.
    """
    lineup = lineup or Lineup(config)
    try:
        Database.check(db)
        await lineup.start()
        with Database.open(db, create=True) as database:
            run = create_run(database, lineup.new_run())
            with claimed(database, run.run_id):
                await carry_out(run, database, lineup, readers, _rest(run.run_id, database))
                return _result(database, run.run_id)
    finally:
        await lineup.close()


async def resume(
    run: int | str | None = None,
    *,
    db: str | Path = "arena.db",
    readers: Sequence[Reader] = (),
    lineup: Lineup | None = None,
) -> RunResult:
    """Plays what is left of a recorded run, by id or name; None: the newest that is not finished.

    Games go on from their last recorded ply, and the run ends with the same games as one that was never
    interrupted. `lineup` as for `play`, made from the stored configuration. Raises UsageError for a run that is
    not there, is finished or is being played, and ArenaError if the model is no longer the one that the run began with.
    """
    with Database.open(db, create=False) as database, claimed(database, unfinished_run(database, run).run_id) as run_id:
        stored = unfinished_run(database, run_id)  # as it is now that nobody else plays it
        lineup = lineup or Lineup(stored_config(stored.new.config))
        try:
            await lineup.start()
            lineup.check_facts(stored.new)
            reopen_run(database, stored.run_id)
            await carry_out(stored, database, lineup, readers, _rest(run_id, database))
            return _result(database, run_id)
        finally:
            await lineup.close()


def unfinished_run(database: Database, run: int | str | None) -> StoredRun:
    """The run to go on with. Raises UsageError if there is none or it is finished."""
    stored = load_run(database, run)
    if stored.status == "finished":
        raise UsageError(f"run {stored.name} is finished: there is nothing to resume")
    return stored


def _result(database: Database, run_id: int) -> RunResult:
    after = load_run(database, run_id)
    return RunResult(after.run_id, after.name, after.status, after.new.seed, after.games)


async def _rest(run_id: int, database: Database) -> Batches:
    """What is left of a schedule that is recorded whole: one batch."""
    yield await asyncio.to_thread(left_to_play, database, last_tries(database, run_id))


async def carry_out(
    run: StoredRun, database: Database, roster: Roster, readers: Sequence[Reader], batches: Batches
) -> bool:
    """Plays the games of `batches`, and closes the record of `run` whatever happens; whether all have their end.

    `roster` must be started. Raises what stops a run: ArenaError, or a fault of the program.
    """
    recorder = Recorder(database)
    try:
        rate = MoveRate()
        bus = EventBus(recorder, (*readers, rate))
        bus.begin(run)
        sampler = asyncio.create_task(sample(run.run_id, roster.engines, bus, rate))
        try:
            complete = await Runner(run.run_id, roster, bus, database, batches).run()
        except BaseException as error:
            stopped = isinstance(error, asyncio.CancelledError | KeyboardInterrupt)
            with suppress(StoreError):  # then `error` is the same failure, met first
                bus.offer(
                    RunEnded(run_id=run.run_id, status="interrupted")
                    if stopped
                    else RunEnded(run_id=run.run_id, status="failed", detail=f"{type(error).__name__}: {error}")
                )
            raise
        finally:
            sampler.cancel()
        await bus.record(RunEnded(run_id=run.run_id, status="finished" if complete else "interrupted"))
        return complete
    finally:
        await recorder.close()


class Runner:
    """Plays one batch of games after the other, at most `concurrency` games at once.

    Owns the list of games to play. Invariant: a game of the batches so far is finished, being played, or on that list;
    a void game counts as finished when its replay is on the list or its replays are used up.
    """

    def __init__(self, run_id: int, roster: Roster, bus: EventBus, database: Database, batches: Batches) -> None:
        self._run_id = run_id
        self._roster = roster
        self._bus = bus
        self._database = database
        self._batches = batches
        self._todo: deque[int] = deque()
        self._playing = 0
        self._draining = False
        self._stopped = False

    async def run(self) -> bool:
        """Plays; whether every game has its end now. What goes wrong in the program itself stops all games and
        is raised as it was met first."""
        work = asyncio.create_task(self._play_all(), name="games")

        def stop() -> None:
            self._stopped = True
            logger.warning("Stopping at once; finished moves are kept.")
            work.cancel()

        # Games that wait for a person do not finish by themselves.
        steps = (stop,) if self._roster.has_person else (self._drain, stop)
        with on_interrupt(*steps):
            try:
                await work
            except asyncio.CancelledError:
                if not self._stopped:
                    raise
                return False
            except PlayerLeft as left:
                logger.warning("%s; finished moves are kept.", left)
                return False
        return not self._todo

    def _drain(self) -> None:
        self._draining = True
        games = f"{self._playing} running game{'s' * (self._playing != 1)}"
        logger.warning("Finishing %s and starting no more; Ctrl-C again stops at once.", games)

    async def _play_all(self) -> None:
        async for batch in self._batches:
            self._todo.extend(batch)
            await self._play_batch()
            if self._todo:  # no game more was to be started
                return

    async def _play_batch(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._roster.conditions.concurrency, len(self._todo))):
                    group.create_task(self._play_in_turn())
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None

    async def _play_in_turn(self) -> None:
        """Plays one game after another until none is left to start."""
        while self._todo and not self._draining:
            game_id = self._todo.popleft()
            self._playing += 1
            try:
                game = await asyncio.to_thread(load_game, self._database, game_id)
                ended = await play_game(
                    game,
                    self._roster.agents,
                    self._bus,
                    run_id=self._run_id,
                    move_timeout_s=self._roster.conditions.move_timeout,
                    time_control=self._roster.conditions.clocks,
                    adjudicator=self._roster.adjudicator,
                )
            finally:
                self._playing -= 1
            if ended.void:
                if ended.termination == Fault.INFRASTRUCTURE:
                    await self._roster.check_engines()
                if game.new.replay < MAX_REPLAYS:
                    again = await asyncio.to_thread(add_replay, self._database, game_id)
                    self._todo.append(again.game_id)


def left_to_play(database: Database, games: Iterable[Try]) -> list[int]:
    """Which `games` are still to be played, as ids in the order of the schedule. A void game whose replay was not
    scheduled before the run stopped gets it now."""
    left = []
    for game in games:
        if game.result is None:
            left.append(game.game_id)
        elif game.void and game.termination in REPLAYED and game.replay < MAX_REPLAYS:
            left.append(add_replay(database, game.game_id).game_id)
    return left
