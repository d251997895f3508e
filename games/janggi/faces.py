"""What stands on the pieces: hanja, hangul or FEN's letters."""

from __future__ import annotations

from games.pictures import Faces

PIECE_NAMES = {
    "K": "general",
    "A": "guard",
    "R": "chariot",
    "C": "cannon",
    "N": "horse",
    "B": "elephant",
    "P": "soldier",
}

_LETTERS = "KARCNBPkarcnbp"

FACES: dict[Faces, dict[str, str]] = {
    "hanja": dict(zip(_LETTERS, "楚士車包馬象卒漢士車包馬象兵", strict=True)),
    "hangul": dict(zip(_LETTERS, "초사차포마상졸한사차포마상병", strict=True)),
    "letters": dict(zip(_LETTERS, _LETTERS, strict=True)),
}
"""By style, then by FEN letter; upper case is Cho. Every hanja and hangul face is two columns wide in a terminal."""
