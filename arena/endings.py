"""How games end: what happened -> result and termination. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from agents.base import Failure
from games.base import Outcome, Position, Side

Result = Literal["1-0", "0-1", "1/2-1/2", "*"]

PLY_LIMIT = "ply-limit"
"""The termination of a game that has reached its most plies."""

MAX_REPLAYS = 2
"""How often a game that became void is played again."""


class Fault(StrEnum):
    """Why a side got no move played. The values are the terminations that the record uses."""

    ILLEGAL = "forfeit-illegal"
    UNPARSABLE = "forfeit-unparsable"
    EMPTY = "forfeit-empty"
    TRUNCATED = "forfeit-truncated"
    TIME = "time"
    CRASH = "crash"
    INFRASTRUCTURE = "infrastructure"


FAULT_OF = {
    Failure.ILLEGAL: Fault.ILLEGAL,
    Failure.UNPARSABLE: Fault.UNPARSABLE,
    Failure.EMPTY: Fault.EMPTY,
    Failure.TRUNCATED: Fault.TRUNCATED,
    Failure.TIMEOUT: Fault.TIME,
    Failure.CRASH: Fault.CRASH,
    Failure.CANCELLED: Fault.INFRASTRUCTURE,  # not by the match, so by what the agent relies on
}

REPLAYED = frozenset({Fault.CRASH.value, Fault.INFRASTRUCTURE.value})
"""Terminations after which a void game is played again."""


@dataclass(frozen=True, slots=True)
class Ending:
    """`result` as in PGN; a `void` game has no result and does not count."""

    result: Result
    termination: str
    void: bool = False
    detail: str = ""


def win_of(side: Side) -> Result:
    """The result when `side` wins; `first` is White in PGN's terms."""
    return "1-0" if side == "first" else "0-1"


def result_of(winner: Side | None) -> Result:
    """The result when `winner` wins; None is a draw."""
    return "1/2-1/2" if winner is None else win_of(winner)


def other(side: Side) -> Side:
    return "second" if side == "first" else "first"


def natural_ending(position: Position, max_plies: int) -> Ending | None:
    """The ending by the game's rules, else by the ply limit, else None: the game goes on."""
    outcome = position.outcome()
    if outcome is not None:
        return by_rule(outcome)
    if len(position.moves) >= max_plies:
        return Ending(result_of(position.winner_on_points()), PLY_LIMIT)
    return None


def by_rule(outcome: Outcome) -> Ending:
    return Ending(result_of(outcome.winner), outcome.termination)


def by_resignation(side: Side) -> Ending:
    """The ending when `side` gives up."""
    return Ending(win_of(other(side)), "resignation")


def by_fault(fault: Fault, mover: Side, *, replay: int, detail: str = "") -> Ending:
    """The ending when `mover` got no move played in the `replay`-th replay of a game (0: the first try).

    A failure of what the agent relies on is nobody's fault: void. So is a crash, until the replays are used up;
    then, as for every forfeit, the opponent wins.
    """
    void = fault is Fault.INFRASTRUCTURE or (fault is Fault.CRASH and replay < MAX_REPLAYS)
    result: Result = "*" if void else win_of(other(mover))
    return Ending(result, fault.value, void, detail)
