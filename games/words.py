"""Positions and moves in words, for those who listen to a board or cannot see it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from games import get_game
from games.base import Position, Side
from games.janggi.faces import PIECE_NAMES as JANGGI_NAMES

CHESS_NAMES = {"K": "king", "Q": "queen", "R": "rook", "B": "bishop", "N": "knight", "P": "pawn"}

_SQUARE = re.compile(r"[a-i](?:10|[1-9])")


def piece_names(game: str) -> Mapping[str, str]:
    """The names of the pieces by FEN's capital letters, the most important first."""
    return CHESS_NAMES if game == "chess" else JANGGI_NAMES


def squares_of(move: str) -> tuple[str, str]:
    """The squares that a canonical move leaves and reaches; the same one twice for a pass. Raises ValueError."""
    found = _SQUARE.findall(move)
    if len(found) != 2:
        raise ValueError(f"{move!r} is not a move in coordinates, as e2e4")
    return found[0], found[1]


def placement(fen: str) -> dict[str, str]:
    """FEN's letter of the piece on each square that has one: `{"e1": "K", ...}`."""
    ranks = fen.split()[0].split("/")
    return {
        f"{'abcdefghi'[file]}{len(ranks) - row}": piece
        for row, rank in enumerate(ranks)
        for file, piece in _pieces(rank)
    }


def checked_square(position: Position) -> str | None:
    """Where the king or general in check stands; None without a check."""
    if not position.in_check:
        return None
    royal = "K" if position.side_to_move == "first" else "k"
    return next(square for square, piece in placement(position.fen).items() if piece == royal)


def position_words(position: Position) -> str:
    """`White: king e1; rooks a1, h1; ... Black: ... White to move, in check.`"""
    names, board = piece_names(position.game), placement(position.fen)
    sides = get_game(position.game).sides
    said = [f"{sides[side]}: {'; '.join(_army(board, side, names))}." for side in sides]
    check = ", in check" if position.in_check else ""
    return " ".join([*said, f"{sides[position.side_to_move]} to move{check}."])


def move_words(before: Position, after: Position) -> str:
    """What led from `before` to `after`: `White moves knight g1 to f3`, with what it takes, becomes and attacks."""
    names, board = piece_names(before.game), placement(before.fen)
    side = get_game(before.game).sides[before.side_to_move]
    start, end = squares_of(after.moves[-1])
    if start == end:
        said = f"{side} passes"
    else:
        said = f"{side} moves {names[board[start].upper()]} {start} to {end}"
        said += f", takes {names[board[end].upper()]}" if end in board else ""
        became = placement(after.fen)[end]
        said += f", becomes {names[became.upper()]}" if became != board[start] else ""
    return said + (", check" if after.in_check else "")


def _pieces(rank: str) -> Iterator[tuple[int, str]]:
    """File and letter of every piece on a rank of a FEN."""
    file = 0
    for mark in rank:
        if mark.isdigit():
            file += int(mark)
        else:
            yield file, mark
            file += 1


def _army(board: Mapping[str, str], side: Side, names: Mapping[str, str]) -> Iterator[str]:
    for letter, name in names.items():
        mine = letter if side == "first" else letter.lower()
        squares = sorted(square for square, piece in board.items() if piece == mine)
        if squares:
            yield f"{name}{'s' if len(squares) > 1 else ''} {', '.join(squares)}"
