"""A game as a line of a table: the same cells wherever games are listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.printable import printable

if TYPE_CHECKING:
    from arena.store.queries import GameLine

HEADINGS = ("game", "run", "rules", "first", "second", "result", "plies", "ended by", "started")
NUMBERS = ("game", "plies")
"""Headings of the columns that hold numbers."""


def game_cells(game: GameLine) -> tuple[str, ...]:
    """What stands under each of HEADINGS; nothing in it can move a terminal's cursor."""
    cells = (
        str(game.game_id),
        game.run,
        game.game,
        game.white,
        game.black,
        game.result or "",
        str(game.plies),
        how_it_ended(game),
        f"{game.started_at:%Y-%m-%d %H:%M}" if game.started_at else "",
    )
    return tuple(printable(cell) for cell in cells)


def how_it_ended(game: GameLine) -> str:
    """Termination, or how far the game is; with what sets it apart from the others."""
    if game.status != "finished":
        return game.status
    notes = ["void"] * game.void + [f"same as {game.duplicate_of}"] * (game.duplicate_of is not None)
    return f"{game.termination}" + (f" ({', '.join(notes)})" if notes else "")
