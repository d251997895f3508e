"""`arena position` and `arena perft`: what the rules say, at the command line."""

import json

import pytest


def test_position_shows_board_check_points_and_moves(arena):
    code, out, err = arena("position", "--game", "janggi", "--fen", "4k4/9/9/9/4R4/9/9/9/9/3K5 b - - 0 1")
    assert (code, err) == (0, "")
    assert "Han to move, in check" in out
    assert "Points: Cho 13, Han 1.5" in out
    assert "2 legal moves: e10d10 e10f10" in out


def test_position_as_json(arena):
    code, out, _ = arena("position", "--game", "janggi", "--moves", "e2e2 e9e9", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["outcome"] == {"winner": "second", "termination": "double-pass-points"}
    assert found["points"] == {"first": 72, "second": 73.5}
    assert (found["side_to_move"], found["check"], found["legal_moves"]) == ("first", False, [])
    assert found["moves"] == ["e2e2", "e9e9"]


def test_moves_of_chess_are_read_as_san_or_uci(arena):
    _, out, _ = arena("position", "--moves", "e4, e7e5 Bc4 a6 Qh5 a5 Qxf7", "--json")
    found = json.loads(out)
    assert found["outcome"] == {"winner": "first", "termination": "checkmate"}
    assert found["points"] is None
    assert "The game is over: White wins by checkmate" in arena("position", "--fen", found["fen"])[1]


def test_an_opening_has_a_name(arena):
    code, out, _ = arena("position", "--game", "janggimodern", "--opening", "sangmasangma-masangsangma", "--json")
    assert code == 0
    assert json.loads(out)["fen"].startswith("rnba1abnr/4k4/")
    assert "/RBNA1ABNR w" in json.loads(out)["fen"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--game", "go"), "--game: unknown game 'go'; there is chess, janggi"),
        (("--fen", "xyz"), "--fen: cannot read FEN 'xyz'"),
        (("--opening", "x"), "unknown opening 'x' of chess; did you mean"),
        (("--game", "janggi", "--fen", "9", "--opening", "x"), "give --fen or --opening, not both"),
        (("--moves", "e4 e4"), "--moves: move 2: 'e4' is not legal in"),
        (("--moves", "castle"), "--moves: move 1: 'castle' is not a move"),
    ],
)
def test_bad_input_is_one_sentence(arena, options, told):
    for command in (("position",), ("perft", "--depth", "1")):
        code, out, err = arena(*command, *options)
        assert (code, out) == (2, "")
        assert err.startswith(f"arena: {told}")
        assert err.count("\n") == 1


def test_perft_counts_and_divides(arena):
    code, out, _ = arena("perft", "--depth", "2", "--divide")
    assert code == 0
    assert out.splitlines()[0] == "a2a3: 20"
    assert out.splitlines()[-1].startswith("400 nodes at depth 2 in ")
    counted = json.loads(arena("perft", "--game", "janggi", "--depth", "2", "--json")[1])
    assert (counted["nodes"], counted["depth"], counted["game"]) == (1024, 2, "janggi")
    divided = json.loads(arena("perft", "--depth", "1", "--moves", "e2e4", "--divide", "--json")[1])
    assert (divided["nodes"], len(divided["divide"])) == (20, 20)


def test_perft_needs_a_depth(arena):
    assert arena("perft")[0] == 2
    assert arena("perft", "--depth", "0")[0] == 2
