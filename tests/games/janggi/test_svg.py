"""Janggi boards as SVG."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from games import get_game
from games.base import InvalidPositionError
from games.janggi.svg import CELL, CHECK, HEIGHT, LEFT, MARGIN, REACHED, WIDTH, janggi_svg

SVG = "{http://www.w3.org/2000/svg}"
START = get_game("janggi").position().fen
CHECKED = "3k4R/9/9/9/9/9/9/9/9/4K4 b - - 0 1"


def drawn(fen=START, **options):
    """The picture as a tree, which it can only become if it is well-formed."""
    root = ElementTree.fromstring(janggi_svg(fen, **options))
    assert root.tag == f"{SVG}svg"
    return root


def pieces(root):
    """What each piece is called, what stands on it, and where its letter is: {title: (face, x, colour)}."""
    found = {}
    for group in root.iter(f"{SVG}g"):
        if (title := group.find(f"{SVG}title")) is not None:
            text = group.find(f"{SVG}text")
            found[title.text] = (text.text, int(text.get("x")), text.get("fill"))
    return found


def filled(root, colour):
    return [element for element in root.iter() if element.get("fill") == colour]


def test_all_32_pieces_are_named_and_stand_on_their_points():
    found = pieces(drawn())
    assert len(found) == 32
    assert found["Cho general e2"][:2] == ("楚", MARGIN + 4 * CELL)
    assert found["Han general e9"][:2] == ("漢", MARGIN + 4 * CELL)
    assert found["Cho soldier a4"][:2] == ("卒", MARGIN)
    assert found["Han soldier i7"][:2] == ("兵", MARGIN + 8 * CELL)
    assert len({colour for _, _, colour in found.values()}) == 2


def test_pieces_have_hangul_or_letters_if_asked():
    assert pieces(drawn(faces="hangul"))["Cho horse b1"][0] == "마"
    letters = pieces(drawn(faces="letters"))
    assert (letters["Cho horse b1"][0], letters["Han horse b10"][0]) == ("N", "n")


def test_pieces_are_octagons_sized_by_rank():
    root = drawn()
    widths = {}
    for group in root.iter(f"{SVG}g"):
        if (title := group.find(f"{SVG}title")) is not None:
            corners = [corner.split() for corner in group.findall(f"{SVG}path")[1].get("d")[1:-1].split("L")]
            assert len(corners) == 8
            across = [float(x) for x, _ in corners]
            widths[title.text.split()[1]] = max(across) - min(across)
    assert widths["general"] > widths["chariot"] == widths["elephant"] > widths["guard"] == widths["soldier"]


def test_flipped_board_has_han_at_the_bottom():
    here, there = drawn(), drawn(flip=True)
    assert pieces(there)["Cho soldier a4"][1] == pieces(here)["Cho soldier i4"][1]
    heights = {
        name: float(group.find(f"{SVG}text").get("y"))
        for group in there.iter(f"{SVG}g")
        if (title := group.find(f"{SVG}title")) is not None
        and (name := title.text) in ("Cho general e2", "Han general e9")
    }
    assert heights["Cho general e2"] < heights["Han general e9"]


def test_last_move_marks_where_it_came_from_and_the_piece():
    after = get_game("janggi").position(None, ["a4b4"]).fen
    root = drawn(after, last_move="a4b4")
    assert (len(filled(root, LEFT)), len(filled(root, REACHED))) == (1, 1)
    passed = drawn(START, last_move="e2e2")
    assert (len(filled(passed, LEFT)), len(filled(passed, REACHED))) == (0, 1)
    assert filled(drawn(), REACHED) == []


def test_general_in_check_is_marked():
    (mark,) = filled(drawn(CHECKED), CHECK)
    assert (mark.get("cx"), mark.get("cy")) == (str(MARGIN + 3 * CELL), str(MARGIN))
    assert filled(drawn(), CHECK) == []


def test_board_has_nine_files_ten_ranks_and_two_crosses():
    grid = next(path.get("d") for path in drawn().iter(f"{SVG}path") if "H" in path.get("d"))
    assert (grid.count("H"), grid.count("V"), grid.count("l")) == (10, 9, 4)


def test_size_keeps_the_proportions_and_none_fills_the_place():
    assert (drawn(size=300).get("width"), drawn(size=300).get("height")) == ("300", str(round(300 * HEIGHT / WIDTH)))
    assert drawn().get("width") is None
    assert drawn().get("viewBox") == f"0 0 {WIDTH} {HEIGHT}"


def test_picture_brings_everything_it_needs_and_styles_nothing_else():
    text = janggi_svg(CHECKED, last_move="i1i10")
    assert {element.tag for element in drawn().iter()} == {
        f"{SVG}{name}" for name in ["svg", "title", "rect", "path", "g", "text"]
    }
    assert "href" not in text
    assert "url(" not in text


@pytest.mark.parametrize("move", ["a4", "a4b4c4", "a0b1", "j1a1", "<script>"])
def test_what_is_no_move_is_refused(move):
    with pytest.raises(ValueError, match="is not a move in coordinates"):
        janggi_svg(START, last_move=move)


def test_what_is_no_position_is_refused():
    with pytest.raises(InvalidPositionError):
        janggi_svg("<svg/>")
