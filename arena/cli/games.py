"""`arena games`: what is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from arena.cli.logs import log_options
from arena.cli.options import console, db_option, echo_json, json_option
from arena.game_line import HEADINGS, NUMBERS, game_cells

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


def _print_table(games: list[GameLine]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if heading in NUMBERS else "left", overflow="fold")
    for game in games:
        table.add_row(*map(Text, game_cells(game)))
    console().print(table)
