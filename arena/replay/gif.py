"""A recorded game as an animated GIF.

Every part of the board is rasterised once, and the frames are put together from the parts.
"""

from __future__ import annotations

import io
from html import escape
from typing import TYPE_CHECKING

from arena.errors import UsageError
from arena.printable import printable, shortened
from arena.replay.viewmodel import Ply, Replay
from games.pictures import Faces, board_art
from games.words import placement

if TYPE_CHECKING:
    from PIL.Image import Image

WIDTH = 480
"""Of the picture, in pixels."""

LINE = 30
"""Height of a line of text above or below the board."""

MOVE_MS, LAST_MS = 800, 4000
"""How long a ply stands, and the last one."""

COLORS = 96
MOST_NAME = 28
GROUND, INK = "#22252a", "#f0eee8"


def replay_gif(replay: Replay, *, flip: bool = False, faces: Faces = "hanja") -> bytes:
    """The game as a GIF that repeats for ever. Raises UsageError without the extra `gif`, and for pieces that no
    installed font has."""
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise UsageError("animated GIFs need more packages: pip install 'arena-llm[gif]'") from error
    painter = _Painter(replay, flip, faces)
    frames = [painter.frame(ply) for ply in replay.plies]
    # One palette for all, so that a frame stores only what it changes: of two that have all the colours between them.
    checked = next((ply.ply for ply in replay.plies if ply.check is not None), 0)
    sample = Image.new("RGB", (frames[0].width, 2 * frames[0].height))
    sample.paste(frames[-1])
    sample.paste(frames[checked], (0, frames[0].height))
    palette = sample.quantize(COLORS)
    frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    times = [MOVE_MS] * (len(frames) - 1) + [LAST_MS]
    whole = io.BytesIO()
    frames[0].save(whole, "GIF", save_all=True, append_images=frames[1:], duration=times, loop=0)
    return whole.getvalue()


class _Painter:
    """Owns the rasterised parts of one game's pictures."""

    def __init__(self, replay: Replay, flip: bool, faces: Faces) -> None:
        self._replay, self._flip = replay, flip
        self._art = art = board_art(replay.rules)
        self._scale = WIDTH / art.width
        self._height = round(self._scale * art.height)
        pieces = art.pieces[faces if faces in art.pieces else next(iter(art.pieces))]
        if replay.board == "janggi" and faces != "letters":
            _check_font(faces)
        self._pieces = {letter: self._part(markup) for letter, markup in pieces.items()}
        self._reached = {letter: self._part(markup) for letter, markup in art.reached.items()}
        self._left, self._check = self._part(art.left), self._part(art.check)
        self._ground = self._empty()

    def frame(self, ply: Ply) -> Image:
        """The board after `ply` between the names of the players, with the move, or the ending, below."""
        from PIL import ImageDraw, ImageFont

        picture, board = self._ground.copy(), placement(ply.fen)
        if ply.check is not None:
            self._put(picture, self._check, ply.check)
        if ply.squares is not None:
            left, reached = ply.squares
            if left != reached:
                self._put(picture, self._left, left)
            self._put(picture, self._reached[board[reached].upper()], reached)
        for square, piece in board.items():
            self._put(picture, self._pieces[piece], square)
        caption = self._replay.ending if ply.ply == self._replay.last else f"{ply.number or ''} {ply.san or ''}"
        at = (WIDTH - 10, self._height + 1.5 * LINE)
        ImageDraw.Draw(picture).text(at, printable(caption), INK, ImageFont.load_default(16), anchor="rm")
        return picture.convert("RGB")

    def _put(self, picture: Image, part: Image, square: str) -> None:
        file, rank = "abcdefghi".index(square[0]), int(square[1:]) - 1
        if self._flip:
            file, rank = self._art.files - 1 - file, self._art.ranks - 1 - rank
        x = self._scale * (self._art.origin[0] + file * self._art.step)
        y = self._scale * (self._art.origin[1] - rank * self._art.step) + LINE
        picture.alpha_composite(part, (round(x - part.width / 2), round(y - part.height / 2)))

    def _part(self, markup: str) -> Image:
        """A part that is drawn round 0,0, in a square a little larger than the board's."""
        box = 1.4 * self._art.step
        pixels = round(box * self._scale)
        return _rasterised(markup, f"{-box / 2} {-box / 2} {box} {box}", pixels, pixels)

    def _empty(self) -> Image:
        """The picture without pieces and marks."""
        below, above = self._replay.players[::-1] if self._flip else self._replay.players
        board = self._art.empty[1 if self._flip else 0]
        names = "".join(
            f'<text x="10" y="{y}" font-size="16" font-weight="bold" font-family="sans-serif" fill="{INK}">'
            f"{escape(shortened(printable(player.name), MOST_NAME))} ({player.side})</text>"
            for player, y in ((above, 20), (below, self._height + LINE + 20))
        )
        height = self._height + 2 * LINE
        markup = (
            f'<rect width="{WIDTH}" height="{height}" fill="{GROUND}"/>{names}'
            f'<g transform="translate(0 {LINE}) scale({self._scale})">{board}</g>'
        )
        return _rasterised(markup, f"0 0 {WIDTH} {height}", WIDTH, height)


def _check_font(faces: Faces) -> None:
    """Raises UsageError if no installed font has the pieces' faces: they would come out blank."""
    from games.janggi.faces import FACES
    from games.janggi.svg import FONTS

    sample = FACES[faces]["K"]
    drawn = _rasterised(
        f'<text y="32" font-size="32" font-family="{FONTS[faces]}">{sample}</text>', "0 0 40 40", 40, 40
    )
    if drawn.getchannel("A").getextrema() == (0, 0):
        raise UsageError(f"no installed font has {sample}, so the pieces would be blank: use --pieces letters")


def _rasterised(markup: str, view_box: str, width: int, height: int) -> Image:
    """SVG markup as a picture with transparency."""
    import resvg_py
    from PIL import Image

    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
        f' viewBox="{view_box}" width="{width}" height="{height}">{markup}</svg>'
    )
    with Image.open(io.BytesIO(bytes(resvg_py.svg_to_bytes(svg_string=svg)))) as picture:
        return picture.convert("RGBA")
