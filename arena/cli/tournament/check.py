"""`arena tournament check`: what can go wrong in a long run, looked for before it."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from arena.cli.brokers import broker_options
from arena.cli.logs import log_options
from arena.cli.options import console, echo_json, json_option
from arena.cli.play import load
from arena.errors import ArenaError
from arena.interrupts import termination_as_interrupt

if TYPE_CHECKING:
    from agents.mqtt.broker import Broker
    from arena.tournament.check import Trial
    from arena.tournament.plan import Plan


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@json_option
@broker_options
@log_options
def command(spec: Path, as_json: bool, broker: Broker | None) -> None:
    """Validate the tournament that the file SPEC describes, and let each of its agents play one ply.

    Nothing is recorded. Exit code 1 if an agent or the judge gives no answer that counts.
    """
    from arena.tournament.check import try_all
    from arena.tournament.lineup import TournamentLineup
    from arena.tournament.plan import make_plan
    from arena.tournament.spec import read_spec

    plan = make_plan(read_spec(spec))
    lineup = TournamentLineup(plan, broker)
    with termination_as_interrupt():
        try:
            load(lineup)
            trials = asyncio.run(try_all(plan, lineup))
        finally:
            lineup.close_engines()
    if as_json:
        echo_json({"games": plan.format.most_games(), "openings": len(plan.openings), "trials": map_of(trials)})
    else:
        _show(plan, trials)
    if failed := [trial.player for trial in trials if trial.failure]:
        raise ArenaError(f"{', '.join(failed)} gave no move: see above")


def map_of(trials: tuple[Trial, ...]) -> list[dict[str, object]]:
    """The trials as JSON objects."""
    return [asdict(trial) for trial in trials]


def _show(plan: Plan, trials: tuple[Trial, ...]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from arena.printable import printable

    spec = plan.spec
    at_most = "at most " if spec.format in ("knockout", "sprt") else ""
    click.echo(
        f"{spec.name}: {spec.format}, {len(spec.agents)} agents, {at_most}{plan.format.most_games()} games of "
        f"{spec.game}, {len(plan.openings)} opening{'s' * (len(plan.openings) != 1)}"
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("agent", "first ply", "ms", "what was wrong"):
        table.add_column(name, justify="right" if name == "ms" else "left", overflow="fold")
    for trial in trials:
        cells = (trial.player, trial.move or "", f"{trial.total_ms:,.0f}", trial.failure)
        table.add_row(*(Text(printable(cell)) for cell in cells))
    console().print(table)
