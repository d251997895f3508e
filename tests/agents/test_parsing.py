"""Reading a model's answer: strict, and honest about what is wrong."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.base import Failure
from agents.parsing import Parsed, parse_answer
from agents.prompts import RETRIED
from games import get_game
from games.base import Position
from inference.types import FinishReason

STOP, LENGTH = FinishReason.STOP, FinishReason.LENGTH
FENS = (
    None,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
    "4k3/8/8/8/8/2p5/1P1B4/4K3 w - - 0 1",
    "8/8/8/8/k2Pp3/8/8/3K4 b - d3 0 1",
)
POSITIONS = tuple(get_game("chess").position(fen) for fen in FENS)
START = POSITIONS[0]


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("e2e4", "e2e4"),
        ("Nf3", "g1f3"),
        ("e4", "e2e4"),
        ("  e2e4\n", "e2e4"),
        ("e2e4.", "e2e4"),
        ("Nf3!\n", "g1f3"),
    ],
)
def test_exactly_one_move_is_read(text: str, move: str) -> None:
    assert parse_answer(text, START, STOP) == Parsed(move=move)


@pytest.mark.parametrize(
    ("text", "finish", "failure"),
    [
        ("", STOP, Failure.EMPTY),
        (" \n\t", STOP, Failure.EMPTY),
        ("\n\n\n\n", LENGTH, Failure.EMPTY),
        ("I think that", LENGTH, Failure.TRUNCATED),
        ("e7", LENGTH, Failure.TRUNCATED),
        ("e7e8", LENGTH, Failure.TRUNCATED),
        ("I play e2e4", STOP, Failure.UNPARSABLE),
        ("e2e4 e7e5", STOP, Failure.UNPARSABLE),
        ("e2e4\nbecause of the centre", STOP, Failure.UNPARSABLE),
        ("1. e4", STOP, Failure.UNPARSABLE),
        ("`e2e4`", STOP, Failure.UNPARSABLE),
        ('"e2e4"', STOP, Failure.UNPARSABLE),
        ("e2e4..", STOP, Failure.UNPARSABLE),
        ("E2E4", STOP, Failure.UNPARSABLE),
        (".", STOP, Failure.UNPARSABLE),
        ("0000", STOP, Failure.UNPARSABLE),
        ("--", STOP, Failure.UNPARSABLE),
        ("resign", STOP, Failure.UNPARSABLE),
        ("e2e5", STOP, Failure.ILLEGAL),
        ("Nf6", STOP, Failure.ILLEGAL),
        ("O-O", STOP, Failure.ILLEGAL),
    ],
)
def test_anything_else_is_its_kind_of_failure(text: str, finish: FinishReason, failure: Failure) -> None:
    parsed = parse_answer(text, START, finish)
    assert (parsed.move, parsed.failure) == (None, failure)
    assert parsed.detail


def test_a_legal_move_at_the_token_limit_counts() -> None:
    assert parse_answer("e2e4", START, LENGTH).move == "e2e4"


def test_a_file_is_not_a_bishop() -> None:
    position = POSITIONS[3]  # both the pawn on b2 and the bishop on d2 can take on c3
    assert parse_answer("bxc3", position, STOP).move == "b2c3"
    assert parse_answer("Bxc3", position, STOP).move == "d2c3"


def test_the_detail_names_the_answer_and_the_position() -> None:
    assert parse_answer("e2e5", START, STOP).detail == f"'e2e5' is not legal in {START.fen}"
    assert parse_answer("hello", START, STOP).detail == "'hello' is not a move in UCI or SAN"


@pytest.mark.parametrize("position", POSITIONS)
def test_every_legal_move_is_read_in_both_notations(position: Position) -> None:
    for move in position.legal_moves():
        assert parse_answer(move, position, STOP).move == move
        assert parse_answer(position.san(move), position, STOP).move == move


notation = st.text(alphabet="abcdefghNBRQKOxP0123456789-=+#!?. \nqrbn", max_size=9)


@settings(max_examples=500, deadline=None)
@given(
    text=notation | st.text(max_size=12),
    position=st.sampled_from(POSITIONS),
    finish=st.sampled_from([STOP, LENGTH]),
)
def test_no_text_gives_an_illegal_move(text: str, position: Position, finish: FinishReason) -> None:
    parsed = parse_answer(text, position, finish)
    assert (parsed.move is None) != (parsed.failure is None)
    assert parsed.move is None or parsed.move in position.legal_moves()


@settings(max_examples=200, deadline=None)
@given(
    data=st.data(),
    position=st.sampled_from(POSITIONS),
    before=st.sampled_from(["", "I play ", "My move: ", "1. ", "**", "The best move is "]),
    after=st.sampled_from(["", " is best.", " wins a pawn", "**", ", then e7e5", "\nWhite is better."]),
)
def test_prose_around_a_move_is_never_searched(
    data: st.DataObject, position: Position, before: str, after: str
) -> None:
    move = data.draw(st.sampled_from(position.legal_moves()))
    parsed = parse_answer(before + move + after, position, STOP)
    if before or after:
        assert parsed.failure is Failure.UNPARSABLE
    else:
        assert parsed.move == move


# --- other forms of answers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "finish", "expected"),
    [
        (" e2e4", STOP, "e2e4"),
        (" e2e4 e7e5 g1f3", LENGTH, "e2e4"),
        (" Nf3 Nf6 2", LENGTH, "g1f3"),
        (" e2e4", LENGTH, "e2e4"),
        (" e2e5 e7e5", LENGTH, Failure.ILLEGAL),
        (" e2", LENGTH, Failure.TRUNCATED),
        ("\n", STOP, Failure.EMPTY),
        (" The e2e4 move", STOP, Failure.UNPARSABLE),
        (" e2e4, e7e5", STOP, "e2e4"),
        (" Nf3.", LENGTH, "g1f3"),
        (" e2e4., e7e5", STOP, Failure.UNPARSABLE),
        (" 1. e4", STOP, "e2e4"),
        ("1.e4 e5", STOP, "e2e4"),
        ("12... Nf3", STOP, "g1f3"),
        ("1.. e4", STOP, Failure.UNPARSABLE),
        ("1. 2. e4", STOP, Failure.UNPARSABLE),
        ("1) e4", STOP, Failure.UNPARSABLE),
        ("The 1. e4", STOP, Failure.UNPARSABLE),
        ("1.", STOP, Failure.UNPARSABLE),
        ("1. e", LENGTH, Failure.TRUNCATED),
    ],
)
def test_where_the_answer_goes_on_its_first_word_is_the_move(text, finish, expected) -> None:
    parsed = parse_answer(text, START, finish, "word")
    assert (parsed.move or parsed.failure) == expected


@pytest.mark.parametrize(
    ("text", "finish", "expected"),
    [
        ('{"reason": "centre", "move": "e2e4"}', STOP, "e2e4"),
        (' {"move":"Nf3"}\n', STOP, "g1f3"),
        ('{"reason": "e2e4 hangs", "move": "d2d4", "eval": 0.3}', STOP, "d2d4"),
        ('{"reason": "e2e4", "move": "e2e5"}', STOP, Failure.ILLEGAL),
        ('{"move": " e2e4"}', STOP, Failure.UNPARSABLE),
        ('{"move": "e2e4."}', STOP, Failure.UNPARSABLE),
        ('{"move": "e2e4", "move": "d2d4"}', STOP, Failure.UNPARSABLE),
        ('{"move": ["e2e4"]}', STOP, Failure.UNPARSABLE),
        ('{"move": null}', STOP, Failure.UNPARSABLE),
        ('{"Move": "e2e4"}', STOP, Failure.UNPARSABLE),
        ('"e2e4"', STOP, Failure.UNPARSABLE),
        ("e2e4", STOP, Failure.UNPARSABLE),
        ("42", STOP, Failure.UNPARSABLE),
        ('```json\n{"move": "e2e4"}\n```', STOP, Failure.UNPARSABLE),
        ('{"move": "e2e4"} {"move": "d2d4"}', STOP, Failure.UNPARSABLE),
        ('{"reason": "I think', LENGTH, Failure.TRUNCATED),
        ('{"move": "0000"}', STOP, Failure.UNPARSABLE),
        ("[" * 100_000, STOP, Failure.UNPARSABLE),
        ("1" * 10_000, STOP, Failure.UNPARSABLE),
        ("  ", STOP, Failure.EMPTY),
    ],
)
def test_an_object_has_its_move_under_one_name(text, finish, expected) -> None:
    parsed = parse_answer(text, START, finish, "json")
    assert (parsed.move or parsed.failure) == expected


JANGGI = get_game("janggi").position()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a4b4", "a4b4"),
        ("e2e2", "e2e2"),
        ("a4a6", Failure.ILLEGAL),
        ("e9e9", Failure.ILLEGAL),
        ("@@@@", Failure.UNPARSABLE),
        ("a0b0", Failure.UNPARSABLE),
        ("a1a11", Failure.UNPARSABLE),
        ("0000", Failure.UNPARSABLE),
        ("pass", "e2e2"),
        ("Pass", Failure.UNPARSABLE),
    ],
)
def test_janggi_is_read_as_strictly(text, expected) -> None:
    parsed = parse_answer(text, JANGGI, STOP)
    assert (parsed.move or parsed.failure) == expected


def test_of_ten_thousand_strings_only_moves_and_typed_failures_come_out() -> None:
    """Strings made from pieces of answers: moves of the position and of others, decoration, JSON, noise."""
    rng = random.Random(20)
    positions = [*POSITIONS, JANGGI]
    moves = sorted({move for position in positions for move in position.legal_moves()})
    pieces = [
        *moves[:: len(moves) // 60],
        *("e4", "Nf3", "O-O", "O-O-O", "bxc3", "Bxc3", "e8=Q", "0000", "--", "@@@@", "Z0"),
        *(" ", "\n", ".", "+", "#", "!?", "1.", "...", "\u200b", "\0", "\ud83d", "장군", "é"),
        *('{"move": "', '"}', '"reason": "x", ', "{", "}", "[", '"', "null", "1e999", "NaN", "\\"),
    ]
    seen: Counter[Failure | None] = Counter()
    for _ in range(10_000):
        text = "".join(rng.choices(pieces, k=rng.randint(0, 4)))
        position, form = rng.choice(positions), rng.choice(("move", "word", "json"))
        parsed = parse_answer(text, position, rng.choice((STOP, LENGTH)), form)
        assert (parsed.move is None) == (parsed.failure in RETRIED), text
        assert parsed.move is None or parsed.move in position.legal_moves()
        seen[parsed.failure] += 1
    assert set(seen) == {None, *RETRIED}
    assert min(seen.values()) > 100
