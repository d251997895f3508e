import pytest

from arena.errors import UsageError
from arena.events import AttemptRecord, RunEnded
from arena.store.first_tries import FirstTries
from arena.store.queries import game_detail, list_games, list_runs, run_summary
from arena.store.records import NewAgent
from arena.store.summary import AgentResult, Percentiles


@pytest.fixture
def busy(scribe):
    """A run of six games, one of every kind, beside a run that has not started. Odd games: alice is White."""
    scribe = scribe(games=6, name="busy")
    scribe.play_out(1)  # bob mates
    scribe.play_out(2, ["e2e4"], "1-0", "forfeit-illegal")
    scribe.play_out(3, ["e2e4", "e7e5"], "1/2-1/2", "ply-limit")
    scribe.play_out(4, ["d2d4"], "*", "crash", void=True)
    scribe.start(5, ["e2e4", "e7e5", "g1f3"])
    return scribe


def ids(games):
    return [game.game_id for game in games]


def test_runs_are_listed_with_their_progress(busy, scribe):
    other = scribe()
    busy.write(RunEnded(run_id=1, status="interrupted", detail="Ctrl-C"))
    newest, oldest = list_runs(busy.db)
    assert (oldest.name, oldest.status, oldest.detail, oldest.games, oldest.finished) == (
        "busy",
        "interrupted",
        "Ctrl-C",
        6,
        4,
    )
    assert (newest.name, newest.games, newest.finished, newest.ended_at) == (other.run.name, 1, 0, None)


def test_games_are_listed_newest_first_and_filtered(busy, scribe):
    scribe()
    db = busy.db
    assert ids(list_games(db)) == [7, 6, 5, 4, 3, 2, 1]
    assert ids(list_games(db, limit=2)) == [7, 6]
    assert ids(list_games(db, run="busy")) == [6, 5, 4, 3, 2, 1] == ids(list_games(db, run=1))
    assert ids(list_games(db, termination="forfeit-illegal")) == [2]
    assert ids(list_games(db, result="*")) == [4]
    assert ids(list_games(db, agent="bob", result="0-1")) == [1]
    assert ids(list_games(db, run=2, result="0-1")) == []
    game = list_games(db, result="1-0")[0]
    assert (game.white, game.black, game.run, game.plies, game.index, game.pair, game.status) == (
        "bob",
        "alice",
        "busy",
        1,
        1,
        0,
        "finished",
    )


def test_unknown_filters_name_what_exists(busy):
    with pytest.raises(UsageError, match="no run nowhere; the latest are 1 \\(busy\\)"):
        list_games(busy.db, run="nowhere")
    with pytest.raises(UsageError, match="named carol; there are alice, bob"):
        list_games(busy.db, agent="carol")
    with pytest.raises(UsageError, match="no game 70; the record holds games 1 to 6"):
        game_detail(busy.db, 70)


def test_empty_record_says_so(database):
    with pytest.raises(UsageError, match="no game 1; the record holds none"):
        game_detail(database, 1)
    with pytest.raises(UsageError, match="no run 1; none is recorded"):
        run_summary(database, 1)


def test_scheduled_game_has_no_position_until_it_starts(busy):
    game = game_detail(busy.db, 6)
    assert (game.status, game.initial_fen, game.moves, game.white_spec, game.black_spec) == (
        "scheduled",
        None,
        (),
        "random",
        "llm",
    )


def test_summary_counts_results_by_agent(busy):
    summary = run_summary(busy.db, "busy")
    assert summary.agents == (
        AgentResult("alice", games=3, wins=0, draws=1, losses=2, forfeits=1, void=1, unfinished=2),
        AgentResult("bob", games=3, wins=2, draws=1, losses=0, forfeits=0, void=1, unfinished=2),
    )
    assert (summary.run_id, summary.name, summary.status) == (1, "busy", "running")


def test_the_first_try_counts_whatever_the_next_ones_repair(scribe):
    free = NewAgent("bob", "llm", {"legality": "retry:3"})
    scribe = scribe(agents=(NewAgent("alice", "random"), free))
    scribe.start(1)
    scribe.write(scribe.played(1, "e2e4"))
    tries = (AttemptRecord(text="Ke2", failure="illegal"), AttemptRecord(text="e7e5"))
    scribe.write(scribe.played(1, "e7e5", policy="retry:3", attempts=tries))
    scribe.write(scribe.played(1, "g1f3"), scribe.played(1, "b8c6", policy="retry:3"), scribe.played(1, "f1b5"))
    scribe.write(scribe.failed(1, text="", failure="empty"), scribe.failed(1, text="", failure="empty"))
    alice, bob = run_summary(scribe.db, 1).agents
    assert alice.first_tries is None
    assert bob.first_tries == FirstTries(answers=3, legal=1)


def test_time_and_crashes_are_no_question_of_legality():
    assert FirstTries.of([None, "timeout", "crash", "cancelled", "illegal"]) == FirstTries(answers=2, legal=1)


def test_summary_adds_tokens_and_ranks_latency(scribe):
    scribe = scribe()
    scribe.start(1)
    for index, move in enumerate(("e2e4", "e7e5", "g1f3", "g8f6"), start=1):
        model = index != 4  # the last move costs no tokens, as a random agent's
        scribe.write(
            scribe.played(
                1,
                move,
                queue_ms=float(index),
                ttft_ms=10.0 * index,
                total_ms=100.0 * index,
                prompt_tokens=40 * model,
                cached_tokens=30 * model,
            )
        )
    summary = run_summary(scribe.db, 1)
    assert (summary.moves, summary.prompt_tokens, summary.cached_tokens) == (4, 120, 90)
    assert (summary.forwarded_tokens, summary.generated_tokens, summary.hit_rate) == (56, 16, 0.75)
    assert summary.queue == Percentiles(3, 2.0, 3.0, 3.0)
    assert summary.ttft == Percentiles(3, 20.0, 30.0, 30.0)
    assert summary.total == Percentiles(4, 200.0, 400.0, 400.0)


def test_summary_of_a_run_without_moves(scribe):
    summary = run_summary(scribe().db, 1)
    assert (summary.moves, summary.hit_rate, summary.queue, summary.ttft, summary.total) == (0, 0.0, None, None, None)


def test_percentiles_are_by_nearest_rank():
    assert Percentiles.of([float(value) for value in range(100, 0, -1)]) == Percentiles(100, 50.0, 95.0, 99.0)
    assert Percentiles.of([7.0]) == Percentiles(1, 7.0, 7.0, 7.0)
    assert Percentiles.of([1.0, 2.0, 3.0, 4.0]) == Percentiles(4, 2.0, 4.0, 4.0)
