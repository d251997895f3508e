"""`arena replay`: recorded games on the terminal, to step through."""

from __future__ import annotations

import sys

import click

from arena.cli.games import RESULTS
from arena.cli.logs import log_options
from arena.cli.options import db_option, game_id
from arena.errors import UsageError


@click.command("replay")
@click.argument("game", metavar="[GAME]", type=game_id, required=False)
@db_option
@click.option("--run", metavar="RUN", help="List only games of this run, by id or name.")
@click.option("--agent", metavar="NAME", help="List only games in which this agent played.")
@click.option("--result", type=click.Choice(RESULTS), help="List only games with this result.")
@click.option("--termination", metavar="NAME", help="List only games that ended so, such as forfeit-illegal.")
@click.option("--limit", type=click.IntRange(min=1), default=1000, show_default=True, help="At most so many.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Boards and charts in ASCII.")
@click.option("--flip", is_flag=True, help="The second player's side at the bottom.")
@log_options
def command(
    game: int | None,
    db: str,
    run: str | None,
    agent: str | None,
    result: str | None,
    termination: str | None,
    limit: int,
    ascii_only: bool,
    flip: bool,
) -> None:
    """Step through recorded games: a list of them, or game GAME at once.

    A game that is being played is followed as it goes. Press ? for the keys.
    """
    from arena.replay.prompts import recorded_replay
    from arena.replay.terminal.record import Filters, Record
    from arena.store.database import Database
    from arena.store.queries import game_detail, list_games

    with Database.open(db, create=False) as database:
        if game is not None:
            recorded_replay(
                game_detail(database, game)
            )  # what is wrong with it is better said before the screen changes
        list_games(database, run=run, agent=agent, limit=1)
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError("the viewer needs a terminal; `arena export --text` or --html write a game to a file")
        from arena.replay.terminal.app import ReplayApp

        filters = Filters(run, agent, result, termination, limit)
        ReplayApp(Record(database, filters), first_game=game, ascii_only=ascii_only, flip=flip).run()
