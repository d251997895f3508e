"""`arena tournament resume`: go on with what the record holds, without the spec's file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from arena.cli.brokers import publishing_options
from arena.cli.logs import log_options
from arena.cli.options import db_option, json_option
from arena.cli.tournament.playing import plain_option, play_on_screen

if TYPE_CHECKING:
    from agents.mqtt.broker import Broker


@click.command()
@click.argument("run", required=False)
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N", help="Games at once.  [default: the spec's]")
@db_option
@json_option
@plain_option
@publishing_options
@log_options
def command(
    run: str | None,
    concurrency: int | None,
    db: str,
    as_json: bool,
    plain: bool,
    broker: Broker | None,
    mqtt_clear: bool,
) -> None:
    """Go on with the tournament RUN, by name or number (default: the newest that is not finished)."""
    from arena.store.claim import claimed
    from arena.store.database import Database
    from arena.tournament.runner import recorded_plan, unfinished_tournament

    with Database.open(db, create=False) as database:
        run_id = unfinished_tournament(database, run)
        with claimed(database, run_id):
            pass  # somebody else's run is refused before a model loads
        plan = recorded_plan(database, run_id)
    if concurrency is not None:
        plan = plan.at_once(concurrency)
    play_on_screen(plan, db, run_id, broker, mqtt_clear=mqtt_clear, as_json=as_json, plain=plain)
