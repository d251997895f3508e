"""Points and what stands on them, as pictures need them: read from a FEN without asking the rules."""

from __future__ import annotations

import re
from typing import NamedTuple

from games.janggi.faces import PIECE_NAMES

FILES = 9
RANKS = 10
_SYNONYMS = str.maketrans("HEhe", "NBnb")
_POINT = re.compile(r"([a-i])(10|[1-9])")


class Point(NamedTuple):
    """A point of the board; both numbers count from 0, `rank` from Cho's back rank."""

    file: int
    rank: int

    def __str__(self) -> str:
        return f"{'abcdefghi'[self.file]}{self.rank + 1}"


def placement(fen: str) -> dict[Point, str]:
    """The FEN letters of the pieces by their points. Raises ValueError for a board that is not 9 by 10."""
    board = (fen.split() or [""])[0].translate(_SYNONYMS)
    rows = board.split("/")
    found: dict[Point, str] = {}
    for index, row in enumerate(rows):
        file = 0
        for mark in row:
            if mark.isdecimal():
                file += int(mark)
                continue
            if mark.upper() not in PIECE_NAMES:
                raise ValueError(f"{mark!r} in {fen!r} is no piece of janggi")
            found[Point(file, RANKS - 1 - index)] = mark
            file += 1
        if file != FILES:
            raise ValueError(f"the row {row!r} of {fen!r} has {file} points, not {FILES}")
    if len(rows) != RANKS:
        raise ValueError(f"{fen!r} has {len(rows)} rows, not {RANKS}")
    return found


def points_of(text: str) -> tuple[Point, ...]:
    """The points named in canonical text, such as `e9`, `a4b4` or `i7i10`. Raises ValueError."""
    found = tuple(Point("abcdefghi".index(file), int(rank) - 1) for file, rank in _POINT.findall(text))
    if not found or "".join(map(str, found)) != text:
        raise ValueError(f"{text!r} does not name points of the board, as e9 or a4b4 do")
    return found
