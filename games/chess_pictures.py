"""Chess boards to look at: SVG by the `chess` package, and text."""

from __future__ import annotations

import re
from collections.abc import Iterator

import chess
import chess.svg

from games.base import Side
from games.pictures import BoardArt, Paint

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


SQUARE, MARGIN = 45, 20
"""As the `chess` package has them."""

WIDTH = 2 * MARGIN + 8 * SQUARE

_ID = re.compile(' id="[^"]*"')
_STYLE = re.compile('style="([^"]*)"')
_DECLARATION = re.compile(r"([\w-]+):\s*([^;]+);")


def chess_art() -> BoardArt:
    """What `chess_svg` draws with, in parts."""
    square = f'<rect x="{-SQUARE / 2}" y="{-SQUARE / 2}" width="{SQUARE}" height="{SQUARE}"'
    moved = f'{square} fill="#f0dc3c" fill-opacity="0.55"/>'
    centred = f'<g transform="translate({-SQUARE / 2} {-SQUARE / 2})">'
    return BoardArt(
        width=WIDTH,
        height=WIDTH,
        origin=(MARGIN + SQUARE / 2, WIDTH - MARGIN - SQUARE / 2),
        step=SQUARE,
        files=8,
        ranks=8,
        empty=("".join(_empty_board(False)), "".join(_empty_board(True))),
        pieces={"figures": {letter: f"{centred}{_plain(svg)}</g>" for letter, svg in chess.svg.PIECES.items()}},
        left=moved,
        reached=dict.fromkeys("KQRBNP", moved),
        check=f'<circle r="{SQUARE / 2}" fill="#ff2a1f" fill-opacity="0.7"/>',
    )


def _plain(piece: str) -> str:
    """A piece without an id, which may be there once only in a document, and with attributes in place of inline style,
    which a page's content security policy may forbid."""
    return _STYLE.sub(lambda style: _DECLARATION.sub(r'\1="\2"', style[1]), _ID.sub("", piece))


def _empty_board(flip: bool) -> Iterator[str]:
    """Margin, squares and coordinates."""
    yield f'<rect width="{WIDTH}" height="{WIDTH}" rx="6" fill="{COLORS["margin"]}"/>'
    for square in chess.SQUARES:
        file, rank = chess.square_file(square), chess.square_rank(square)
        tone = "light" if (file + rank) % 2 else "dark"
        x, y = MARGIN + file * SQUARE, MARGIN + (7 - rank) * SQUARE
        yield f'<rect x="{x}" y="{y}" width="{SQUARE}" height="{SQUARE}" fill="{COLORS[f"square {tone}"]}"/>'
    yield '<g fill="#e5e5e5" font-family="sans-serif" font-size="11" text-anchor="middle">'
    for index in range(8):
        file, rank = (7 - index, 7 - index) if flip else (index, index)
        along = MARGIN + (index + 0.5) * SQUARE
        yield f'<text x="{along}" y="{WIDTH - 6}">{chess.FILE_NAMES[file]}</text>'
        yield f'<text x="{MARGIN / 2}" y="{WIDTH - along + 4}">{rank + 1}</text>'
    yield "</g>"


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
