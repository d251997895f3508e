"""Moves as people write them: SAN-like, as Fairy-Stockfish has it, but for the pass; and what `parse` understands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from games.base import IllegalMoveError
from games.janggi.geometry import EMPTY, FILES, POINT_NAMES
from games.janggi.korean import is_korean, parse_korean

if TYPE_CHECKING:
    from games.janggi.game import JanggiPosition

PASS = "pass"
"""How a pass is written: `Ke2` would look like a move of the general."""

_POINT = "[a-i](?:10|[1-9])"
_CANONICAL = re.compile(_POINT * 2)
_SAN = re.compile(
    rf"(?:(?P<pass>{PASS})"
    rf"|(?P<piece>[KARCNBP])(?P<file>[a-i])?(?P<rank>10|[1-9])?(?P<capture>x)?(?P<target>{_POINT}))"
    r"[+#]?[!?]{0,2}"
)


def san(position: JanggiPosition, move: str) -> str:
    """`Nc3`, `Rxe9+`, `Pab4` (of two soldiers the one from file a), `R7a8`, `pass`. Raises IllegalMoveError."""
    origin, target = position.squares(move)
    if origin == target:
        return PASS
    piece = position.board[origin]
    others = [
        other
        for other, end in map(position.squares, position.legal_moves())
        if end == target and other not in (origin, target) and position.board[other] == piece
    ]
    capture = "" if position.board[target] == EMPTY else "x"
    after = position.play(move)
    check = ("+" if after.legal_moves() else "#") if after.in_check else ""
    return piece.upper() + _origin(origin, others) + capture + POINT_NAMES[target] + check


def parse(position: JanggiPosition, text: str) -> str:
    """Canonical move for exactly one move in canonical, SAN-like or Korean notation (see `games.janggi.korean`).

    The letters are those of the FEN, always capitals; captures have their `x` and other moves none; the origin may be
    given more fully than needed, not less. A check, mate or annotation suffix may follow and is not compared with
    the position. Raises IllegalMoveError for a well-formed move that is not legal here, ValueError for no move and
    for one that fits several.
    """
    if is_korean(text):
        return parse_korean(position, text)
    if _CANONICAL.fullmatch(text):
        position.squares(text)
        return text
    shape = _SAN.fullmatch(text)
    if shape is None:
        raise ValueError(f"{text!r} is not a move in coordinates, SAN or Korean notation")
    fitting = [move for move in position.legal_moves() if _fits(position, move, shape)]
    if not fitting:
        raise IllegalMoveError(f"{text!r} is not legal in {position.fen}")
    if len(fitting) > 1:
        raise ValueError(f"{text!r} is ambiguous: it could be {' or '.join(fitting)}")
    return fitting[0]


def _origin(origin: int, others: list[int]) -> str:
    """What tells the origin from those of `others`: its file if that does, else its rank, else both."""
    name = POINT_NAMES[origin]
    if not others:
        return ""
    if all(other % FILES != origin % FILES for other in others):
        return name[0]
    if all(other // FILES != origin // FILES for other in others):
        return name[1:]
    return name


def _fits(position: JanggiPosition, move: str, shape: re.Match[str]) -> bool:
    """Whether the legal `move` is one that the SAN describes."""
    origin, target = position.squares(move)
    if origin == target or shape["pass"]:
        return origin == target and bool(shape["pass"])
    name = POINT_NAMES[origin]
    return (
        position.board[origin].upper() == shape["piece"]
        and POINT_NAMES[target] == shape["target"]
        and (position.board[target] != EMPTY) == bool(shape["capture"])
        and shape["file"] in (None, name[0])
        and shape["rank"] in (None, name[1:])
    )
