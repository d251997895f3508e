"""What there is to see of a game; the golden files hold it whole for chosen plies.

`GOLDEN=write python -m pytest tests/arena/replay/test_viewmodel.py` writes them anew: look at the difference.
"""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import pytest

from arena.errors import StoreError
from arena.replay.viewmodel import replay_json, replay_of

GOLDEN = Path(__file__).parents[2] / "golden" / "replay"
SHUFFLE = ("Nf3", "Nf6", "Ng1", "Ng8")
TO_AND_FRO = ("a1a2", "a10a9", "a2a1", "a9a10")


@pytest.fixture
def games(game, attempt, scholars_mate):
    """Name -> (what makes the game, plies to hold)."""
    illegal = attempt(1, "Ke9", "illegal", "'Ke9' is not legal")
    forfeit = {"result": "0-1", "termination": "forfeit-illegal", "detail": "alice answered 'Ke9'"}
    return {
        "chess-mate-after-retries": (lambda: scholars_mate, (0, 1, 3, 5, 7)),
        "chess-forfeit": (lambda: game(("e4", "e5"), open_attempts=(illegal,), **forfeit), (0, 2)),
        "chess-unfinished": (lambda: game(("d4",)), (1,)),
        "chess-400-plies": (lambda: game(SHUFFLE * 100, result="1/2-1/2", termination="ply-limit"), (0, 201, 400)),
        "janggi-points": (
            lambda: game(("a4b4", "a7b7", "e2e2"), "janggi", result="0-1", termination="ply-limit"),
            (0, 2, 3),
        ),
        "janggi-forfeit": (lambda: game((), "janggimodern", open_attempts=(illegal,), **forfeit), (0,)),
        "janggi-400-plies": (lambda: game(TO_AND_FRO * 100, "janggicasual"), (0, 399, 400)),
    }


NAMES = (
    "chess-mate-after-retries", "chess-forfeit", "chess-unfinished", "chess-400-plies", "janggi-points",
    "janggi-forfeit", "janggi-400-plies",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_golden_games_look_as_they_did(games, name):
    make, plies = games[name]
    shown = replay_json(replay_of(make()))
    shown["plies"] = [shown["plies"][ply] for ply in plies]
    text = json.dumps(shown, indent=1, ensure_ascii=False) + "\n"
    file = GOLDEN / f"{name}.json"
    if os.environ.get("GOLDEN") == "write":
        file.write_text(text, encoding="utf-8")
    assert json.loads(text) == json.loads(file.read_text("utf-8"))


def test_every_ply_is_there_in_order(games):
    replay = replay_of(games["chess-400-plies"][0]())
    assert [ply.ply for ply in replay.plies] == list(range(401))
    assert (replay.last, replay.live) == (400, False)


def test_clocks_stand_at_the_time_control_until_a_side_has_moved(scholars_mate):
    plies = replay_of(scholars_mate).plies
    assert [ply.clocks_ms for ply in plies[:3]] == [(60_000, 60_000), (60_500, 60_000), (60_500, 59_000)]


def test_latency_parts_add_up_to_the_total(scholars_mate):
    latency = replay_of(scholars_mate).plies[2].chosen.latency
    assert (latency.queue_ms, latency.prefill_ms, latency.decode_ms, latency.other_ms) == (10, 102, 200, 10)
    assert latency.total_ms == 322


def test_mate_marks_the_king(scholars_mate):
    last = replay_of(scholars_mate).plies[-1]
    assert (last.check, last.squares, last.move_words) == (
        "e8",
        ("h5", "f7"),
        "White moves queen h5 to f7, takes pawn, check",
    )
    assert last.words.endswith("Black to move, in check.")


def test_game_that_begins_with_black_is_numbered_from_its_position(game):
    replay = replay_of(game(("Ke7", "Kd2"), fen="4k3/8/8/8/8/8/8/4K2R b - - 0 30"))
    assert [ply.number for ply in replay.plies] == [None, "30…", "31."]


def test_imported_moves_have_no_costs(game):
    replay = replay_of(game(("e4",), of_move={1: {"policy": "imported"}}, source_tags={"Event": "Test"}))
    assert (replay.plies[1].chosen.latency, replay.plies[1].chosen.tokens) == (None, None)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"result": "1-0", "termination": "time"}, "White wins on time"),
        ({"result": "0-1", "termination": "forfeit-empty"}, "Black wins: White answered nothing"),
        ({"result": "1/2-1/2", "termination": "threefold-repetition"}, "Draw by threefold repetition"),
        ({"result": "*", "termination": "crash", "void": True}, "Void: an agent crashed"),
        ({"status": "scheduled", "plies": 0}, "Not started"),
        ({}, "Unfinished after 1 ply"),
    ],
)
def test_endings_in_words(game, fields, words):
    assert replay_of(game(("e4",), **fields)).ending == words


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ({"move": "e2e5"}, "'e2e5' is not legal"),
        ({"ply": 2}, "ply 1 is missing"),
    ],
)
def test_damaged_record_is_named(game, damage, words):
    whole = game(("e4",))
    damaged = dataclasses.replace(whole, moves=(dataclasses.replace(whole.moves[0], **damage),))
    with pytest.raises(StoreError, match=f"game 7 cannot be replayed from the record: .*{words}"):
        replay_of(damaged)


def test_rules_that_are_not_installed_are_named(game):
    with pytest.raises(StoreError, match="unknown game 'go'"):
        replay_of(dataclasses.replace(game(()), game="go"))
