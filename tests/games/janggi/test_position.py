"""Positions of janggi: FEN, setups, what is refused, and what holds in every random game."""

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games import get_game
from games.base import IllegalMoveError, InvalidPositionError
from games.janggi import movegen
from games.janggi.differential import RULE_SETS, wander
from games.janggi.fen import START
from games.janggi.geometry import CHO, EMPTY, HAN, POINT_NAMES, POINT_OF, RAYS, REACH
from games.janggi.setups import OPENINGS, SETUPS

LONE = "3k5/9/9/9/9/9/9/9/9/4K4 w - - 0 1"


def at(fen=None, *moves, rules="janggi"):
    return get_game(rules).position(fen, moves)


def targets(board, point):
    """The points that the piece there can go to, by name."""
    found = movegen.targets_of(board, POINT_OF[point], board[POINT_OF[point]])
    return {POINT_NAMES[target] for target in found}


def alone(piece, point):
    """The board with nothing but that piece."""
    at = POINT_OF[point]
    return EMPTY * at + piece + EMPTY * (89 - at)


# --- geometry ------------------------------------------------------------------------------------------------------


def test_points_count_from_a1_along_the_ranks():
    assert (POINT_OF["a1"], POINT_OF["i1"], POINT_OF["a2"], POINT_OF["i10"]) == (0, 8, 9, 89)
    assert all(POINT_NAMES[point] == name for name, point in POINT_OF.items())


def test_only_corners_and_centres_of_the_palaces_have_diagonals():
    rays = [(point, ray[0]) for point in range(90) for ray in RAYS[point]]
    diagonal = {POINT_NAMES[point] for point, following in rays if abs(following - point) in (8, 10)}
    assert diagonal == {"d1", "f1", "e2", "d3", "f3", "d8", "f8", "e9", "d10", "f10"}


@pytest.mark.parametrize("piece", CHO)
def test_both_sides_move_alike_seen_from_their_own_end(piece):
    for point in range(90):
        mirrored = {89 - target for target in movegen.targets_of(alone(piece, POINT_NAMES[point]), point, piece)}
        lower = piece.lower()
        assert set(movegen.targets_of(alone(lower, POINT_NAMES[89 - point]), 89 - point, lower)) == mirrored


@pytest.mark.parametrize("piece", CHO + HAN)
def test_the_tables_of_attacks_and_of_moves_agree(piece):
    """On an empty board, all that a piece reaches is open to it; a cannon has nothing to hop there."""
    for point in range(90):
        reached = set(REACH[piece][point])
        found = set(movegen.targets_of(alone(piece, POINT_NAMES[point]), point, piece))
        assert found == (set() if piece in "Cc" else reached)


@pytest.mark.parametrize(
    ("piece", "point", "expected"),
    [
        ("P", "e5", "d5 f5 e6"),
        ("P", "a5", "b5 a6"),
        ("P", "d8", "c8 e8 d9 e9"),
        ("P", "e9", "d9 f9 e10 d10 f10"),
        ("P", "e10", "d10 f10"),
        ("P", "d1", "c1 e1 d2 e2"),
        ("P", "d2", "c2 e2 d3"),
        ("p", "d3", "c3 e3 d2 e2"),
        ("K", "e1", "d1 f1 e2"),
        ("A", "e2", "d1 e1 f1 d2 f2 d3 e3 f3"),
        ("A", "d2", "d1 d3 e2"),
        ("N", "e5", "d7 f7 c6 c4 g6 g4 d3 f3"),
        ("N", "a1", "b3 c2"),
        ("B", "e5", "c8 g8 b7 b3 h7 h3 c2 g2"),
        ("R", "d1", "a1 b1 c1 e1 f1 g1 h1 i1 d2 d3 d4 d5 d6 d7 d8 d9 d10 e2 f3"),
        ("R", "e9", "a9 b9 c9 d9 f9 g9 h9 i9 e1 e2 e3 e4 e5 e6 e7 e8 e10 d8 f8 d10 f10"),
        ("R", "d2", "a2 b2 c2 e2 f2 g2 h2 i2 d1 d3 d4 d5 d6 d7 d8 d9 d10"),
    ],
)
def test_how_a_piece_moves_on_an_empty_board(piece, point, expected):
    assert targets(alone(piece, point), point) == set(expected.split())


@pytest.mark.parametrize(
    ("fen", "cannon", "expected"),
    [
        ("3k5/9/9/9/9/4p4/4P4/9/4C4/5K3 w - - 0 1", "e2", {"e5"}),
        ("3k5/9/9/9/9/4c4/4P4/9/4C4/5K3 w - - 0 1", "e2", set()),
        ("3k5/9/9/9/9/4p4/4c4/9/4C4/5K3 w - - 0 1", "e2", set()),
        ("5k3/9/9/9/9/9/9/5p3/4P4/3C1K3 w - - 0 1", "d1", {"f3", "g1", "h1", "i1"}),
        ("5k3/9/9/9/9/9/9/5p3/4c4/3C1K3 w - - 0 1", "d1", {"g1", "h1", "i1"}),
        ("3k5/9/9/9/9/9/9/3p1P3/4C4/3A1K3 w - - 0 1", "e2", set()),  # no diagonal from the centre
    ],
)
def test_a_cannon_hops_one_piece_and_no_cannon(fen, cannon, expected):
    assert targets(at(fen).board, cannon) == expected


# --- FEN -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fen",
    [
        START.replace("n", "h").replace("b", "e").replace("N", "H").replace("B", "E"),
        START.replace("w - - 0 1", "w - -"),
        START.replace("w - - 0 1", "w 0 1"),
        START.replace("NBNB", "NEHB"),
    ],
)
def test_other_forms_of_fen_are_read_and_written_in_one_form(fen):
    assert at(fen).fen == at(fen).start_fen == START


def test_clock_and_number_are_kept():
    assert at(LONE.replace("0 1", "17 42")).fen == LONE.replace("0 1", "17 42")
    assert at(LONE.replace("w - - 0 1", "b 17 42"), "d10d9").fen.endswith(" w - - 18 43")


@pytest.mark.parametrize(
    ("fen", "fault"),
    [
        ("", "needs 6 fields, or 4, not 0"),
        (START + " x", "not 7"),
        (START.replace(" 0 1", " 0"), "not 5"),
        (START.replace(" w ", " r "), "side to move 'r' should be w (Cho) or b (Han)"),
        (START.replace("- -", "KQkq -"), "third field 'KQkq' should be -"),
        (START.replace("- -", "- e3"), "fourth field 'e3' should be -"),
        (START.replace("0 1", "-1 1"), "clock '-1' should be a number of plies"),
        (START.replace("0 1", "0 0"), "move number '0' should be a number from 1 on"),
        (START.replace("0 1", "0 ١"), "move number '١'"),
        (START.replace("/9/9/", "/9/"), "10 ranks are needed, not 9"),
        (START.replace("4k4", "4k3"), "rank 9 (4k3) has 8 points, not 9"),
        (START.replace("4k4", "4k5"), "rank 9 (4k5) has 10 points"),
        (START.replace("4k4", "22k4"), "'22' in rank 9"),
        (START.replace("4k4", "4q4"), "'q' in rank 9"),
        (START.replace("4k4", "k04"), "'0' in rank 9"),
        (START.replace("4k4", "9"), "Han needs one general (k), not 0"),
        (START.replace("4K4", "3KK4"), "Cho needs one general (K), not 2"),
        (START.replace("4k4", "2k6"), "k on c9 is outside the palace of Han"),
        (START.replace("4K4", "A3K4"), "A on a2 is outside the palace of Cho"),
        ("3k5/9/9/9/9/9/9/9/3R5/4K4 w - - 0 1", "the side that is not to move is in check"),
    ],
)
def test_a_position_that_cannot_be_played_from_is_refused_with_its_fault(fen, fault):
    with pytest.raises(InvalidPositionError, match=re.escape(fault)):
        at(fen)


@settings(max_examples=200, deadline=None)
@given(index=st.integers(0, len(START) - 1), letter=st.sampled_from("KAkaRCNBPrp19/ wb-0HE"))
def test_a_fen_with_one_letter_changed_is_a_position_or_a_clear_error(index, letter):
    changed = START[:index] + letter + START[index + 1 :]
    try:
        position = at(changed)
    except InvalidPositionError as error:
        assert repr(changed) in str(error)  # noqa: PT017
    else:
        assert at(position.fen).legal_moves() == position.legal_moves()


# --- setups --------------------------------------------------------------------------------------------------------


def test_there_are_sixteen_setups_and_each_starts_with_the_same_number_of_moves():
    assert len(set(OPENINGS.values())) == 16
    assert all(len(at(fen).legal_moves()) == 32 for fen in OPENINGS.values())
    assert OPENINGS["masangsangma-masangsangma"] == START


def test_a_setup_is_read_from_left_to_right_with_cho_at_the_bottom():
    fen = OPENINGS["masangmasang-sangmamasang"]
    ranks = fen.split()[0].split("/")
    assert (ranks[0], ranks[-1]) == ("rbna1anbr", "RNBA1ANBR")
    assert set(SETUPS) == {"masangmasang", "sangmasangma", "masangsangma", "sangmamasang"}


# --- moves ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("move", ["e2e5", "a4a5 ", "", "0000", "@@@@", "a1b1", "e9e9", "a04b4", "E2E2", "Ra2"])
def test_a_move_that_is_not_legal_is_refused(move):
    with pytest.raises(IllegalMoveError, match=re.escape(f"{move!r} is not legal in rnba1abnr/")):
        at().play(move)


def test_positions_are_not_changed_by_playing_from_them():
    position = at()
    moves, fen = position.legal_moves(), position.fen
    position.play("a4b4").play("a7b7")
    assert (position.legal_moves(), position.fen, position.moves) == (moves, fen, ())


def plainly_legal(position):
    """The legal moves by trying each move that the pieces have and looking whether the general could be taken."""
    board, cho = position.board, position.side_to_move == "first"
    own, enemy = (CHO, HAN) if cho else (HAN, CHO)
    found = set()
    for origin, piece in enumerate(board):
        if piece not in own:
            continue
        for target in movegen.targets_of(board, origin, piece):
            after = movegen.after(board, origin, target)
            general = after.index(own[0])
            taken = any(general in movegen.targets_of(after, at, p) for at, p in enumerate(after) if p in enemy)
            if not taken and (not position.is_bikjang or movegen.facing(after) is None):
                found.add(POINT_NAMES[origin] + POINT_NAMES[target])
    if not position.in_check or position.is_bikjang:
        found.add(POINT_NAMES[board.index(own[0])] * 2)
    return found


@settings(max_examples=25, deadline=None)
@given(rule_set=st.sampled_from(RULE_SETS), seed=st.integers(0, 2**32))
def test_random_games_keep_the_rules(rule_set, seed):
    position = None
    for position in wander(rule_set, random.Random(seed)):
        moves = position.legal_moves()
        assert list(moves) == sorted(set(moves))
        outcome = position.outcome()
        if moves:
            assert set(moves) == plainly_legal(position)
            again = at(position.fen, rules=rule_set)
            assert (again.fen, again.legal_moves(), again.in_check) == (position.fen, moves, position.in_check)
        else:
            assert outcome is not None
        for letter in "Kk":
            assert position.board.count(letter) == 1
        assert len(position.board) == 90
        assert set(position.board) <= set(CHO + HAN + EMPTY)
        for move in moves[:: max(1, len(moves) // 2)]:
            assert position.parse(position.san(move)) == move
    assert at(position.start_fen, *position.moves, rules=rule_set).fen == position.fen


# --- notation and text ---------------------------------------------------------------------------------------------


def test_text_has_ranks_and_files():
    lines = at().text().splitlines()
    assert lines[0].split() == ["10", *"rnba.abnr"]
    assert lines[9].split() == ["1", *"RNBA.ABNR"]
    assert lines[10].split() == list("abcdefghi")
