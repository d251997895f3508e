"""Janggi boards for the terminal."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from games import get_game
from games.janggi.drawing import janggi_text

START = get_game("janggi").position().fen


def test_letters_give_an_ascii_board():
    text = janggi_text(START, faces="letters")
    assert text.isascii()
    lines = text.splitlines()
    assert lines[0] == "10   r---n---b---a---+---a---b---n---r"
    assert lines[1] == "     |   |   |   | \\ | / |   |   |   |"
    assert lines[2] == " 9   +---+---+---+---k---+---+---+---+"
    assert lines[3] == "     |   |   |   | / | \\ |   |   |   |"
    assert lines[5] == "     |   |   |   |   |   |   |   |   |"
    assert lines[18] == " 1   R---N---B---A---+---A---B---N---R"
    assert lines[19] == "     a   b   c   d   e   f   g   h   i"
    assert len(lines) == 20


def test_han_stands_in_brackets():
    lines = janggi_text(START).splitlines()
    assert lines[0] == "10  (車)(馬)(象)(士)-+--(士)(象)(馬)(車)"
    assert lines[18] == " 1   車--馬--象--士--+---士--象--馬--車"


@pytest.mark.parametrize("faces", ["hanja", "hangul"])
@pytest.mark.parametrize("flip", [False, True])
def test_wide_pieces_stand_in_the_columns_of_the_letters(faces, flip):
    narrow = janggi_text(START, faces="letters", flip=flip).splitlines()
    wide = janggi_text(START, faces=faces, flip=flip).splitlines()
    pieces = 0
    for plain, drawn in zip(narrow, wide, strict=True):
        for at, mark in enumerate(drawn):
            if cell_len(mark) == 2:
                pieces += 1
                assert plain[cell_len(drawn[:at])].isalpha()
            elif mark in "+|":
                assert plain[cell_len(drawn[:at])] == mark
    assert pieces == 32


def test_flipped_board_has_han_at_the_bottom_and_file_i_at_the_left():
    lines = janggi_text(get_game("janggi").position(None, ["a4b4"]).fen, faces="letters", flip=True).splitlines()
    assert lines[0].startswith(" 1   R---N")
    assert lines[6] == " 4   P---+---P---+---P---+---P---P---+"
    assert lines[18].startswith("10   r---n")
    assert lines[19].split() == list("ihgfedcba")


def test_pieces_are_painted_by_side():
    asked = []
    text = janggi_text(START, paint=lambda piece, side: asked.append((piece, side)) or f"<{piece}>")
    assert text.splitlines()[0].startswith("10  <(車)><(馬)>")
    assert asked.count(("卒", "first")) == asked.count(("(兵)", "second")) == 5
