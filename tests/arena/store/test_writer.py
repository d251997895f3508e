"""The recorder: what `record` promises, and that it keeps the promise when the process is killed."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading

import pytest

from arena.errors import StoreError
from arena.events import AttemptRecord, EngineSampled, RunEnded
from arena.store import sqlite
from arena.store.database import Database
from arena.store.models import EngineSampleRow
from arena.store.queries import game_detail
from arena.store.runs import create_run, load_run
from arena.store.writer import Recorder

SHUFFLE = ("g1f3", "g8f6", "f3g1", "f6g8")

CHILD = """
# Plays game after game of a run without end, printing what `record` has confirmed and what it is about to end. With a
# third argument it goes no further than so many lines, and waits to be killed.
import asyncio, sys, time
from arena.events import AttemptRecord, GameEnded, GameStarted, MovePlayed
from arena.store.database import Database
from arena.store.runs import create_run, load_run
from arena.store.writer import Recorder

SHUFFLE = ("g1f3", "g8f6", "f3g1", "f6g8")
lines_left = int(sys.argv[3]) if len(sys.argv) > 3 else None

def say(*words):
    global lines_left
    if lines_left is not None:
        if lines_left == 0:
            time.sleep(600)
        lines_left -= 1
    print(*words, flush=True)

async def play(recorder, run, game, plies):
    ids = {"run_id": run.run_id, "game_id": game.game_id}
    await recorder.record(GameStarted(**ids, game="chess", white=game.new.white, black=game.new.black,
                                      start_fen="start", moves=game.moves))
    for ply in range(len(game.moves) + 1, plies + 1):
        attempts = (AttemptRecord(text="no", failure="illegal"), AttemptRecord(text="yes " * 50))
        await recorder.record(MovePlayed(**ids, ply=ply, agent="alice", side="first", move=SHUFFLE[ply % 4],
                                         san="x", fen="y", policy="free", attempts=attempts))
        say("ply", game.game_id, ply)
    say("ending", game.game_id)
    await recorder.record(GameEnded(**ids, result="1/2-1/2", termination="ply-limit", plies=plies))
    say("ended", game.game_id)

async def main(path, run_id):
    with Database.open(path, create=False) as database:
        run = load_run(database, run_id)
        recorder = Recorder(database)
        games = [game for game in run.games if game.result is None]
        await asyncio.gather(*(play(recorder, run, game, 40 * (1 + game.new.index)) for game in games))
        await recorder.close()

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def start_child(code, *args):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def kill_after(child, lines):
    """Kill -9 once the child has printed `lines` lines; everything it ever printed."""
    said = [child.stdout.readline() for _ in range(lines)]
    child.kill()
    rest = child.stdout.read()  # not communicate, which would pass over what readline has read ahead
    assert child.stderr.read() == ""
    child.wait()
    *whole, _ = ("".join(said) + rest).split("\n")
    return [line.split() for line in whole]


def wal_size(db_path):
    return os.path.getsize(f"{db_path}-wal")


@pytest.fixture
async def recorder(database):
    recorder = Recorder(database)
    yield recorder
    await recorder.close()


async def test_recorded_event_is_visible_to_another_connection_at_once(scribe, recorder, db_path):
    scribe = scribe()
    await recorder.record(scribe.started(1))
    with sqlite3.connect(db_path) as other:
        for ply, move in enumerate(SHUFFLE, start=1):
            await recorder.record(scribe.played(1, move))
            assert other.execute("SELECT plies FROM games").fetchone() == (ply,)
            assert other.execute("SELECT count(*) FROM moves").fetchone() == (ply,)


async def test_sixteen_tasks_record_at_once(scribe, recorder):
    scribe = scribe(games=16)

    async def play(game_id):
        await recorder.record(scribe.started(game_id))
        for move in SHUFFLE * 5:
            await recorder.record(scribe.played(game_id, move))
        await recorder.record(scribe.ended(game_id, "1/2-1/2", "threefold-repetition"))

    await asyncio.gather(*(play(game.game_id) for game in scribe.run.games))
    after = load_run(scribe.db, scribe.run.run_id)
    assert [(game.result, game.moves) for game in after.games] == [("1/2-1/2", SHUFFLE * 5)] * 16


async def test_events_that_wait_together_share_a_commit(scribe, database, monkeypatch):
    scribe = scribe(games=16)
    commits = []
    writing = database.writing
    monkeypatch.setattr(database, "writing", lambda: commits.append(1) or writing())
    holder = sqlite3.connect(scribe.db.name, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")  # the first commit has to wait; the others gather behind it
    recorder = Recorder(database)
    calls = [asyncio.create_task(recorder.record(scribe.started(game.game_id))) for game in scribe.run.games]
    await asyncio.sleep(0.2)
    assert not any(call.done() for call in calls)
    holder.execute("COMMIT")
    await asyncio.gather(*calls)
    await recorder.close()
    assert 1 <= len(commits) <= 3


def test_recorder_serves_one_event_loop_after_another(scribe):
    scribe = scribe()
    recorder = Recorder(scribe.db)
    asyncio.run(recorder.record(scribe.started(1)))
    asyncio.run(recorder.record(scribe.played(1, "e2e4")))
    asyncio.run(recorder.close())
    assert load_run(scribe.db).games[0].moves == ("e2e4",)


async def test_cancelled_call_does_not_take_the_event_back(scribe, database):
    scribe = scribe()
    recorder = Recorder(database)
    await recorder.record(scribe.started(1))
    call = asyncio.create_task(recorder.record(scribe.played(1, "e2e4")))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await recorder.record(scribe.played(1, "e7e5"))
    await recorder.close()
    assert load_run(database).games[0].moves == ("e2e4", "e7e5")


async def test_close_writes_what_was_offered_empties_the_log_and_leaves_no_thread(scribe, database, db_path):
    run_id = scribe().run.run_id
    recorder = Recorder(database)
    for number in range(20):
        recorder.offer(EngineSampled(run_id=run_id, figures={"steps": float(number)}))
    await recorder.close()
    await recorder.close()
    with database.reading() as session:
        assert [session.get(EngineSampleRow, number + 1).figures["steps"] for number in range(20)] == [*range(20)]
    assert wal_size(db_path) == 0
    assert not any(thread.name == "arena-recorder" for thread in threading.enumerate())
    late = EngineSampled(run_id=run_id, figures={})
    with pytest.raises(StoreError, match="closed"):
        recorder.offer(late)
    with pytest.raises(StoreError, match="closed"):
        await recorder.record(late)


async def test_write_ahead_log_stays_bounded(scribe, recorder, db_path):
    scribe = scribe()
    await recorder.record(scribe.started(1))
    largest = 0
    for index in range(400):
        attempts = (AttemptRecord(text="x" * 60_000),)
        await recorder.record(scribe.played(1, SHUFFLE[index % 4], attempts=attempts))
        largest = max(largest, wal_size(db_path))
    assert db_path.stat().st_size > 400 * 50_000
    assert largest <= sqlite.WAL_LIMIT_BYTES


async def test_failure_reaches_its_caller_and_everybody_after(scribe, database):
    scribe = scribe()
    recorder = Recorder(database)
    await recorder.record(scribe.started(1))
    await recorder.record(scribe.played(1, "e2e4"))
    with pytest.raises(StoreError, match="game 1: ply 5 does not follow"):
        await recorder.record(scribe.played(1, "e7e5").model_copy(update={"ply": 5}))
    with pytest.raises(StoreError, match="game 1: ply 5 does not follow"):
        await recorder.record(RunEnded(run_id=1, status="finished"))
    with pytest.raises(StoreError, match="game 1: ply 5 does not follow"):
        recorder.offer(EngineSampled(run_id=1, figures={}))
    await recorder.close()
    after = load_run(database)
    assert (after.status, after.games[0].moves) == ("running", ("e2e4",))


async def test_failure_of_an_offered_event_is_told_at_the_latest_by_close(scribe, database):
    scribe()
    recorder = Recorder(database)
    recorder.offer(EngineSampled(run_id=77, figures={}))
    with pytest.raises(StoreError, match="FOREIGN KEY"):
        await recorder.close()
    await recorder.close()


async def test_locked_database_stops_with_an_error_and_keeps_what_is_committed(monkeypatch, db_path, new_run):
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_S", 0.1)
    with Database.open(db_path, create=True) as database:
        run = create_run(database, new_run())
        recorder = Recorder(database)
        await recorder.record(RunEnded(run_id=run.run_id, status="interrupted"))
        holder = sqlite3.connect(db_path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked"):
            await recorder.record(RunEnded(run_id=run.run_id, status="finished"))
        holder.close()
        with pytest.raises(StoreError, match="locked"):
            await recorder.record(RunEnded(run_id=run.run_id, status="finished"))
        await recorder.close()
        assert load_run(database).status == "interrupted"


FULL_DISK = CHILD.replace(
    "asyncio.run(main(",
    """
import resource
from arena.errors import StoreError
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
try:
  asyncio.run(main(""",
).replace("int(sys.argv[2])))", "int(sys.argv[2])))\nexcept StoreError as error:\n  print('error', error)")


def test_full_disk_stops_with_an_error_and_loses_nothing_committed(database, db_path, new_run):
    run = create_run(database, new_run(games=4))
    out, errors = start_child(FULL_DISK, db_path, run.run_id).communicate(timeout=240)
    assert errors == ""
    *said, error = out.splitlines()
    assert error.startswith(f"error database {db_path}: ")
    check_against(load_run(database, run.run_id), [line.split() for line in said])
    assert len(said) > 20


def check_against(run, said):
    """Every confirmed ply is there and in order, and no game is finished that was not about to be."""
    confirmed = {game.game_id: 0 for game in run.games}
    for line in said:
        if line[0] == "ply":
            confirmed[int(line[1])] = int(line[2])
    for game in run.games:
        assert len(game.moves) >= confirmed[game.game_id]
        assert game.moves == tuple(SHUFFLE[ply % 4] for ply in range(1, len(game.moves) + 1))
    finished = {game.game_id for game in run.games if game.result is not None}
    assert {int(line[1]) for line in said if line[0] == "ended"} <= finished
    assert finished <= {int(line[1]) for line in said if line[0] == "ending"}


def test_killed_process_loses_no_confirmed_ply_and_finishes_no_game(database, db_path, new_run):
    run = create_run(database, new_run(games=6))
    said = []
    for _ in range(2):  # the second goes on from where the first was killed
        said += kill_after(start_child(CHILD, db_path, run.run_id, 180), lines=150)
        assert wal_size(db_path) <= sqlite.WAL_LIMIT_BYTES
        after = load_run(database, run.run_id)
        check_against(after, said)
        assert after.status == "running"
        for game in after.games:
            detail = game_detail(database, game.game_id)
            assert [move.ply for move in detail.moves] == [*range(1, detail.plies + 1)]
            assert all(len(move.attempts) == 2 for move in detail.moves)
    finished = [game for game in after.games if game.result is not None]
    assert 0 < len(finished) < 6
    with sqlite3.connect(db_path) as other:
        assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_two_processes_write_one_file(database, db_path, new_run):
    runs = [create_run(database, new_run(games=3)) for _ in range(2)]
    children = [start_child(CHILD, db_path, run.run_id) for run in runs]
    for child in children:
        assert child.communicate(timeout=240)[1] == ""
        assert child.returncode == 0
    for run in runs:
        after = load_run(database, run.run_id)
        assert [(game.result, len(game.moves)) for game in after.games] == [
            ("1/2-1/2", 40),
            ("1/2-1/2", 80),
            ("1/2-1/2", 120),
        ]
