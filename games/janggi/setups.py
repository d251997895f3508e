"""The sixteen start positions: each side chooses the order of its horses (마) and elephants (상)."""

from __future__ import annotations

SETUPS = {"masangmasang": "NBNB", "sangmasangma": "BNBN", "masangsangma": "NBBN", "sangmamasang": "BNNB"}
"""The pieces on the files b, c, g and h: for both sides from left to right on the board with Cho at the bottom."""


def setup_fen(cho: str, han: str) -> str:
    """The start position with the setups of those names. Raises KeyError."""

    def back_rank(setup: str) -> str:
        return f"R{setup[:2]}A1A{setup[2:]}R"

    top, bottom = back_rank(SETUPS[han]).lower(), back_rank(SETUPS[cho])
    return f"{top}/4k4/1c5c1/p1p1p1p1p/9/9/P1P1P1P1P/1C5C1/4K4/{bottom} w - - 0 1"


OPENINGS = {f"{cho}-{han}": setup_fen(cho, han) for cho in SETUPS for han in SETUPS}
"""The start positions as FEN by names such as `masangsangma-sangmamasang`: Cho's setup, then Han's."""
