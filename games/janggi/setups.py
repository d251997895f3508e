"""The sixteen start positions: each side chooses the order of its horses (마) and elephants (상)."""

from __future__ import annotations

SETUPS = {"masangmasang": "NBNB", "sangmasangma": "BNBN", "masangsangma": "NBBN", "sangmamasang": "BNNB"}
"""Pieces on the files b, c, g and h, from left to right on the board as drawn with Cho at the bottom, for both sides."""


def setup_fen(cho: str, han: str) -> str:
    """The start position with the setups of that name. Raises KeyError."""
    rows = {}
    for side, setup in (("cho", SETUPS[cho]), ("han", SETUPS[han])):
        b, c, g, h = setup
        rows[side] = f"R{b}{c}A1A{g}{h}R"
    return f"{rows['han'].lower()}/4k4/1c5c1/p1p1p1p1p/9/9/P1P1P1P1P/1C5C1/4K4/{rows['cho']} w - - 0 1"


OPENINGS = {f"{cho}-{han}": setup_fen(cho, han) for cho in SETUPS for han in SETUPS}
"""Names such as `masangsangma-sangmamasang`, Cho's setup first, and the start positions as FEN."""
