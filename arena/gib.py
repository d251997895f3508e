"""A recorded game of janggi as a `.gib` record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.errors import StoreError, UnfitError
from arena.printable import printable
from games import get_game
from games.base import IllegalMoveError, InvalidPositionError, Side, UnknownGameError
from games.janggi.game import Janggi
from games.janggi.gib import GibEnd, holds, write_gib

if TYPE_CHECKING:
    from arena.store.queries import GameDetail

UNKNOWN = "미상"
WINNERS: dict[str, Side | None] = {"1-0": "first", "0-1": "second", "1/2-1/2": None}
KEPT = ("대회명", "회전", "대국일자", "대국장소", "제한시간")
"""Tags of an imported game that its file knows and the record does not."""


def to_gib(detail: GameDetail) -> str:
    """The game as `.gib` text that ends in one line break; a void or unfinished game has no result.

    Raises UnfitError for another game than janggi and for one that did not begin with one of the sixteen setups,
    StoreError for a record that cannot be replayed.
    """
    rules = _rules(detail)
    try:
        start = rules.position(detail.initial_fen)
        if not holds(start):
            raise UnfitError(
                f"game {detail.game_id} begins with {start.fen}: .gib can be written for the sixteen setups only"
            )
        return write_gib(start, [move.move for move in detail.moves], _end(detail), _tags(detail))
    except (IllegalMoveError, InvalidPositionError) as error:
        raise StoreError(f"game {detail.game_id} cannot be replayed from the record: {error}") from error


def _rules(detail: GameDetail) -> Janggi:
    try:
        rules = get_game(detail.game)
    except UnknownGameError as error:
        raise UnfitError(f"game {detail.game_id}: {error}") from error
    if not isinstance(rules, Janggi):
        raise UnfitError(f"game {detail.game_id} is {detail.game}: .gib can be written for janggi only")
    return rules


def _end(detail: GameDetail) -> GibEnd | None:
    if detail.result not in WINNERS or detail.termination is None:
        return None
    return GibEnd(WINNERS[detail.result], detail.termination)


def _tags(detail: GameDetail) -> dict[str, str]:
    start = detail.started_at
    tags = {
        "대회명": f"Arena run {detail.run}",
        "회전": str(detail.index + 1),
        "대국일자": f"{start:%Y-%m-%d}" if start else UNKNOWN,
        "대국장소": UNKNOWN,
        "초대국자": detail.white,
        "한대국자": detail.black,
        "제한시간": UNKNOWN,
    }
    if detail.source_tags is not None:
        tags |= {name: detail.source_tags.get(name, UNKNOWN) for name in KEPT}
    return {name: printable(value).replace('"', "'") for name, value in tags.items()}
