"""Boards from updates that come twice, late, out of order, or not at all."""

from __future__ import annotations

import random

import pytest

from arena.events import now
from arena.live.boards import MAX_ENDED_SLOTS, Boards, Gone
from arena.mqtt.messages import GameState, Move, RunStatus
from games import get_game

LINE = ("e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6")


def status(run="r", session=1, **fields):
    return RunStatus(session=session, run=run, at=now(), **{"status": "running", "games": 2, **fields})


def state(ply=0, game_id=1, session=1, run="r", **fields):
    position = get_game("chess").position(None, LINE[:ply])
    return GameState(
        session=session, run=run, at=now(), game_id=game_id, game="chess", white="a", black="b",
        ply=ply, fen=position.fen, to_move=position.side_to_move, **fields,
    )  # fmt: skip


def move(ply, game_id=1, session=1, run="r"):
    before = get_game("chess").position(None, LINE[: ply - 1])
    played = LINE[ply - 1]
    return Move(
        session=session, run=run, at=now(), game_id=game_id, game="chess", ply=ply, side=before.side_to_move,
        agent="a", move=played, san=before.san(played), fen=before.play(played).fen,
    )  # fmt: skip


@pytest.fixture
def boards():
    return Boards(clock=lambda: 0.0)


def test_moves_bring_a_board_forward(boards):
    assert [boards.take(update) for update in (status(), state(), move(1), move(2))] == [True] * 4
    game = boards.game("r", 1)
    assert (game.ply, game.last_san, game.to_move, game.fen) == (2, "e5", "first", state(2).fen)
    assert boards.view().moves == 2


def test_a_ply_is_news_once(boards):
    boards.take(state())
    assert [boards.take(move(ply)) for ply in (1, 1, 2, 1, 2)] == [True, False, True, False, False]
    assert not boards.take(state(2))
    assert not boards.take(state(1))
    assert boards.duplicates == 3


def test_a_move_that_never_came_is_counted_and_the_board_is_right(boards):
    boards.take(state())
    boards.take(move(1))
    assert boards.take(move(4))
    assert boards.game("r", 1).fen == state(4).fen
    assert boards.take(state(6))
    assert (boards.game("r", 1).ply, boards.missed) == (6, 4)


def test_a_move_of_a_game_that_is_not_known_waits_for_the_state(boards):
    assert not boards.take(move(3))
    assert boards.take(state(3))
    assert boards.take(move(4))


def test_whatever_the_order_the_ply_only_grows(boards):
    dice = random.Random(1)
    updates = [state(ply) for ply in range(7)] + [move(ply) for ply in range(1, 7)]
    for _ in range(20):
        boards = Boards()
        seen = [boards.game("r", 1).ply for update in dice.choices(updates, k=30) if boards.take(update)]
        assert seen == sorted(set(seen))


def test_a_later_session_replaces_an_earlier_one(boards):
    for update in (status(), state(5, result="1-0"), state(2, session=2)):
        assert boards.take(update)
    assert (boards.game("r", 1).ply, boards.game("r", 1).result) == (2, None)
    assert not boards.take(state(6))
    assert not boards.take(move(3))
    assert boards.take(move(3, session=2))


def test_a_run_whose_publisher_is_lost_is_told_and_gives_its_places_away(boards):
    for update in (status(), state(3), status(status="lost"), status("q"), state(run="q")):
        boards.take(update)
    assert "r: its publisher has gone" in boards.view().notice
    assert [game.ply for game in boards.view().slots] == [0]
    assert not boards.all_ended
    boards.take(status("q", status="finished"))
    assert boards.all_ended


def test_games_that_had_ended_before_take_few_places_and_make_room(boards):
    boards.take(status())
    for game_id in range(50):
        boards.take(state(6, game_id=game_id, result="1-0"))
    assert len(boards.view().slots) == MAX_ENDED_SLOTS
    boards.take(state(0, game_id=99))
    assert boards.view().slots[0].game_id == 99
    assert len(boards.view().slots) == MAX_ENDED_SLOTS


def test_runs_are_added_up(boards):
    boards.take(status("r", seed=7, done=1, void=2))
    assert (boards.view().name, boards.view().seed) == ("r", 7)
    boards.take(status("q", seed=8, done=1))
    view = boards.view()
    assert (view.name, view.seed, view.games, view.done, view.void) == ("2 runs", None, 4, 2, 2)


def test_what_was_removed_is_forgotten(boards):
    for update in (status(), state(), state(game_id=2), Gone("r", 1)):
        assert boards.take(update)
    assert [game.game_id for game in boards.view().slots] == [2]
    assert boards.take(Gone("r"))
    assert not boards.take(Gone("r"))
    assert boards.view().slots == ()
    assert not boards.all_ended
