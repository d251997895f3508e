"""`arena tournament run`: from a spec to the last game."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from arena.cli.brokers import publishing_options
from arena.cli.logs import log_options
from arena.cli.options import db_option, json_option
from arena.cli.tournament.playing import plain_option, play_on_screen

if TYPE_CHECKING:
    from agents.mqtt.broker import Broker


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--new", is_flag=True, help="Play it from the start, though the record has it already.")
@db_option
@json_option
@plain_option
@publishing_options
@log_options
def command(
    spec: Path, new: bool, db: str, as_json: bool, plain: bool, broker: Broker | None, mqtt_clear: bool
) -> None:
    """Play the tournament that the file SPEC describes, live on the screen.

    If the record has a run of the same tournament that is not finished, this goes on with it: the same but for
    `concurrency`, which changes no game.
    """
    from arena.store.database import Database
    from arena.tournament.plan import make_plan
    from arena.tournament.runner import recorded_plan, run_to_continue
    from arena.tournament.spec import read_spec

    plan = make_plan(read_spec(spec))
    Database.check(db)
    run_id = None
    if not new and Database.exists(db):
        with Database.open(db, create=True) as database:
            run_id = run_to_continue(database, plan)
            if run_id is not None:  # as it began: what `auto` came to is in the record
                plan = recorded_plan(database, run_id).at_once(plan.spec.concurrency)
    if run_id is not None:
        click.echo(f"Going on with run {run_id}; --new starts another.", err=True)
    play_on_screen(plan, db, run_id, broker, mqtt_clear=mqtt_clear, as_json=as_json, plain=plain)
