"""`arena position`."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest


def test_position_is_drawn_and_described(arena):
    code, out, err = arena("position", "--game", "janggi", "--moves", "a4b4 49병48 pass")
    assert (code, err) == (0, "")
    assert " 4   +---卒--卒--+---卒--+---卒--+---卒" in out.splitlines()
    assert "Ply 3: Cho played pass (e2e2)" in out
    assert "Han to move\nPoints: Cho 72, Han 73.5" in out
    assert " legal moves: a10a8 a10a9 a7a6" in out


def test_ascii_and_flip(arena):
    out = arena("position", "--game", "janggi", "--ascii", "--flip")[1]
    assert out.isascii()
    assert out.splitlines()[0] == " 1   R---N---B---A---+---A---B---N---R"
    assert arena("position", "--ascii")[1].splitlines()[0] == "8 r n b q k b n r"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--moves", "f3 e5 g4 Qh4"), "The game is over: Black wins by checkmate\nNo legal moves"),
        (("--game", "janggi", "--moves", "pass pass"), "The game is over: Han wins by double-pass-points"),
        (("--game", "janggitraditional", "--moves", "pass pass"), "The game is over: draw by double-pass"),
        (("--moves", "e4 f5 Qh5"), "Black to move, in check"),
    ],
)
def test_check_and_outcome_are_told(arena, args, said):
    assert said in arena("position", *args)[1]


def test_json_holds_everything(arena):
    told = json.loads(arena("position", "--game", "janggi", "--moves", "pass pass", "--json")[1])
    assert told["outcome"] == {"winner": "second", "termination": "double-pass-points"}
    assert (told["moves"], told["legal_moves"], told["points"]) == (
        ["e2e2", "e9e9"],
        [],
        {"first": 72.0, "second": 73.5},
    )
    told = json.loads(arena("position", "--json")[1])
    assert (len(told["legal_moves"]), told["legal_san"][:2], told["check"]) == (20, ["a3", "a4"], False)


def test_svg_is_written_to_the_file(arena, tmp_path):
    file = tmp_path / "board.svg"
    assert arena("position", "--game", "janggi", "--moves", "a4b4", "--svg", file, "--pieces", "hangul")[0] == 0
    assert "마" in {element.text for element in ElementTree.parse(file).iter()}


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("--game", "go"), 2, "--game: unknown game 'go'; there is chess, janggi"),
        (("--fen", "8/8 w"), 2, "--fen: cannot read FEN '8/8 w'"),
        (("--moves", "e4 e4"), 2, "--moves: move 2: 'e4' is not legal"),
        (("--game", "janggi", "--moves", "71병72"), 2, "--moves: move 1: '71병72': there is 졸 on 71, not 병"),
        (("--svg", "/nowhere/board.svg"), 1, "cannot write /nowhere/board.svg: No such file or directory"),
    ],
)
def test_what_is_wrong_is_said(arena, args, code, message):
    got, out, err = arena("position", *args)
    assert (got, out) == (code, "")
    assert err.startswith(f"arena: {message}")
