"""Korean notation, both ways."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from games import get_game
from games.base import IllegalMoveError
from games.janggi.korean import korean

START = get_game("janggi").position()
ALPHABET = "0123456789장將궁宮왕王초楚한漢사士차車포包마馬상象졸卒병兵군수쉼 ab."


def position(moves="", fen=None):
    return get_game("janggi").position(fen, moves.split())


def random_moves(games, plies, seed):
    """Positions of random games, each with some of its moves."""
    source = random.Random(seed)
    for _ in range(games):
        at = START
        for _ in range(plies):
            if at.outcome() is not None:
                break
            moves = source.sample(at.legal_moves(), min(4, len(at.legal_moves())))
            yield at, moves
            at = at.play(moves[0])


@pytest.mark.parametrize(
    ("moves", "move", "text"),
    [
        ("", "a4b4", "71졸72"),
        ("", "e2e2", "한수쉼"),
        ("a4b4", "i7h7", "49병48"),
        ("a4b4", "e9e9", "한수쉼"),
        ("", "e2d2", "95장94"),
        ("", "h1g3", "08마87"),
        ("a4b4 a7b7", "a1a10", "01차11차"),
    ],
)
def test_moves_are_written_in_digits_and_hangul(moves, move, text):
    before = position(moves)
    assert korean(before, move) == text
    assert before.parse(text) == move


def test_a_capture_names_the_piece_and_a_check_is_said():
    before = position(fen="3k5/9/9/9/8n/9/9/9/9/4K3R w - - 0 1")
    assert korean(before, "i1i6") == "09차59마"
    before = position(fen="3k4r/9/9/9/9/9/9/9/9/4K3R w - - 0 1")
    assert korean(before, "i1i10") == "09차19차장군"


def test_moves_come_back_from_every_notation():
    seen = set()
    for at, moves in random_moves(games=3, plies=60, seed=5):
        for move in moves:
            text = korean(at, move)
            assert at.parse(text) == at.parse(at.san(move)) == at.parse(move) == move
            seen.update(mark for mark in ("장군", "한수쉼") if mark in text)
    assert seen == {"장군", "한수쉼"}


@pytest.mark.parametrize("text", ["71卒72", "71초졸72", "71楚卒72", "95초94", "95楚94", "95궁94", "95王94"])
def test_hanja_other_names_and_the_side_are_read(text):
    assert START.parse(text) in START.legal_moves()


def test_what_is_left_out_may_be_left_out():
    before = position(fen="3k4r/9/9/9/9/9/9/9/9/4K3R w - - 0 1")
    assert before.parse("09차19") == before.parse("09차19차") == before.parse("09차19장군") == "i1i10"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("71병72", "there is 졸 on 71, not 병"),
        ("71차72", "there is 졸 on 71, not 차"),
        ("71漢卒72", r"Cho \(楚\) is to move"),
        ("71졸72병", "there is nothing on 72, not 병"),
        ("71졸72장군", "gives no check"),
        ("71졸73", r"\(a4c4\) is not legal"),
        ("49병48", r"\(i7h7\) is not legal"),
        ("95장95", r"\(e2e2\) is not legal"),
    ],
)
def test_what_is_not_true_of_the_board_is_illegal(text, why):
    with pytest.raises(IllegalMoveError, match=why):
        START.parse(text)


def test_a_pass_in_check_is_illegal():
    with pytest.raises(IllegalMoveError, match="a pass is not legal"):
        position(fen="3k4R/9/9/9/9/9/9/9/9/4K4 b - - 0 1").parse("한수쉼")


@pytest.mark.parametrize(
    "text", ["", "71", "71졸", "71졸70", "7졸72", "71졸72 ", "71졸72+", "１１졸72", "71졸72장군장군", "한수 쉼"]
)
def test_anything_else_is_no_move(text):
    with pytest.raises(ValueError, match="is not a move") as caught:
        START.parse(text)
    assert not isinstance(caught.value, IllegalMoveError)


@given(st.text(ALPHABET, max_size=9))
def test_random_text_is_a_legal_move_or_a_clear_error(text):
    try:
        move = START.parse(text)
    except ValueError as error:
        assert repr(text) in str(error)  # noqa: PT017
    else:
        assert move in START.legal_moves()
