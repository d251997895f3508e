"""How a game stands or ended, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from games.base import Side


class Ended(Protocol):
    """What the words are made of, as `GameLine` and other rows about a game have it."""

    @property
    def status(self) -> str: ...
    @property
    def result(self) -> str | None: ...
    @property
    def termination(self) -> str | None: ...
    @property
    def void(self) -> bool: ...
    @property
    def plies(self) -> int: ...


WINNERS: dict[str, Side] = {"1-0": "first", "0-1": "second"}

ENDINGS = {
    "ply-limit": "at the ply limit",
    "time": "on time",
    "forfeit-illegal": "{loser} answered with an illegal move",
    "forfeit-unparsable": "{loser} answered with no move",
    "forfeit-empty": "{loser} answered nothing",
    "forfeit-truncated": "{loser}’s answer was cut off",
    "crash": "{loser} crashed",
    "infrastructure": "what an agent relies on failed",
    "bikjang": "by bikjang: the generals face each other",
    "double-pass": "both sides passed",
    "insufficient-material": "by insufficient material",
    "fifty-moves": "by fifty moves without a capture or a pawn move",
}
"""By termination, what follows the result; a rule that is not listed is `by` its name."""


def result_words(game: Ended, sides: Mapping[Side, str]) -> str:
    """`White wins by checkmate`, `Draw at the ply limit`, `Unfinished after 12 plies`; no full stop."""
    plies = f"{game.plies} {'ply' if game.plies == 1 else 'plies'}"
    if game.status == "scheduled":
        return "Not started"
    if game.status != "finished":
        return f"Unfinished after {plies}"
    winner = WINNERS.get(game.result or "")
    loser = "an agent" if winner is None else sides["second" if winner == "first" else "first"]
    how = how_it_ended(game.termination or "unknown", loser)
    if game.void:
        return f"Void: {how}"
    if winner is not None:
        return f"{sides[winner]} wins{_joined(how)}"
    return f"Draw{_joined(how)}" if game.result == "1/2-1/2" else f"No result: {how}"


def how_it_ended(termination: str, loser: str) -> str:
    """The termination in words."""
    return ENDINGS.get(termination, f"by {termination.replace('-', ' ')}").format(loser=loser)


def _joined(how: str) -> str:
    return f" {how}" if how.startswith(("by ", "at ", "on ")) else f": {how}"
