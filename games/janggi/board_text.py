"""The board as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from games.janggi.geometry import FILES, POINTS, RANKS

if TYPE_CHECKING:
    from games.janggi.game import JanggiPosition


def text(position: JanggiPosition) -> str:
    """Ten ranks with their numbers, then the files: Cho's pieces are capitals, a dot is empty."""
    rows = [position.board[start : start + FILES] for start in range(0, POINTS, FILES)]
    lines = [f"{rank:2} {' '.join(row)}" for rank, row in zip(range(1, RANKS + 1), rows, strict=True)]
    return "\n".join([*reversed(lines), "   a b c d e f g h i"])
