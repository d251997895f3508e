"""Small boards as text."""

from __future__ import annotations

import pytest

from arena.live.board import PLAIN, Palette, board_lines, board_size, placement, squares
from games import get_game

START = get_game("chess").position().fen


def test_a_board_without_colours_is_letters_and_dots():
    after = get_game("chess").position(None, ["e2e4"])
    lines = [line.plain for line in board_lines("chess", after.fen, "e2e4", PLAIN)]
    assert lines == [
        " r n b q k b n r",
        " p p p p p p p p",
        " · · · · · · · ·",
        " · · · · · · · ·",
        " · · · ·>P · · ·",
        " · · · · · · · ·",
        " P P P P · P P P",
        " R N B Q K B N R",
    ]


def test_a_coloured_board_has_figures_on_squares_of_two_colours():
    palette = Palette()
    lines = board_lines("chess", START, None, palette)
    assert lines[0].plain == "♜ ♞ ♝ ♛ ♚ ♝ ♞ ♜ "
    assert lines[0].plain == lines[7].plain
    grounds = [str(span.style).rpartition(" on ")[2] for span in lines[7].spans]
    assert grounds == [palette.dark, palette.light] * 4  # a1 is dark
    assert {str(span.style).partition(" on ")[0] for span in lines[0].spans} == {palette.second}
    assert {str(span.style).partition(" on ")[0] for span in lines[7].spans} == {palette.first}


def test_the_squares_of_the_last_move_stand_out():
    after = get_game("chess").position(None, ["e2e4"])
    palette = Palette()
    lines = board_lines("chess", after.fen, "e2e4", palette)
    marked = [
        (file, 8 - row)
        for row, line in enumerate(lines)
        for file, span in enumerate(line.spans)
        if str(span.style).endswith((palette.light_moved, palette.dark_moved))
    ]
    assert marked == [(4, 4), (4, 2)]


@pytest.mark.parametrize(
    ("move", "found"),
    [
        ("e2e4", ((4, 2), (4, 4))),
        ("e7e8q", ((4, 7), (4, 8))),
        ("a9a10", ((0, 9), (0, 10))),
        ("e10e9", ((4, 10), (4, 9))),
    ],
)
def test_the_squares_of_a_move_are_read_from_its_text(move, found):
    assert squares(move) == found


def test_boards_of_other_sizes_are_read_from_their_fen():
    janggi = "rnba1abnr/4k4/1c5c1/p1p1p1p1p/9/9/P1P1P1P1P/1C5C1/4K4/RNBA1ABNR w - - 0 1"
    assert board_size(janggi) == (18, 10)
    assert placement(janggi)[1] == ("",) * 4 + ("k",) + ("",) * 4
    assert {len(line.plain) for line in board_lines("janggi", janggi, "e2e2", PLAIN)} == {18}


def test_a_coloured_janggi_board_has_hanja_of_two_columns_on_points():
    palette = Palette()
    after = get_game("janggi").position(None, ["a4b4"])
    lines = board_lines("janggi", after.fen, "a4b4", palette)
    assert {line.cell_len for line in lines} == {18}
    assert lines[0].plain == "車馬象士· 士象馬車"
    assert lines[6].plain == "· 卒卒· 卒· 卒· 卒"
    grounds = [str(span.style).rpartition(" on ")[2] for span in lines[6].spans]
    assert grounds == [palette.wood_moved] * 2 + [palette.wood] * 7
    palaces = [str(span.style).endswith(palette.palace) for span in lines[9].spans]
    assert palaces == [False] * 3 + [True] * 3 + [False] * 3
    colours = [{str(span.style).partition(" on ")[0] for span in lines[row].spans} for row in (0, 9)]
    assert colours == [{palette.han, palette.line}, {palette.cho, palette.line}]
