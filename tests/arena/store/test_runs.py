from dataclasses import replace

import pytest

from arena.errors import StoreError, UsageError
from arena.events import RunEnded
from arena.store.names import run_name
from arena.store.records import NewAgent, NewGame
from arena.store.runs import add_replay, create_run, load_run, reopen_run


def test_run_comes_back_as_it_was_started(database, new_run):
    new = new_run(games=4, name="first-try")
    created = create_run(database, new)
    assert created.status == "running"
    assert created.new == new
    assert [game.new for game in created.games] == list(new.games)
    assert [(game.result, game.termination, game.void, game.moves) for game in created.games] == [
        (None, None, False, ())
    ] * 4
    assert load_run(database, "first-try") == created


def test_run_without_a_name_gets_one_that_ends_in_its_id(database, new_run):
    runs = [create_run(database, new_run()) for _ in range(3)]
    assert [run.name for run in runs] == [run_name(run.run_id) for run in runs]
    assert all(run.name.endswith(f"-{run.run_id}") for run in runs)
    assert load_run(database, runs[1].name) == runs[1] == load_run(database, runs[1].run_id)
    assert load_run(database, str(runs[1].run_id)) == runs[1]


def test_schedule_comes_back_with_positions_and_openings(database, new_run):
    game = NewGame(0, "alice", "bob", "chess", 2**63 - 1, 50, "rules", 3, "Sicilian", "8/8/8/8/8/8/8/K1k5 w - - 0 1")
    run = create_run(database, replace(new_run(), games=(game,)))
    assert load_run(database, run.run_id).games[0].new == game


def test_newest_unfinished_run_is_the_default(scribe):
    old, newer, newest = scribe(), scribe(), scribe()
    newest.write(RunEnded(run_id=newest.run.run_id, status="finished"))
    newer.write(RunEnded(run_id=newer.run.run_id, status="interrupted", detail="Ctrl-C"))
    found = load_run(old.db)
    assert (found.run_id, found.status) == (newer.run.run_id, "interrupted")
    reopen_run(old.db, newer.run.run_id)
    assert load_run(old.db).status == "running"


def test_no_unfinished_run_is_a_usage_error(database):
    with pytest.raises(UsageError, match="no unfinished run"):
        load_run(database)


def test_unknown_run_names_those_that_exist(scribe):
    scribe = scribe()
    for unknown in ("nobody", "99", 99, "9" * 30):
        with pytest.raises(UsageError, match=f"no run {unknown}; .*{scribe.run.name}"):
            load_run(scribe.db, unknown)


@pytest.mark.parametrize("name", ["12", "", "two words", "-dash", "x" * 65, "new\nline"])
def test_name_that_could_be_mistaken_is_refused(database, new_run, name):
    with pytest.raises(UsageError, match="cannot be named"):
        create_run(database, new_run(name=name))


def test_taken_name_is_refused_and_leaves_nothing(database, new_run):
    create_run(database, new_run(name="mine"))
    with pytest.raises(UsageError, match="mine already"):
        create_run(database, new_run(name="mine"))
    assert create_run(database, new_run()).run_id == 2


def test_inconsistent_runs_are_refused(database, new_run):
    with pytest.raises(UsageError, match="64-bit"):
        create_run(database, new_run(seed=2**63))
    with pytest.raises(UsageError, match="different names"):
        create_run(database, new_run(agents=(NewAgent("alice", "llm"), NewAgent("alice", "llm"))))
    with pytest.raises(UsageError, match="scheduled for bob"):
        create_run(database, new_run(agents=(NewAgent("alice", "llm"),)))


def test_replay_is_the_same_game_once_more(scribe):
    scribe = scribe(games=2)
    first = scribe.run.games[0]
    scribe.play_out(first.game_id, ("e2e4",), "*", "crash", void=True)
    replay = add_replay(scribe.db, first.game_id)
    assert replay.new.replay == 1
    assert (replay.new.index, replay.new.seed, replay.new.white) == (0, first.new.seed, first.new.white)
    assert (replay.result, replay.moves) == (None, ())
    after = load_run(scribe.db, scribe.run.run_id)
    assert [(game.new.index, game.new.replay, game.void) for game in after.games] == [
        (0, 0, True),
        (0, 1, False),
        (1, 0, False),
    ]
    assert after.new == scribe.run.new  # the schedule has no replays
    with pytest.raises(StoreError, match=f"its replay already, game {replay.game_id}"):
        add_replay(scribe.db, first.game_id)
    assert add_replay(scribe.db, replay.game_id).new.replay == 2


def test_unknown_game_has_no_replay(database):
    with pytest.raises(UsageError, match="no game 5"):
        add_replay(database, 5)
