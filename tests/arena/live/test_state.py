"""From events to what is shown."""

from __future__ import annotations

from arena.live.state import RunState


def test_a_run_begins_with_what_its_record_says(stage):
    view = stage(games=5, results={0: "1-0", 1: "*"}).reader.view()
    assert (view.name, view.seed, view.model, view.games, view.done, view.void) == (
        "calm-rook-12",
        7,
        "smollm2-135m",
        5,
        1,
        1,
    )


def test_a_move_changes_its_game_only(stage):
    run = stage()
    run.start(1)
    run.start(2)
    run.move(1, "e2e4")
    first, second = run.reader.view().slots
    assert (first.ply, first.last_san, first.last_move, first.to_move) == (1, "e4", "e2e4", "second")
    assert first.fen == run.positions[1].fen
    assert (second.ply, second.last_san, second.to_move) == (0, None, "first")
    assert run.reader.view().moves == 1


def test_a_game_that_goes_on_shows_the_moves_it_had(stage):
    run = stage()
    run.start(1, "e2e4 e7e5 g1f3")
    (game,) = run.reader.view().slots
    assert (game.ply, game.last_san, game.to_move, game.fen) == (3, "Nf3", "second", run.positions[1].fen)


def test_an_end_is_counted_and_a_void_one_apart(stage):
    run = stage()
    for game_id in (1, 2, 3):
        run.start(game_id)
    run.end(1, "0-1", "time")
    run.end(2, "*", "crash", void=True)
    view = run.reader.view()
    assert (view.done, view.void, view.playing) == (1, 1, 1)
    assert [game.result for game in view.slots] == ["0-1", "*", None]
    assert view.slots[0].termination == "time"


def test_a_new_game_takes_the_place_of_a_finished_one_and_the_others_stay(stage):
    run = stage()
    for game_id in (1, 2, 3):
        run.start(game_id)
    run.end(2)
    run.start(4)
    assert [game.game_id for game in run.reader.view().slots] == [1, 4, 3]


def test_figures_and_notices_are_the_last_ones(stage):
    run = stage()
    run.sample(running=1)
    run.sample(running=5)
    run.reader.notify("one")
    run.reader.notify("two")
    view = run.reader.view()
    assert (view.figures["running"], view.notice) == (5, "two")
    assert list(run.reader.notices) == ["one", "two"]


def test_the_time_shown_is_that_since_the_run_began(stage):
    now = [100.0]
    reader = RunState(clock=lambda: now[0])
    now[0] = 110.0
    stage(reader=reader)
    now[0] = 113.0
    assert reader.view().seconds == 3.0


def test_what_was_seen_does_not_change_afterwards(stage):
    run = stage()
    run.start(1)
    before = run.reader.view()
    run.move(1, "e2e4")
    assert before.slots[0].ply == 0
