"""What each event does to the record, and what it refuses."""

import pytest

from arena.errors import StoreError
from arena.events import AttemptRecord, DecisionRecord, EngineSampled, Event, RunEnded
from arena.store.models import EngineSampleRow
from arena.store.queries import game_detail
from arena.store.runs import add_replay, load_run
from inference.types import Decision, Option


@pytest.fixture
def one(scribe):
    return scribe()


def test_finished_game_holds_what_its_events_said(one):
    chose = DecisionRecord(options=(("e2…", 0.6), ("d2…", 0.4)), taken=1)
    started = one.started(1, white_template="hash-w", black_template="hash-b")
    ended = one.ended(1, "1-0", "time", detail="bob was too slow")
    first, second = (
        one.played(1, "e2e4", clock_ms=59_000.0, decisions=(chose,)),
        one.played(1, "e7e5", probability=None),
    )
    one.write(started, first, second, ended.model_copy(update={"plies": 2}))
    game = game_detail(one.db, 1)
    assert (game.status, game.result, game.termination, game.void, game.plies, game.detail) == (
        "finished",
        "1-0",
        "time",
        False,
        2,
        "bob was too slow",
    )
    assert (game.white_template, game.black_template, game.model_checksum) == ("hash-w", "hash-b", "abc123")
    assert (game.started_at, game.ended_at) == (started.at, ended.at)
    assert game.initial_fen == started.start_fen
    move, reply = game.moves
    assert (move.san, move.move, move.agent, move.side, move.clock_ms) == ("e4", "e2e4", "alice", "first", 59_000)
    assert (move.prompt_tokens, move.cached_tokens, move.forwarded_tokens, move.generated_tokens) == (40, 30, 14, 4)
    assert (move.queue_ms, move.prefill_ms, move.decode_ms, move.ttft_ms, move.total_ms) == (10, 110, 700, 120, 900)
    assert (move.batch_size, move.forward_passes, move.probability, move.fen) == (3, 5, 0.31, first.fen)
    assert [(attempt.number, attempt.text, attempt.seed) for attempt in move.attempts] == [(1, "e2e4", 5)]
    assert (move.decisions, reply.decisions) == ((Decision((Option("e2…", 0.6), Option("d2…", 0.4)), 1),), ())
    assert (reply.agent, reply.side, reply.probability, reply.played_at) == ("bob", "second", None, second.at)


def test_playing_game_is_not_finished(one):
    one.start(1, ["e2e4"])
    game = game_detail(one.db, 1)
    assert (game.status, game.result, game.ended_at) == ("playing", None, None)
    assert load_run(one.db).games[0].moves == ("e2e4",)


def test_same_ply_again_changes_nothing(one):
    one.start(1)
    move = one.played(1, "e2e4")
    one.write(move)
    before = game_detail(one.db, 1)
    one.write(move)
    assert game_detail(one.db, 1) == before


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"ply": 1, "move": "d2d4"}, "ply 1: e2e4 is recorded, d2d4 cannot replace it"),
        ({"ply": 3}, "ply 3 does not follow the recorded 1 plies"),
        ({"ply": 0}, "ply 0 does not follow"),
        ({"agent": "carol"}, "between alice and bob, not carol"),
        ({"game_id": 9}, "run 1 has no game 9"),
        ({"run_id": 2}, "run 2 has no game 1"),
    ],
)
def test_move_that_contradicts_the_record_is_refused(one, change, fault):
    one.start(1, ["e2e4"])
    move = one.played(1, "e7e5")
    before = game_detail(one.db, 1)
    with pytest.raises(StoreError, match=fault):
        one.write(move.model_copy(update=change))
    assert game_detail(one.db, 1) == before


def test_finished_game_takes_no_move_and_does_not_start_again(one):
    one.play_out(1, ["e2e4"], "1-0", "time")
    with pytest.raises(StoreError, match="finished: ply 2"):
        one.write(one.played(1, "e7e5"))
    with pytest.raises(StoreError, match="cannot start again"):
        one.write(one.started(1, moves=("e2e4",)))


def test_end_of_a_game_is_written_once(one):
    one.play_out(1, ["e2e4"], "1-0", "time")
    before = game_detail(one.db, 1)
    one.write(one.ended(1, "1-0", "time"))
    assert game_detail(one.db, 1) == before
    with pytest.raises(StoreError, match="ended 1-0 by time: it cannot end 0-1 by checkmate"):
        one.write(one.ended(1, "0-1", "checkmate"))


def test_end_must_agree_with_the_recorded_plies_and_itself(one):
    one.start(1, ["e2e4"])
    end = one.ended(1, "1-0", "time")
    with pytest.raises(StoreError, match="after 2 plies, but 1 are recorded"):
        one.write(end.model_copy(update={"plies": 2}))
    with pytest.raises(StoreError, match="do not agree"):
        one.write(end.model_copy(update={"void": True}))
    with pytest.raises(StoreError, match="do not agree"):
        one.write(end.model_copy(update={"result": "*"}))
    assert game_detail(one.db, 1).status == "playing"


def test_failed_attempts_stay_where_no_move_came(one):
    one.start(1, ["e2e4"])
    one.write(
        one.failed(1, text="Ke9", failure="unparsable", detail="not a move"),
        one.failed(1, text="e2e4", failure="illegal"),
        one.ended(1, "1-0", "forfeit-illegal"),
    )
    attempts = game_detail(one.db, 1).open_attempts
    assert [(attempt.number, attempt.text, attempt.failure) for attempt in attempts] == [
        (1, "Ke9", "unparsable"),
        (2, "e2e4", "illegal"),
    ]


def test_move_replaces_the_attempts_reported_on_the_way(one):
    one.start(1)
    failed = {"text": "Ke9", "failure": "unparsable"}
    late = one.failed(1, **failed)
    one.write(late)
    move = one.played(1, "e2e4", attempts=(AttemptRecord(**failed), AttemptRecord(text="e2e4")))
    one.write(move, late)  # a report that arrives after the move adds nothing
    game = game_detail(one.db, 1)
    assert [(attempt.number, attempt.text, attempt.failure) for attempt in game.moves[0].attempts] == [
        (1, "Ke9", "unparsable"),
        (2, "e2e4", None),
    ]
    assert game.open_attempts == ()


def test_interrupted_ply_is_asked_again_from_its_first_try(one):
    one.start(1, ["e2e4"])
    one.write(one.failed(1, text="x", failure="unparsable"))
    begun = game_detail(one.db, 1).started_at
    one.write(one.started(1, moves=("e2e4",)))
    game = game_detail(one.db, 1)
    assert (game.open_attempts, len(game.moves), len(game.moves[0].attempts)) == ((), 1, 1)
    assert game.started_at == begun


def test_game_cannot_go_on_from_other_moves_than_recorded(one):
    one.start(1, ["e2e4"])
    for moves in ((), ("d2d4",), ("e2e4", "e7e5")):
        with pytest.raises(StoreError, match="1 recorded plies"):
            one.write(one.started(1, moves=moves))


def test_same_line_is_marked_whatever_the_order_of_the_ends(scribe):
    scribe = scribe(games=4)
    scribe.play_out(3, ["e2e4"], "1-0", "time")
    scribe.play_out(2, ["e2e4"], "1/2-1/2", "agreement")
    assert [game_detail(scribe.db, number).duplicate_of for number in (2, 3)] == [None, 2]
    scribe.play_out(1, ["e2e4"], "1-0", "time")
    scribe.play_out(4, ["d2d4"], "1-0", "time")
    assert [game_detail(scribe.db, number).duplicate_of for number in (1, 2, 3, 4)] == [None, 1, 1, None]


def test_other_position_other_run_and_void_games_are_no_duplicates(scribe):
    first, second = scribe(games=4), scribe()
    other_start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1"
    first.play_out(1, ["e2e4"], "*", "crash", void=True)
    first.play_out(2, ["e2e4"], "1-0", "time")
    first.start(3, ["e2e4"], fen=other_start)
    first.write(first.ended(3, "1-0", "time"))
    first.play_out(4, ["e2e4"], "*", "infrastructure", void=True)
    second.play_out(5, ["e2e4"], "1-0", "time")
    assert [game_detail(first.db, number).duplicate_of for number in range(1, 6)] == [None] * 5


def test_engine_samples_and_the_end_of_the_run_are_kept(one):
    sample = EngineSampled(run_id=1, figures={"running": 3.0, "hit_rate": 0.5})
    end = RunEnded(run_id=1, status="failed", detail="disk on fire")
    one.write(sample, end)
    with one.db.reading() as session:
        row = session.get(EngineSampleRow, 1)
        assert (row.run_id, row.at, row.figures) == (1, sample.at, {"running": 3.0, "hit_rate": 0.5})
    assert load_run(one.db, 1).status == "failed"
    with pytest.raises(StoreError, match="no run 2"):
        one.write(RunEnded(run_id=2, status="finished"))


def test_event_that_no_table_takes_is_refused(one):
    with pytest.raises(StoreError, match="no table takes a Event"):
        one.write(Event(run_id=1))


def test_replay_has_moves_of_its_own(one):
    one.play_out(1, ["e2e4"], "*", "crash", void=True)
    replay = add_replay(one.db, 1)
    one.run = load_run(one.db, 1)
    one.play_out(replay.game_id, ["e2e4", "e7e5"], "1-0", "time")
    games = load_run(one.db, 1).games
    assert [(game.moves, game.void) for game in games] == [(("e2e4",), True), (("e2e4", "e7e5"), False)]
