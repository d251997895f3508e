"""A small board as lines of text, for any game whose FEN lists ranks from the top."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from rich.text import Text

from games.janggi.faces import FACES

FIGURES = dict(zip("kqrbnp", "♚♛♜♝♞♟", strict=True))  # the filled ones: colour tells the sides apart
POINT = "·"


class Palette(NamedTuple):
    """Colours of the squares and the pieces; `figures` off gives FEN's letters and no colours at all.

    A janggi board has points instead of squares, so its ground has one colour, but for the palaces.
    """

    figures: bool = True
    light: str = "#93a4b4"
    dark: str = "#65798a"
    light_moved: str = "#c9ba6b"  # the squares that the last move left and reached
    dark_moved: str = "#a89a45"
    first: str = "bold #ffffff"
    second: str = "#000000"
    wood: str = "#ecc98f"
    palace: str = "#dcb273"
    wood_moved: str = "#f7e36b"
    line: str = "#a8804a"
    cho: str = "bold #0b3f7a"
    han: str = "bold #b3201e"


PLAIN = Palette(figures=False)


@lru_cache(maxsize=1024)
def board_lines(game: str, fen: str, last_move: str | None, palette: Palette) -> tuple[Text, ...]:
    """The board of `fen`, one rank a line, two columns a square; the squares of `last_move` stand out.

    Without colours, pieces are FEN's letters (upper case for the first player), empty squares are dots, and the
    piece that moved last has a mark.
    """
    grid = placement(fen)
    moved = squares(last_move) if last_move else ()
    lines = []
    for index, rank in enumerate(grid):
        line = Text(no_wrap=True, end="")
        for file, piece in enumerate(rank):
            square = (file, len(grid) - index)
            if palette.figures and is_janggi(game):
                line.append_text(_janggi_point(piece, square, moved, palette))
            elif palette.figures:
                line.append_text(_chess_square(piece, square, moved, palette))
            else:
                reached = moved[-1:] == (square,)
                line.append(f">{piece}" if reached and piece else f" {piece or POINT}", "bold" if reached else "")
        lines.append(line)
    return tuple(lines)


def board_size(fen: str) -> tuple[int, int]:
    """Columns and lines that `board_lines` takes."""
    grid = placement(fen)
    return 2 * len(grid[0]), len(grid)


def placement(fen: str) -> tuple[tuple[str, ...], ...]:
    """The ranks of a FEN from the top, each a letter or an empty string for every file."""
    return tuple(tuple(_files(rank)) for rank in fen.split()[0].split("/"))


def _files(rank: str) -> Iterator[str]:
    for character in rank:
        if character.isdigit():
            yield from [""] * int(character)
        elif character.isalpha():
            yield character


def squares(move: str) -> tuple[tuple[int, int], ...]:
    """File (from 0) and rank (from 1) of the squares named in a canonical move, such as `e2e4` or `a9a10`."""
    found: list[tuple[int, int]] = []
    at = 0
    while at < len(move):
        end = at + 1
        while end < len(move) and move[end].isdigit():
            end += 1
        if end > at + 1:
            found.append((ord(move[at]) - ord("a"), int(move[at + 1 : end])))
        at = end
    return tuple(found)


def is_janggi(game: str) -> bool:
    """Whether it is one of the rule sets of janggi, whose names begin so."""
    return game.startswith("janggi")


def _chess_square(piece: str, square: tuple[int, int], moved: tuple[tuple[int, int], ...], palette: Palette) -> Text:
    is_light = sum(square) % 2 == 0
    if square in moved:
        ground = palette.light_moved if is_light else palette.dark_moved
    else:
        ground = palette.light if is_light else palette.dark
    side = palette.first if piece.isupper() else palette.second
    return Text(f"{FIGURES[piece.lower()] if piece else ' '} ", f"{side} on {ground}")


def _janggi_point(piece: str, square: tuple[int, int], moved: tuple[tuple[int, int], ...], palette: Palette) -> Text:
    """A piece is a hanja, which is two columns wide by itself."""
    file, rank = square
    in_palace = 3 <= file <= 5 and (rank <= 3 or rank >= 8)
    ground = palette.wood_moved if square in moved else palette.palace if in_palace else palette.wood
    if not piece:
        return Text(f"{POINT} ", f"{palette.line} on {ground}")
    return Text(FACES["hanja"][piece], f"{palette.cho if piece.isupper() else palette.han} on {ground}")
