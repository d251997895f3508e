"""Moves as Korean records write them: `71졸72`, `74상42병`, `86포16사장군`, and `한수쉼` for a pass.

A point is two digits, rank then file: ranks count from Han's back rank (1) to Cho's (0, for 10), files from Cho's
left (1) to its right (9). Then come the piece, the point it goes to, what it takes, and 장군 for a check. Pieces are
written in hangul; read are hangul and hanja, and the side before the piece (`41漢兵42`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from games.base import IllegalMoveError
from games.janggi.geometry import EMPTY, FILES, MOVE_NAMES, RANKS

if TYPE_CHECKING:
    from games.janggi.game import JanggiPosition

PASS = "한수쉼"
CHECK = "장군"

_WRITTEN = dict(zip("KARCNBPkarcnbp", "장사차포마상졸장사차포마상병", strict=True))
_READ = {
    "K": "장將궁宮왕王초楚",
    "k": "장將궁宮왕王한漢",
    **dict(zip("ARCNB", ("사士", "차車", "포包", "마馬", "상象"), strict=True)),
    **dict(zip("arcnb", ("사士", "차車", "포包", "마馬", "상象"), strict=True)),
    "P": "졸卒",
    "p": "병兵",
}
_SIDES = {True: "초楚", False: "한漢"}
_PIECES = "".join(sorted(set("".join(_READ.values()))))
_TAKEN = "".join(sorted(set(_PIECES) - set(_READ["K"]) - set(_READ["k"])))
_MOVE = re.compile(
    rf"(?P<origin>[0-9][1-9])(?P<side>[초楚한漢])?(?P<piece>[{_PIECES}])(?P<target>[0-9][1-9])(?P<taken>[{_TAKEN}])?"
    rf"(?P<check>{CHECK})?"
)


def korean(position: JanggiPosition, move: str) -> str:
    """A canonical move in Korean notation: with the piece it takes, and 장군 for a check. Raises IllegalMoveError."""
    origin, target = position.squares(move)
    if origin == target:
        return PASS
    board = position.board
    taken = _WRITTEN.get(board[target], "")
    check = CHECK if position.play(move).in_check else ""
    return f"{_digits(origin)}{_WRITTEN[board[origin]]}{_digits(target)}{taken}{check}"


def is_korean(text: str) -> bool:
    """Whether `text` can be Korean notation only: other notations begin with a letter of the alphabet."""
    return text == PASS or text[:1].isdecimal()


def parse_korean(position: JanggiPosition, text: str) -> str:
    """Canonical move for exactly one move in Korean notation.

    The side, the piece taken and the check may be left out; what is there has to be true. Raises IllegalMoveError for
    a well-formed move that the position does not allow, ValueError for no move.
    """
    if text == PASS:
        passes = [move for move in position.legal_moves() if len(set(position.squares(move))) == 1]
        if not passes:
            raise IllegalMoveError(f"{text!r}: a pass is not legal in {position.fen}")
        return passes[0]
    shape = _MOVE.fullmatch(text)
    if shape is None:
        raise ValueError(f"{text!r} is not a move in Korean notation, as 71졸72 or {PASS}")
    origin, target = _point(shape["origin"]), _point(shape["target"])
    move = MOVE_NAMES[origin][target]
    if origin == target or move not in position.legal_moves():
        raise IllegalMoveError(f"{text!r} ({move}) is not legal in {position.fen}")
    _check_claims(position, text, shape)
    if shape["check"] and not position.play(move).in_check:
        raise IllegalMoveError(f"{text!r} gives no check in {position.fen}")
    return move


def _check_claims(position: JanggiPosition, text: str, shape: re.Match[str]) -> None:
    """Raises IllegalMoveError if side, piece or piece taken are not those of the position."""
    cho = position.side_to_move == "first"
    if shape["side"] and shape["side"] not in _SIDES[cho]:
        raise IllegalMoveError(f"{text!r}: {'Cho (楚)' if cho else 'Han (漢)'} is to move in {position.fen}")
    for written, digits in ((shape["piece"], shape["origin"]), (shape["taken"], shape["target"])):
        standing = position.board[_point(digits)]
        if written and written not in _READ.get(standing, ""):
            there = "nothing" if standing == EMPTY else _WRITTEN[standing]
            raise IllegalMoveError(f"{text!r}: there is {there} on {digits}, not {written}, in {position.fen}")


def _digits(point: int) -> str:
    rank, file = divmod(point, FILES)
    return f"{(RANKS - rank) % 10}{file + 1}"


def _point(digits: str) -> int:
    return (RANKS - (int(digits[0]) or 10)) * FILES + int(digits[1]) - 1
