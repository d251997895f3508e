"""A janggi board for a terminal, which keeps its columns: points joined by lines, with the crosses of the palaces.

A point takes four columns. Hanja and hangul are two columns wide in every terminal, whereas box-drawing characters
are one or two depending on its settings: so the lines are made of ASCII.

    10  (車)(馬)(象)(士)-+--(士)
         |   |   |   | \\ | / |
     9   +---+---+---+--(漢)-+--
"""

from __future__ import annotations

from games.janggi.faces import FACES
from games.janggi.fen import read_fen
from games.janggi.geometry import EMPTY, FILES, RANKS
from games.pictures import Faces, Paint

CROSSED = {1: "\\/", 2: "/\\", 8: "\\/", 9: "/\\"}
"""Between a row and the one above it, where a palace is: its lines left and right of the middle file."""


def janggi_text(fen: str, *, faces: Faces = "hanja", flip: bool = False, paint: Paint | None = None) -> str:
    """The board of `fen` in 20 lines, Cho at the bottom, or at the top with `flip`; the last line names the files.

    Han's pieces stand in brackets, so that the sides differ without colours too. With `letters` all is ASCII, and
    upper case is Cho as in the FEN. Raises InvalidPositionError.
    """
    board = read_fen(fen).board
    ranks = range(RANKS) if flip else range(RANKS - 1, -1, -1)
    files = range(FILES - 1, -1, -1) if flip else range(FILES)
    lines: list[str] = []
    for row, rank in enumerate(ranks):
        if row > 0:
            lines.append(f"    {_between(row)}")
        points = [_point(board[rank * FILES + file], column, faces, paint) for column, file in enumerate(files)]
        lines.append(f"{rank + 1:>2}  {''.join(points)}")
    lines.append("    " + "  ".join(f" {'abcdefghi'[file]}" for file in files))
    return "\n".join(lines)


def _point(piece: str, column: int, faces: Faces, paint: Paint | None) -> str:
    """Four columns: a piece or a crossing, and the lines that lead to its neighbours."""
    left = "-" if column > 0 else " "
    right = "-" if column < FILES - 1 else ""
    if piece == EMPTY:
        return f"{left}+{2 * right}"
    face = FACES[faces][piece]
    if faces == "letters":
        right *= 2
    elif piece.islower():
        left, face, right = "", f"({face})", ""
    return f"{left}{face if paint is None else paint(face, 'first' if piece.isupper() else 'second')}{right}"


def _between(row: int) -> str:
    """The vertical lines between a row and the one above it."""
    gaps = ["   "] * (FILES - 1)
    if row in CROSSED:
        gaps[3], gaps[4] = (f" {line} " for line in CROSSED[row])
    return " |" + "".join(f"{gap}|" for gap in gaps)
