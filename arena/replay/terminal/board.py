"""Boards of a recorded game as coloured text, large enough to look at."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from rich.cells import cell_len
from rich.text import Text

from arena.live.board import FIGURES
from arena.replay.viewmodel import Ply
from games import get_game
from games.base import Side
from games.pictures import board_text
from games.words import placement

LIGHT, DARK, LIGHT_MOVED, DARK_MOVED, CHECKED = "#b8a27c", "#8c7050", "#c9b840", "#a8922c", "#d0503f"
WOOD, WOOD_MOVED, LINES = "#ecc98f", "#ffe066", "#8a6535"
CHESS_INK: dict[Side, str] = {"first": "bold #ffffff", "second": "bold #101010"}
JANGGI_INK: dict[Side, str] = {"first": "bold #0b3f7a", "second": "bold #b3201e"}
OPENS: dict[Side, str] = {"first": "\ue000", "second": "\ue001"}
CLOSES = "\ue002"
"""Marks from the private use area, round a piece on its way through `board_text`."""

JANGGI_COLUMNS, JANGGI_LEFT = 4, 4
"""Columns of a janggi point, and to the left of the first."""


@lru_cache(maxsize=256)
def ply_board(board: str, rules: str, ply: Ply, *, flip: bool, ascii_only: bool, large: bool) -> Text:
    """The board after `ply`: last move and check stand out. `ascii_only` has FEN's letters and no colours; `large`
    gives a chess square six columns and three lines instead of three columns and one."""
    if board == "chess" and not ascii_only:
        return Text("\n").join(_chess_lines(ply, flip, *((6, 3) if large else (3, 1))))
    position = get_game(rules).position(ply.fen)
    if ascii_only:
        return Text(board_text(position, flip=flip, faces="letters"))
    drawn = board_text(position, flip=flip, paint=lambda piece, side: f"{OPENS[side]}{piece}{CLOSES}")
    lines = [_inked(line) for line in drawn.splitlines()]
    for square in ply.squares or ():
        _mark(lines, square, flip, WOOD_MOVED)
    if ply.check is not None:
        _mark(lines, ply.check, flip, CHECKED)
    return Text("\n").join(lines)


def _chess_lines(ply: Ply, flip: bool, columns: int, rows: int) -> Iterator[Text]:
    pieces = placement(ply.fen)
    files = "hgfedcba" if flip else "abcdefgh"
    for rank in range(1, 9) if flip else range(8, 0, -1):
        for row in range(rows):
            middle = row == rows // 2
            line = Text().append(f"{rank} " if middle else "  ", "dim")
            for file in files:
                square = f"{file}{rank}"
                piece = pieces.get(square, "") if middle else ""
                figure = FIGURES[piece.lower()] if piece else ""
                ink = CHESS_INK["first" if piece.isupper() else "second"]
                line.append(f"{figure:^{columns}}", f"{ink} on {_ground(ply, square)}")
            yield line
    yield Text("  " + "".join(f"{file:^{columns}}" for file in files), "dim")


def _ground(ply: Ply, square: str) -> str:
    if square == ply.check:
        return CHECKED
    light = ("abcdefgh".index(square[0]) + int(square[1])) % 2 == 0
    if ply.squares and square in ply.squares:
        return LIGHT_MOVED if light else DARK_MOVED
    return LIGHT if light else DARK


def _inked(line: str) -> Text:
    """A line of a janggi board with its pieces in the colours of their sides."""
    text, style = Text(style=f"on {WOOD}"), LINES
    for mark in line:
        if mark == CLOSES:
            style = LINES
        elif mark in OPENS.values():
            style = JANGGI_INK["first" if mark == OPENS["first"] else "second"]
        else:
            text.append(mark, style)
    text.pad_right(JANGGI_LEFT + 9 * JANGGI_COLUMNS - text.cell_len)
    return text


def _mark(lines: list[Text], square: str, flip: bool, ground: str) -> None:
    """Gives a point of a janggi board another ground."""
    file, rank = "abcdefghi".index(square[0]), int(square[1:])
    line = lines[2 * (rank - 1 if flip else 10 - rank)]
    left = JANGGI_LEFT + JANGGI_COLUMNS * (8 - file if flip else file)
    column = 0
    for index, mark in enumerate(line.plain):
        if left <= column < left + JANGGI_COLUMNS - (mark == "-" and column == left + JANGGI_COLUMNS - 1):
            line.stylize(f"on {ground}", index, index + 1)
        column += cell_len(mark)
