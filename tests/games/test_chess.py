"""Chess: rules against known figures, endings, FEN, notation."""

from __future__ import annotations

import random
import re
import time

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.base import IllegalMoveError, InvalidPositionError, Outcome
from games.chess import Chess, ChessPosition

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"


def at(fen: str = START, *moves: str) -> ChessPosition:
    return Chess().position(fen, moves)


def perft(position: ChessPosition, depth: int) -> int:
    if depth == 0:
        return 1
    moves = position.legal_moves()
    return len(moves) if depth == 1 else sum(perft(position.play(move), depth - 1) for move in moves)


@pytest.mark.parametrize(
    ("fen", "nodes"),
    [  # the standard positions of the chess programming community
        (START, (20, 400, 8902)),
        (KIWIPETE, (48, 2039, 97862)),
        ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", (14, 191, 2812)),
        ("r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1", (6, 264, 9467)),
        ("rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8", (44, 1486, 62379)),
        ("r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10", (46, 2079, 89890)),
    ],
)
def test_perft_of_standard_positions(fen: str, nodes: tuple[int, ...]) -> None:
    assert tuple(perft(at(fen), depth) for depth in (1, 2, 3)) == nodes


def test_legal_moves_come_in_the_order_of_their_text() -> None:
    moves = at(KIWIPETE).legal_moves()
    assert moves == tuple(sorted(moves))
    assert {"e1g1", "e1c1"} <= set(moves)


def test_playing_leaves_the_position_as_it_was() -> None:
    position = at()
    after = position.play("e2e4")
    assert (position.fen, position.moves, position.side_to_move) == (START, (), "first")
    assert after.fen == "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"
    assert (after.moves, after.side_to_move, after.start_fen) == (("e2e4",), "second", START)


@pytest.mark.parametrize("move", ["e2e5", "e7e5", "", "0000", "e1h1", "Nf3", "E2E4", "e2e4 ", "e2e4q"])
def test_play_refuses_all_but_the_canonical_legal_moves(move: str) -> None:
    with pytest.raises(IllegalMoveError, match="is not legal in rnbqkbnr"):
        at().play(move)


def test_castling_is_the_move_of_the_king() -> None:
    after = at(KIWIPETE).play("e1g1")
    assert after.fen.split()[0].endswith("R4RK1")
    with pytest.raises(IllegalMoveError):
        at(KIWIPETE).play("e1h1")


# --- how games end -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fen", "outcome"),
    [
        ("rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3", Outcome("second", "checkmate")),
        ("R5k1/5ppp/8/8/8/8/8/4K3 b - - 0 1", Outcome("first", "checkmate")),
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", Outcome(None, "stalemate")),
        ("8/8/4k3/8/8/3BK3/8/8 w - - 0 1", Outcome(None, "insufficient-material")),
        ("8/8/4k3/8/8/3RK3/8/8 w - - 99 80", None),
        ("8/8/4k3/8/8/3RK3/8/8 w - - 100 80", Outcome(None, "fifty-moves")),
        ("R5k1/5ppp/8/8/8/8/8/4K3 b - - 100 80", Outcome("first", "checkmate")),
        (START, None),
    ],
)
def test_outcome_of_a_position(fen: str, outcome: Outcome | None) -> None:
    assert at(fen).outcome() == outcome


def test_two_knights_against_a_lone_king_go_on() -> None:
    assert at("8/8/4k3/8/8/3NKN2/8/8 w - - 0 1").outcome() is None


def test_fifty_moves_are_counted_from_the_clock_of_the_fen() -> None:
    position = at("8/8/4k3/8/8/3RK3/8/8 w - - 98 80")
    assert position.play("d3d1").outcome() is None
    assert position.play("d3d1").play("e6e5").outcome() == Outcome(None, "fifty-moves")


def test_third_occurrence_ends_the_game_and_the_second_does_not() -> None:
    shuffle = ("g1f3", "g8f6", "f3g1", "f6g8")
    assert at(START, *shuffle).outcome() is None
    assert at(START, *shuffle, *shuffle[:3]).outcome() is None  # a third one could be claimed: not our rule
    assert at(START, *shuffle, *shuffle).outcome() == Outcome(None, "threefold-repetition")


def test_a_game_can_go_on_after_a_draw_that_no_one_noticed() -> None:
    shuffle = ("g1f3", "g8f6", "f3g1", "f6g8")
    assert "e2e4" in at(START, *shuffle, *shuffle).legal_moves()


def test_lost_castling_rights_make_another_position() -> None:
    kings = ("e1e2", "e8e7", "e2e1", "e7e8")
    fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
    assert at(fen, *kings, *kings).outcome() is None  # the first occurrence still had its castling rights
    assert at(fen, *kings, *kings, *kings).outcome() == Outcome(None, "threefold-repetition")


def test_an_en_passant_square_makes_another_position_only_where_the_capture_is_legal() -> None:
    shuffle = ("g8f6", "g1f3", "f6g8", "f3g1")
    no_capture = at("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1")
    assert no_capture.start_fen == "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"
    for move in shuffle * 2:
        no_capture = no_capture.play(move)
    assert no_capture.outcome() == Outcome(None, "threefold-repetition")
    capture = at("rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1")
    assert "d4e3" in capture.legal_moves()
    assert " e3 " in capture.start_fen
    for move in shuffle * 2:
        capture = capture.play(move)
    assert capture.outcome() is None


def test_an_en_passant_capture_that_exposes_the_king_is_not_legal() -> None:
    position = at("8/8/8/8/k2Pp2Q/8/8/3K4 b - d3 0 1")
    assert "e4d3" not in position.legal_moves()
    assert position.fen == "8/8/8/8/k2Pp2Q/8/8/3K4 b - - 0 1"


def replayed(seed: int, *, shuffling: bool) -> str | None:
    """Plays a random game beside a board of the `chess` package with its whole move stack, comparing at each ply.

    `shuffling` mostly moves pieces to and fro. Returns how the game ended, None if it was stopped.
    """
    choose = random.Random(seed)
    position, board = at(), chess.Board()
    for _ in range(80):
        assert position.fen == board.fen()
        assert position.legal_moves() == tuple(sorted(move.uci() for move in board.legal_moves))
        outcome = position.outcome()
        ended = board.outcome() is not None or board.is_repetition(3) or board.halfmove_clock >= 100
        assert (outcome is not None) == ended
        if outcome is not None:
            return outcome.termination
        pool = position.legal_moves()
        if shuffling and len(position.moves) > 1 and choose.random() < 0.8:
            last = position.moves[-2]
            pool = tuple(move for move in pool if move == last[2:4] + last[:2]) or pool
        move = choose.choice(pool)
        assert position.san(move) == board.san(chess.Move.from_uci(move))
        position = position.play(move)
        board.push_uci(move)
    assert Chess().position(None, position.moves).fen == position.fen
    return None


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_random_games_agree_with_an_independent_replay(seed: int) -> None:
    replayed(seed, shuffling=False)


def test_repetitions_agree_with_an_independent_replay() -> None:
    ends = [replayed(seed, shuffling=True) for seed in range(20)]
    assert ends.count("threefold-repetition") >= 5


def test_a_long_game_stays_quick() -> None:
    """A guard against quadratic cost, with a generous bound."""
    begun = time.process_time()
    position = at()
    for ply in range(400):
        line = ("g1f3", "g8f6", "f3g1", "f6g8")
        position = position.play(line[ply % 4])
        position.outcome()
    assert len(position.moves) == 400
    assert time.process_time() - begun < 20


# --- FEN -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fen", "fault"),
    [
        ("", "needs 6 fields"),
        ("e4", "needs 6 fields"),
        (START + " extra", "not 7"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -  0", "not 5"),
        (START.replace(" w ", " white "), "side to move 'white' should be w or b"),
        (START.replace("KQkq", "HAha"), "castling 'HAha'"),
        (START.replace("KQkq", "qkQK"), "castling 'qkQK'"),
        (START.replace("KQkq -", "KQkq e4"), "en passant square 'e4'"),
        (START.replace("0 1", "-1 1"), "halfmove clock '-1'"),
        (START.replace("0 1", "0 one"), "move number 'one'"),
        (START.replace("8/8/8/8", "8/8/8"), "FEN"),
        (START.replace("pppppppp", "ppppppppp"), "8 columns"),
        ("8/8/8/8/8/8/8/8 w - - 0 1", "the board is empty"),
        ("8/8/8/8/8/8/8/4K3 w - - 0 1", "no black king"),
        ("4k3/8/8/8/8/8/8/2K1K3 w - - 0 1", "too many kings"),
        ("4k3/4R3/8/8/8/8/8/4K3 w - - 0 1", "the side that is not to move is in check"),
        ("4k3/8/8/8/8/8/8/4K3 w K - 0 1", "a castling right without king and rook"),
        ("4k2P/8/8/8/8/8/8/4K3 w - - 0 1", "pawns on backrank"),
        (START.replace("KQkq -", "KQkq e6"), "an en passant square that no pawn has just passed"),
    ],
)
def test_a_position_that_cannot_be_played_from_is_refused_with_its_fault(fen: str, fault: str) -> None:
    with pytest.raises(InvalidPositionError, match=fault):
        at(fen)


def test_four_fields_are_enough() -> None:
    assert at("8/8/4k3/8/8/3RK3/8/8 b - -").fen == "8/8/4k3/8/8/3RK3/8/8 b - - 0 1"


@settings(max_examples=200, deadline=None)
@given(fen=st.sampled_from([START, KIWIPETE]), index=st.integers(0, 80), letter=st.sampled_from("KQPqkp1 /wb-e3"))
def test_a_fen_with_one_letter_changed_is_a_position_or_a_clear_error(fen: str, index: int, letter: str) -> None:
    changed = fen[:index] + letter + fen[index + 1 :]
    try:
        position = at(changed)
    except InvalidPositionError:
        with pytest.raises(InvalidPositionError, match=re.escape(repr(changed))):
            at(changed)
    else:
        assert chess.Board(changed).is_valid()
        assert at(position.fen).legal_moves() == position.legal_moves()


# --- notation ------------------------------------------------------------------------------------------------------

TWO_KNIGHTS = "4k3/8/8/8/8/8/8/1N1NK3 w - - 0 1"
B_FILE_AND_BISHOP = "4k3/8/8/8/8/2p5/1P6/B3K3 w - - 0 1"  # the pawn b2 takes c3; the bishop is behind it
BISHOP_TAKES = "4k3/8/8/8/8/2p5/3B4/4K3 w - - 0 1"
PROMOTION = "3r4/4P3/8/8/8/8/7k/4K3 w - - 0 1"


@pytest.mark.parametrize(
    ("fen", "text", "move"),
    [
        (START, "e2e4", "e2e4"),
        (START, "e4", "e2e4"),
        (START, "Nf3", "g1f3"),
        (START, "Ngf3", "g1f3"),
        (START, "Ng1f3", "g1f3"),
        (START, "Nf3!?", "g1f3"),
        (START, "e4+", "e2e4"),
        (KIWIPETE, "O-O", "e1g1"),
        (KIWIPETE, "O-O-O", "e1c1"),
        (KIWIPETE, "e1g1", "e1g1"),
        (KIWIPETE, "Qxf6", "f3f6"),
        (KIWIPETE, "dxe6", "d5e6"),
        (KIWIPETE, "Kf1", "e1f1"),
        (B_FILE_AND_BISHOP, "bxc3", "b2c3"),
        (BISHOP_TAKES, "Bxc3", "d2c3"),
        (PROMOTION, "e8=Q", "e7e8q"),
        (PROMOTION, "exd8=N", "e7d8n"),
        (PROMOTION, "e7d8r", "e7d8r"),
        (TWO_KNIGHTS, "Nbc3", "b1c3"),
        ("8/8/8/8/k2Pp3/8/8/3K4 b - d3 0 1", "exd3", "e4d3"),
    ],
)
def test_one_move_in_uci_or_san_is_read(fen: str, text: str, move: str) -> None:
    assert at(fen).parse(text) == move


@pytest.mark.parametrize(
    ("fen", "text"),
    [
        (START, "e2e5"),
        (START, "e2e2"),
        (START, "e7e5"),
        (START, "Nf6"),
        (START, "Nxf3"),  # nothing is captured
        (START, "O-O"),
        (KIWIPETE, "Qf6"),  # a capture has its x
        (KIWIPETE, "Kg1"),  # castling is not written as a king's move in SAN
        (KIWIPETE, "e1h1"),
        (B_FILE_AND_BISHOP, "Bxc3"),
        (BISHOP_TAKES, "bxc3"),
        (PROMOTION, "e8"),
        (PROMOTION, "e7e8"),
        (PROMOTION, "e7d8"),
    ],
)
def test_a_well_formed_move_that_is_not_legal_is_told_apart(fen: str, text: str) -> None:
    with pytest.raises(IllegalMoveError, match=text):
        at(fen).parse(text)


NO_MOVES = (
    *("0000", "--", "Z0", "@@@@", "P@e4"),  # null moves and drops
    *("0-0", "o-o", "E2E4", "e2-e4", "nf3", "Pe4", "ed5", "bc3", "e8Q", "e7e8k", "e7e8Q"),
    *("", "e4.", "1. e4", "1.e4", "e2e4 e7e5", " e4", "e4\n", "e4!!!", "e4#+", "e2e4+", "ｅ4"),
)


@pytest.mark.parametrize("text", NO_MOVES)
def test_what_is_no_move_at_all_is_told_apart(text: str) -> None:
    with pytest.raises(ValueError, match="is not a move in UCI or SAN") as caught:
        at().parse(text)
    assert not isinstance(caught.value, IllegalMoveError)


def test_ambiguous_san_is_no_move_and_named() -> None:
    with pytest.raises(ValueError, match="'Nc3' is ambiguous: it could be b1c3 or d1c3") as caught:
        at(TWO_KNIGHTS).parse("Nc3")
    assert not isinstance(caught.value, IllegalMoveError)


def test_san_of_an_illegal_move_is_refused() -> None:
    with pytest.raises(IllegalMoveError):
        at().san("e2e5")


def test_text_has_ranks_and_files() -> None:
    assert at(START, "e2e4").text() == "\n".join(
        [
            "8 r n b q k b n r",
            "7 p p p p p p p p",
            "6 . . . . . . . .",
            "5 . . . . . . . .",
            "4 . . . . P . . .",
            "3 . . . . . . . .",
            "2 P P P P . P P P",
            "1 R N B Q K B N R",
            "  a b c d e f g h",
        ]
    )
