"""A position named on the command line, for the commands that look at one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from arena.errors import UsageError

if TYPE_CHECKING:
    from games.base import Position

_OPTIONS = (
    click.option("--game", default="chess", show_default=True, metavar="NAME", help="Whose rules."),
    click.option("--fen", metavar="FEN", help="The position to begin with.  [default: the start of the game]"),
    click.option("--opening", metavar="NAME", help="An opening by name, instead of --fen: of janggi, its setups."),
    click.option("--moves", default="", metavar="MOVES", help='Moves from there, such as "e2e4 e7e5".'),
)


def position_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that `read_position` takes."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_position(game: str, fen: str | None, opening: str | None, moves: str) -> Position:
    """The position that the options name; moves in any notation that the game reads. Raises UsageError."""
    from arena.openings import find_opening
    from games import get_game
    from games.base import InvalidPositionError, UnknownGameError

    if fen is not None and opening is not None:
        raise UsageError("give --fen or --opening, not both")
    try:
        rules = get_game(game)
        if opening is not None:
            start = find_opening(rules, opening)
            position = rules.position(start.start_fen, start.moves)
        else:
            position = rules.position(fen)
    except UnknownGameError as error:
        raise UsageError(f"--game: {error}") from error
    except InvalidPositionError as error:
        raise UsageError(f"--fen: {error}") from error
    for number, move in enumerate(moves.replace(",", " ").split(), start=1):
        try:
            position = position.play(position.parse(move))
        except ValueError as error:  # an illegal move is one, too
            raise UsageError(f"--moves: move {number}: {error}") from error
    return position
