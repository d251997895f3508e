"""Boards to look at, whatever the game."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from games import game_names, get_game
from games.pictures import board_svg, board_text

MATED = ["f2f3", "e7e5", "g2g4", "d8h4"]


@pytest.mark.parametrize("game", game_names())
def test_every_game_has_both_pictures(game):
    position = get_game(game).position()
    assert ElementTree.fromstring(board_svg(position)).tag.endswith("svg")
    assert board_text(position) != board_text(position, flip=True)
    assert board_text(position, faces="letters").isascii()


def test_the_last_move_is_that_of_the_position_unless_it_is_given():
    rules = get_game("janggi")
    after = rules.position(None, ["a4b4"])
    alone = rules.position(after.fen)
    assert board_svg(after) == board_svg(alone, last_move="a4b4") != board_svg(alone)


def test_chess_svg_marks_move_and_check():
    svg = board_svg(get_game("chess").position(None, MATED), size=320)
    root = ElementTree.fromstring(svg)
    assert (root.get("width"), root.get("height")) == ("320", "320")
    assert "check_gradient" in svg
    assert sorted(
        element.get("class").split()[-1] for element in root.iter() if "lastmove" in element.get("class", "")
    ) == ["d8", "h4"]


def test_flipped_chess_svg_differs():
    position = get_game("chess").position()
    assert board_svg(position) != board_svg(position, flip=True)


def test_chess_text_has_figures_or_letters():
    position = get_game("chess").position(None, MATED)
    assert board_text(position).splitlines()[-2] == "1 ♖ ♘ ♗ ♕ ♔ ♗ ♘ ♖"
    assert board_text(position, faces="letters") == position.text()
    flipped = board_text(position, faces="letters", flip=True).splitlines()
    assert (flipped[0], flipped[3], flipped[-1]) == ("1 R N B K Q B N R", "4 q P . . . . . .", "  h g f e d c b a")


def test_chess_pieces_are_painted_by_side():
    text = board_text(get_game("chess").position(), paint=lambda piece, side: f"{piece}{side[0]}")
    assert text.splitlines()[0] == "8 ♜s ♞s ♝s ♛s ♚s ♝s ♞s ♜s"
