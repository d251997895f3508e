"""`arena tournament resume`: go on with what the record holds, without the spec's file."""

from __future__ import annotations

import click

from arena.cli.logs import log_options
from arena.cli.options import db_option, json_option
from arena.cli.tournament.playing import plain_option, play_on_screen


@click.command()
@click.argument("run", required=False)
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N", help="Games at once.  [default: the spec's]")
@db_option
@json_option
@plain_option
@log_options
def command(run: str | None, concurrency: int | None, db: str, as_json: bool, plain: bool) -> None:
    """Go on with the tournament RUN, by name or number (default: the newest that is not finished)."""
    from dataclasses import replace

    from arena.store.claim import claimed
    from arena.store.database import Database
    from arena.tournament.runner import recorded_plan, unfinished_tournament

    with Database.open(db, create=False) as database:
        run_id = unfinished_tournament(database, run)
        with claimed(database, run_id):
            pass  # somebody else's run is refused before a model loads
        plan = recorded_plan(database, run_id)
    if concurrency is not None:
        plan = replace(plan, spec=plan.spec.model_copy(update={"concurrency": concurrency}))
    play_on_screen(plan, db, run_id, as_json=as_json, plain=plain)
