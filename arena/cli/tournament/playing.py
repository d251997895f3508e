"""What `run` and `resume` share: engines loaded, games on the screen, the table in the end."""

from __future__ import annotations

import asyncio
import shlex
import sys
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from arena.cli import INTERRUPTED
from arena.cli.brokers import publishing
from arena.cli.logs import logs_of
from arena.cli.options import console, echo_json
from arena.cli.play import load, make_screen
from arena.interrupts import termination_as_interrupt

if TYPE_CHECKING:
    from agents.mqtt.broker import Broker
    from arena.tournament.plan import Plan

plain_option = click.option("--plain", is_flag=True, help="Progress as lines, on a terminal too.")


def play_on_screen(
    plan: Plan, db: str, run_id: int | None, broker: Broker | None, *, mqtt_clear: bool, as_json: bool, plain: bool
) -> None:
    """Plays `plan` as a new run, or goes on with `run_id`, and shows the table. Exits with INTERRUPTED if games are
    left."""
    from arena.tournament.lineup import TournamentLineup
    from arena.tournament.runner import play_tournament, resume_tournament

    lineup = TournamentLineup(plan, broker)
    screen = make_screen(to_stderr=as_json, plain=plain, by_hand=lineup.has_person)
    context = click.get_current_context()
    with logs_of(context).shown_by(screen.notify), termination_as_interrupt():
        try:
            load(lineup)
            with screen, publishing(broker, db, clear=mqtt_clear) as publishers:
                readers = (screen, *publishers)
                playing = (
                    play_tournament(plan, db=db, readers=readers, lineup=lineup)
                    if run_id is None
                    else resume_tournament(run_id, db=db, readers=readers, lineup=lineup)
                )
                result = asyncio.run(playing)
        finally:
            lineup.close_engines()
    named = context.get_parameter_source("db") is ParameterSource.COMMANDLINE
    _tell(result.run_id, db, as_json=as_json, name_db=named)
    if result.status != "finished":
        sys.exit(INTERRUPTED)


def _tell(run_id: int, db: str, *, as_json: bool, name_db: bool) -> None:
    from arena.cli.tournament.standings import show
    from arena.store.database import Database
    from arena.tournament.standings import standings

    with Database.open(db, create=False) as database:
        found = standings(database, run_id)
    if as_json:
        echo_json(found)
        return
    show(found, console())
    where = f" --db {shlex.quote(db)}" if name_db else ""
    click.echo(f"\nRecorded in {db} as run {found.run}, {found.status}.")
    if found.status != "finished":
        click.echo(f"  arena tournament resume {found.run}{where}   goes on with it")
    click.echo(f"  arena games --run {found.run}{where}   lists its games")
