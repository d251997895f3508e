"""A janggi board as SVG: 90 points, the lines of the palaces, octagonal pieces sized by rank.

The picture stands on its own: it loads nothing, runs nothing, brings its own background (so that it looks the same on
a light and on a dark page), and names every piece in a `<title>`. The letters on the pieces are text in whatever font
the viewer has for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from math import cos, pi, sin

from games.janggi.faces import FACES, PIECE_NAMES
from games.janggi.fen import read_fen
from games.janggi.geometry import EMPTY, FILES, POINT_NAMES, POINT_OF, POINTS, RANKS
from games.janggi.movegen import in_check
from games.pictures import BoardArt, Faces

CELL = 60
MARGIN = 54
WIDTH = 2 * MARGIN + (FILES - 1) * CELL
HEIGHT = 2 * MARGIN + (RANKS - 1) * CELL

RADIUS = {"K": 27.0, "R": 23.5, "C": 23.5, "N": 23.5, "B": 23.5, "A": 18.5, "P": 18.5}
"""From the centre of a piece to its flat sides, in units of the picture: by rank, as the wooden ones are."""

INK = {True: "#14508c", False: "#b3201e"}
"""Cho (upper case in a FEN) is blue, Han is red; they differ in brightness too."""

BOARD, EDGE, LINE, LABEL = "#ecc98f", "#8a5a2b", "#6d4520", "#6d4520"
WOOD, RIM_OF_WOOD = "#fbf1d8", "#7a5427"
REACHED, LEFT, MARK_EDGE, CHECK = "#ffd84a", "#c98a1b", "#a8660a", "#ff3b30"

SANS = "'Helvetica Neue',Arial,'Liberation Sans',sans-serif"
FONTS: dict[Faces, str] = {
    "hanja": "'Noto Serif CJK KR','Noto Serif KR','Source Han Serif K',Batang,AppleMyungjo,UnBatang,serif",
    "hangul": "'Noto Sans CJK KR','Noto Sans KR','Apple SD Gothic Neo','Malgun Gothic',UnDotum,sans-serif",
    "letters": SANS,
}


def janggi_svg(
    fen: str, *, last_move: str | None = None, flip: bool = False, faces: Faces = "hanja", size: int | None = None
) -> str:
    """The board of `fen` as an SVG document, Cho at the bottom, or at the top with `flip`.

    The points of `last_move`, a canonical move, stand out, and so does a general in check. `size` is the width in
    pixels; without it the picture fills what it is put into. Raises InvalidPositionError for a FEN, ValueError for a
    move that cannot be read.
    """
    placed = read_fen(fen)
    board = placed.board
    moved = () if last_move is None else _ends(last_move)
    attacked = [board.index("K" if placed.cho else "k")] if in_check(board, placed.cho) else []
    from_the_top = sorted(range(POINTS), key=lambda point: _centre(point, flip)[::-1])
    dimensions = "" if size is None else f' width="{size}" height="{round(size * HEIGHT / WIDTH)}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"{dimensions} role="img">',
        f"<title>{escape(f'Janggi board: {fen}')}</title>",
        *_empty_board(flip),
        *(_check_mark(*_centre(point, flip)) for point in attacked),
        *_move_marks(moved, board, flip),
        f'<g font-family="{FONTS[faces]}" font-weight="700" text-anchor="middle">',
        *(_piece(board[point], point, flip, faces) for point in from_the_top if board[point] != EMPTY),
        "</g>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def janggi_art() -> BoardArt:
    """What `janggi_svg` draws with, in parts."""
    styles = {
        faces: f'<g font-family="{font}" font-weight="700" text-anchor="middle">' for faces, font in FONTS.items()
    }
    edge = f'stroke="{MARK_EDGE}" stroke-width="1.5"'
    return BoardArt(
        width=WIDTH,
        height=HEIGHT,
        origin=(MARGIN, HEIGHT - MARGIN),
        step=CELL,
        files=FILES,
        ranks=RANKS,
        empty=("".join(_empty_board(False)), "".join(_empty_board(True))),
        pieces={
            faces: {piece: f"{style}{_piece_at(piece, 0, 0, faces)}</g>" for piece in FACES[faces]}
            for faces, style in styles.items()
        },
        left=f'<path d="{_octagon(0, 0, 15)}" fill="{LEFT}" fill-opacity="0.35" {edge} stroke-dasharray="4 3"/>',
        reached={
            piece: f'<path d="{_octagon(0, 0, radius + 4.5)}" fill="{REACHED}" {edge}/>'
            for piece, radius in RADIUS.items()
        },
        check=_check_mark(0, 0),
    )


def _empty_board(flip: bool) -> Iterator[str]:
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="{BOARD}"/>'
    yield (
        f'<rect x="5" y="5" width="{WIDTH - 10}" height="{HEIGHT - 10}" rx="7" fill="none" stroke="{EDGE}"'
        ' stroke-width="2"/>'
    )
    yield f'<path d="{"".join(_lines())}" fill="none" stroke="{LINE}" stroke-width="1.5" stroke-linecap="square"/>'
    yield f'<g fill="{LABEL}" font-family="{SANS}" font-size="13" font-weight="600" text-anchor="middle">'
    yield from _coordinates(flip)
    yield "</g>"


def _ends(move: str) -> tuple[int, int]:
    """The points that a canonical move leaves and reaches. Raises ValueError."""
    ends = tuple(POINT_OF[name] for name in re.findall(r"[a-i](?:10|[1-9])", move))
    if len(ends) != 2 or "".join(POINT_NAMES[point] for point in ends) != move:
        raise ValueError(f"{move!r} is not a move in coordinates, as a4b4")
    return ends


def _centre(point: int, flip: bool) -> tuple[int, int]:
    rank, file = divmod(POINTS - 1 - point if flip else point, FILES)
    return MARGIN + file * CELL, HEIGHT - MARGIN - rank * CELL


def _lines() -> Iterator[str]:
    """The grid and the two crosses; the board looks the same from both sides."""
    left, right, top, bottom = MARGIN, WIDTH - MARGIN, MARGIN, HEIGHT - MARGIN
    for rank in range(RANKS):
        yield f"M{left} {top + rank * CELL}H{right}"
    for file in range(FILES):
        yield f"M{left + file * CELL} {top}V{bottom}"
    for y in (top, bottom - 2 * CELL):
        x = left + 3 * CELL
        yield f"M{x} {y}l{2 * CELL} {2 * CELL}M{x} {y + 2 * CELL}l{2 * CELL} {-2 * CELL}"


def _coordinates(flip: bool) -> Iterator[str]:
    for file in range(FILES):
        x, _ = _centre(file, flip)
        yield f'<text x="{x}" y="{HEIGHT - 12}">{"abcdefghi"[file]}</text>'
    for rank in range(RANKS):
        _, y = _centre(rank * FILES, flip)
        yield f'<text x="17" y="{y + 4.5}">{rank + 1}</text>'


def _check_mark(x: int, y: int) -> str:
    return f'<circle cx="{x}" cy="{y}" r="36" fill="{CHECK}" fill-opacity="0.75"/>'


def _move_marks(moved: tuple[int, ...], board: str, flip: bool) -> Iterator[str]:
    """Where the last move came from, and a halo round the piece that moved; a pass has its halo only."""
    if not moved:
        return
    start, end = moved
    edge = f'stroke="{MARK_EDGE}" stroke-width="1.5"'
    if start != end:
        outline = _octagon(*_centre(start, flip), 15)
        yield f'<path d="{outline}" fill="{LEFT}" fill-opacity="0.35" {edge} stroke-dasharray="4 3"/>'
    outline = _octagon(*_centre(end, flip), RADIUS.get(board[end].upper(), 0) + 4.5)
    yield f'<path d="{outline}" fill="{REACHED}" {edge}/>'


def _piece(piece: str, point: int, flip: bool, faces: Faces) -> str:
    title = f"{'Cho' if piece.isupper() else 'Han'} {PIECE_NAMES[piece.upper()]} {POINT_NAMES[point]}"
    return f"<g><title>{title}</title>{_piece_at(piece, *_centre(point, flip), faces)}</g>"


def _piece_at(piece: str, x: float, y: float, faces: Faces) -> str:
    radius = RADIUS[piece.upper()]
    ink = INK[piece.isupper()]
    font_size = radius * 1.4
    return (
        f'<path d="{_octagon(x + 1, y + 2, radius)}" fill-opacity="0.22"/>'
        f'<path d="{_octagon(x, y, radius)}" fill="{WOOD}" stroke="{RIM_OF_WOOD}" stroke-width="1.4"/>'
        f'<path d="{_octagon(x, y, radius - 2.8)}" fill="none" stroke="{ink}" stroke-opacity="0.5"/>'
        # Half the height of a capital or a hanja below the centre: `dominant-baseline` is not known everywhere.
        f'<text x="{x}" y="{y + 0.355 * font_size:.1f}" font-size="{font_size:.1f}" fill="{ink}">'
        f"{FACES[faces][piece]}</text>"
    )


def _octagon(x: float, y: float, radius: float) -> str:
    """A regular octagon that stands on a flat side, `radius` from its centre to its sides."""
    corner = radius / cos(pi / 8)
    angles = [pi / 8 + turn * pi / 4 for turn in range(8)]
    return "M" + "L".join(f"{x + corner * cos(a):.1f} {y + corner * sin(a):.1f}" for a in angles) + "Z"
