"""`arena games`: what is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from arena.cli.logs import log_options
from arena.cli.options import console, db_option, echo_json, json_option

if TYPE_CHECKING:
    from arena.store.queries import GameLine

RESULTS = ("1-0", "0-1", "1/2-1/2", "*")


@click.command("games")
@db_option
@click.option("--run", metavar="RUN", help="Only games of this run, by id or name.")
@click.option("--agent", metavar="NAME", help="Only games in which this agent played.")
@click.option("--result", type=click.Choice(RESULTS), help="Only games with this result.")
@click.option("--termination", metavar="NAME", help="Only games that ended so, such as forfeit-illegal.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most so many, the newest.")
@json_option
@log_options
def command(
    db: str,
    run: str | None,
    agent: str | None,
    result: str | None,
    termination: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """List recorded games, the newest first."""
    from arena.store.database import Database
    from arena.store.queries import list_games

    with Database.open(db, create=False) as database:
        games = list_games(database, run=run, agent=agent, result=result, termination=termination, limit=limit)
    if as_json:
        echo_json(games)
    elif games:
        _print_table(games)
        if len(games) == limit:
            click.echo(f"Only the newest {limit} are listed; --limit N lists more.")
    else:
        click.echo("No recorded game matches.")


def how_it_ended(game: GameLine) -> str:
    """Termination, or how far the game is; with what sets it apart from the others."""
    if game.status != "finished":
        return game.status
    notes = ["void"] * game.void + [f"same as {game.duplicate_of}"] * (game.duplicate_of is not None)
    return f"{game.termination}" + (f" ({', '.join(notes)})" if notes else "")


def _print_table(games: list[GameLine]) -> None:
    from rich.table import Table
    from rich.text import Text

    from arena.printable import printable

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("game", justify="right")
    for heading in ("run", "rules", "white", "black", "result"):
        table.add_column(heading, overflow="fold")
    table.add_column("plies", justify="right")
    table.add_column("ended by", overflow="fold")
    table.add_column("started")
    for game in games:
        cells = (
            str(game.game_id),
            game.run,
            game.game,
            game.white,
            game.black,
            game.result or "",
            str(game.plies),
            how_it_ended(game),
            f"{game.started_at:%Y-%m-%d}" if game.started_at else "",
        )
        table.add_row(*(Text(printable(cell)) for cell in cells))
    console().print(table)
