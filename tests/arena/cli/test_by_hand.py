"""`arena play` with a person in it, and with clocks."""

from __future__ import annotations

import io
import signal
from functools import partial

import chess.pgn
import pytest


@pytest.fixture
def by_hand(arena_process):
    """Starts `arena play ARGS`."""
    return partial(arena_process, "play")


def test_a_person_plays_leaves_and_goes_on(by_hand, arena, recorded):
    out, err = by_hand(
        "--white", "human?name=Ada", "--black", "random", "--seed", "7", "--time-control", "60+1"
    ).communicate("undo\ne4\n", timeout=120)
    assert "There is no undo" in err
    assert "Ada (White), move 2: " in err
    assert "Ada has left; finished moves are kept." in err
    assert "arena play --resume" in out
    (game,) = recorded(1).games
    assert (game.moves[0], len(game.moves), game.result) == ("e2e4", 2, None)
    left = game.clock_ms

    process = by_hand("--resume")
    out, err = process.communicate("resign\n", timeout=120)
    assert process.returncode == 0
    assert "game 1: Ada 0-1 random-1, resignation, 2 plies" in out
    (game,) = recorded(1).games
    assert (game.result, game.clock_ms) == ("0-1", left)

    _, text, _ = arena("export", "--pgn", "1")
    pgn = chess.pgn.read_game(io.StringIO(text))
    assert (pgn.headers["TimeControl"], pgn.headers["WhiteType"], pgn.headers["BlackType"]) == (
        "60+1",
        "human",
        "program",
    )
    assert pgn.next().clock() == pytest.approx(left["first"] / 1000, abs=0.001)


def test_one_interrupt_is_enough_while_a_person_thinks(by_hand, recorded):
    process = by_hand("--han", "human", "--cho", "random", "--game", "janggi")
    shown = ""
    while not shown.endswith("move 1: "):
        mark = process.stderr.read(1)
        assert mark, f"it ended after {shown!r}"
        shown += mark
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130
    run = recorded(1)
    assert (run.status, [len(game.moves) for game in run.games]) == ("interrupted", [1])
