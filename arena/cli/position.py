"""`arena position`: what the rules say about a position."""

from __future__ import annotations

import click

from arena.cli.logs import log_options
from arena.cli.options import echo_json, json_option
from arena.cli.positions import position_options, read_position

LINE_WIDTH = 88


@click.command("position")
@position_options
@json_option
@log_options
def command(game: str, fen: str | None, opening: str | None, moves: str, as_json: bool) -> None:
    """Show a position: board, side to move, check, legal moves, points, and whether the game is over."""
    from games import get_game

    position = read_position(game, fen, opening, moves)
    sides = get_game(game).sides
    legal, outcome, points = position.legal_moves(), position.outcome(), position.points
    if as_json:
        echo_json(
            {
                "game": game,
                "fen": position.fen,
                "moves": position.moves,
                "side_to_move": position.side_to_move,
                "check": position.in_check,
                "legal_moves": legal,
                "points": points,
                "outcome": outcome,
                "text": position.text(),
            }
        )
        return
    click.echo(f"{position.text()}\n\n{position.fen}")
    if outcome is None:
        click.echo(f"{sides[position.side_to_move]} to move" + (", in check" if position.in_check else ""))
    if points is not None:
        click.echo("Points: " + ", ".join(f"{sides[side]} {count:g}" for side, count in points.items()))
    if outcome is not None:
        who = "draw" if outcome.winner is None else f"{sides[outcome.winner]} wins"
        click.echo(f"The game is over: {who} by {outcome.termination}")
    if legal:
        click.echo(click.wrap_text(f"{len(legal)} legal moves: {' '.join(legal)}", width=LINE_WIDTH))
    else:
        click.echo("No legal moves")
