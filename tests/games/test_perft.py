"""Counting lines of moves, at any game."""

import pytest

from games import get_game
from games.perft import divide, perft


@pytest.mark.parametrize(
    ("game", "fen", "counts"),
    [
        ("chess", None, [1, 20, 400, 8902]),
        ("chess", "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", [1, 48, 2039]),
        ("janggi", None, [1, 32, 1024]),
        ("janggicasual", "9/4k4/9/9/9/9/9/9/4K4/9 w - - 0 1", [1, 9, 81, 360]),
    ],
)
def test_known_counts(game, fen, counts):
    position = get_game(game).position(fen)
    assert [perft(position, depth) for depth in range(len(counts))] == counts


def test_divide_counts_each_first_move():
    position = get_game("chess").position()
    counts = divide(position, 2)
    assert tuple(counts) == position.legal_moves()
    assert set(counts.values()) == {20}
    assert divide(position, 1) == dict.fromkeys(position.legal_moves(), 1)


def test_no_line_leads_on_from_mate_or_a_double_pass():
    janggi = get_game("janggi")
    assert perft(janggi.position("3k4R/R8/9/9/9/9/9/9/9/5K3 b - - 0 1"), 1) == 0
    assert perft(janggi.position(None, ["e2e2", "e9e9"]), 2) == 0


def test_a_depth_that_makes_no_sense_is_refused():
    position = get_game("chess").position()
    with pytest.raises(ValueError, match="depth -1 should be 0 or more"):
        perft(position, -1)
    with pytest.raises(ValueError, match="depth 0 should be 1 or more"):
        divide(position, 0)
