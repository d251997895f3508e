"""A board of a recorded game as a picture."""

from __future__ import annotations

from arena.replay.viewmodel import Replay
from games import get_game
from games.pictures import Faces, board_svg


def ply_svg(replay: Replay, ply: int, *, flip: bool = False, faces: Faces = "hanja", size: int | None = None) -> str:
    """The board after `ply` as an SVG document, with the last move and a check marked."""
    shown = replay.plies[ply]
    position = get_game(replay.rules).position(shown.fen)
    return board_svg(position, flip=flip, faces=faces, last_move=shown.move, size=size)
