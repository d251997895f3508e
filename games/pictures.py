"""Boards to look at, for every game: as SVG and as text for a terminal.

    board_svg(get_game("janggi").position(fen, moves), flip=True)

A picture is of a position; whoever has only a FEN makes one with `get_game(name).position(fen)`, and names the last
move. For the board that prompts show, see `Position.text`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from games.base import Position, Side

Faces = Literal["hanja", "hangul", "letters"]
"""What stands on janggi pieces. Chess has figures, or in a text board FEN's letters if that is what is asked for."""

Paint = Callable[[str, Side], str]
"""Given a piece as it is written, and whose it is: the same with a terminal's colour codes round it."""


@dataclass(frozen=True, slots=True)
class BoardArt:
    """The parts of a board's picture, for a page that moves the pieces itself; each part is SVG markup.

    In a view box of `width` by `height`, the centre of the square in the first player's left corner (a1) is at
    `origin`, that of the next file `step` to the right, of the next rank `step` up. `empty` are the board and its
    coordinates, as the first and as the second player sees them. All else is drawn round the point 0,0: `pieces` by
    face and FEN letter, and under them `left` and `reached` where the last move came from and went (by the piece's
    capital letter), `check` for a king or general in check.
    """

    width: int
    height: int
    origin: tuple[float, float]
    step: int
    files: int
    ranks: int
    empty: tuple[str, str]
    pieces: Mapping[str, Mapping[str, str]]
    left: str
    reached: Mapping[str, str]
    check: str


def board_art(game: str) -> BoardArt:
    """The parts of the pictures that `board_svg` draws of `game`'s positions."""
    if game == "chess":
        from games.chess_pictures import chess_art

        return chess_art()
    from games.janggi.svg import janggi_art

    return janggi_art()


def board_svg(
    position: Position,
    *,
    flip: bool = False,
    faces: Faces = "hanja",
    last_move: str | None = None,
    size: int | None = None,
) -> str:
    """The board as an SVG document that stands on its own, with the last move and a check marked.

    The first player's side is at the bottom, or at the top with `flip`. `last_move` None: the last of
    `position.moves`. `size` is the width in pixels; without it the picture fills what it is put into. Raises
    ValueError for a `last_move` that does not name two points of the board.
    """
    if last_move is None and position.moves:
        last_move = position.moves[-1]
    if position.game == "chess":
        from games.chess_pictures import chess_svg

        return chess_svg(position.fen, last_move=last_move, flip=flip, size=size)
    from games.janggi.svg import janggi_svg

    return janggi_svg(position.fen, last_move=last_move, flip=flip, faces=faces, size=size)


def board_text(position: Position, *, flip: bool = False, faces: Faces = "hanja", paint: Paint | None = None) -> str:
    """The board as lines of text that keep their columns in a terminal, with the names of files and ranks.

    With `letters` all is ASCII: FEN's letters, upper case for the first player.
    """
    if position.game == "chess":
        from games.chess_pictures import chess_text

        return chess_text(position.fen, letters=faces == "letters", flip=flip, paint=paint)
    from games.janggi.drawing import janggi_text

    return janggi_text(position.fen, faces=faces, flip=flip, paint=paint)
