"""Chess boards to look at: SVG by the `chess` package, and text."""

from __future__ import annotations

import chess
import chess.svg

from games.base import Side
from games.pictures import Paint

COLORS = {
    "square light": "#f0d9b5",
    "square dark": "#b58863",
    "square light lastmove": "#e6d86e",
    "square dark lastmove": "#bfa63f",
    "margin": "#3c3a37",
}


def chess_svg(fen: str, *, last_move: str | None = None, flip: bool = False, size: int | None = None) -> str:
    """The board of `fen` as an SVG document. Raises ValueError for a FEN or move that cannot be read."""
    board = chess.Board(fen)
    return chess.svg.board(
        board,
        orientation=chess.BLACK if flip else chess.WHITE,
        lastmove=None if last_move is None else chess.Move.from_uci(last_move),
        check=board.king(board.turn) if board.is_check() else None,
        size=size,
        colors=COLORS,
    )


def chess_text(fen: str, *, letters: bool = False, flip: bool = False, paint: Paint | None = None) -> str:
    """Eight ranks with their numbers, then the files; a dot is an empty square.

    Pieces are figures, White's hollow and Black's filled, or FEN's letters. Raises ValueError for a FEN that cannot
    be read.
    """
    board = chess.Board(fen)
    ranks = range(8) if flip else range(7, -1, -1)
    files = range(7, -1, -1) if flip else range(8)
    lines = []
    for rank in ranks:
        pieces = (board.piece_at(chess.square(file, rank)) for file in files)
        lines.append(" ".join([str(rank + 1), *(_square(piece, letters, paint) for piece in pieces)]))
    return "\n".join([*lines, " ".join([" ", *(chess.FILE_NAMES[file] for file in files)])])


def _square(piece: chess.Piece | None, letters: bool, paint: Paint | None) -> str:
    if piece is None:
        return "."
    side: Side = "first" if piece.color == chess.WHITE else "second"
    written = piece.symbol() if letters else piece.unicode_symbol()
    return written if paint is None else paint(written, side)
