"""`arena position`: what the rules say about a position, and how it looks."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from arena.cli.logs import log_options
from arena.cli.options import echo_json, json_option
from arena.cli.positions import position_options, read_position
from arena.errors import ArenaError

if TYPE_CHECKING:
    from games.base import Position, Side
    from games.pictures import Faces

LINE_WIDTH = 88
COLORS: dict[Side, str] = {"first": "bright_blue", "second": "bright_red"}
"""Of the pieces on a terminal; the board says whose they are without colours too."""


@click.command("position")
@position_options
@click.option("--pieces", type=click.Choice(["hanja", "hangul", "letters"]), help="What stands on janggi pieces.")
@click.option("--ascii", "as_ascii", is_flag=True, help="Draw the board in ASCII: --pieces letters, for chess too.")
@click.option("--flip", is_flag=True, help="The second player's side at the bottom.")
@click.option("--svg", metavar="FILE", type=click.Path(path_type=Path), help="Also draw the board into FILE, as SVG.")
@json_option
@log_options
def command(
    game: str,
    fen: str | None,
    opening: str | None,
    moves: str,
    pieces: Faces | None,
    as_ascii: bool,
    flip: bool,
    svg: Path | None,
    as_json: bool,
) -> None:
    """Show a position: board, side to move, check, legal moves, points, and whether the game is over."""
    from games.pictures import board_svg, board_text

    position = read_position(game, fen, opening, moves)
    if svg is not None:
        _write(svg, board_svg(position, flip=flip, faces=pieces or "hanja"))
    if as_json:
        echo_json(_as_json(position))
        return
    faces = "letters" if as_ascii else pieces or "hanja"
    colored = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    click.echo(f"{board_text(position, flip=flip, faces=faces, paint=_paint if colored else None)}\n\n{position.fen}")
    _describe(position)


def _paint(piece: str, side: Side) -> str:
    return click.style(piece, fg=COLORS[side], bold=True)


def _as_json(position: Position) -> dict[str, object]:
    legal = position.legal_moves()
    return {
        "game": position.game,
        "fen": position.fen,
        "start_fen": position.start_fen,
        "moves": position.moves,
        "side_to_move": position.side_to_move,
        "check": position.in_check,
        "legal_moves": legal,
        "legal_san": [position.san(move) for move in legal],
        "points": position.points,
        "outcome": position.outcome(),
        "text": position.text(),
    }


def _describe(position: Position) -> None:
    """Side to move, last move, points, outcome, legal moves."""
    from games import get_game

    rules = get_game(position.game)
    legal, outcome, points = position.legal_moves(), position.outcome(), position.points
    if position.moves:
        before = rules.position(position.start_fen, position.moves[:-1])
        number = f"Ply {len(position.moves)}"
        click.echo(f"{number}: {rules.sides[before.side_to_move]} played {_both(before, position.moves[-1])}")
    if outcome is None:
        click.echo(f"{rules.sides[position.side_to_move]} to move" + (", in check" if position.in_check else ""))
    if points is not None:
        click.echo("Points: " + ", ".join(f"{rules.sides[side]} {count:g}" for side, count in points.items()))
    if outcome is not None:
        who = "draw" if outcome.winner is None else f"{rules.sides[outcome.winner]} wins"
        click.echo(f"The game is over: {who} by {outcome.termination}")
    if legal:
        click.echo(click.wrap_text(f"{len(legal)} legal moves: {' '.join(legal)}", width=LINE_WIDTH))
    else:
        click.echo("No legal moves")


def _both(position: Position, move: str) -> str:
    san = position.san(move)
    return move if san == move else f"{san} ({move})"


def _write(file: Path, svg: str) -> None:
    try:
        file.write_text(svg, encoding="utf-8")
    except OSError as error:
        raise ArenaError(f"cannot write {file}: {error.strerror or error}") from error
