"""`arena bench standings`: how long the table of a large tournament takes."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path

import click

from arena.cli.logs import log_options
from arena.cli.options import echo_json, json_option


@click.command("standings")
@click.option("--games", type=click.IntRange(2, 100_000), default=100_000, show_default=True, help="Finished ones.")
@click.option("--agents", type=click.IntRange(2, 1000), default=10, show_default=True, help="Who played them.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the results.")
@json_option
@log_options
def command(games: int, agents: int, seed: int, as_json: bool) -> None:
    """Time of the table of a tournament with very many games, read from a record."""
    from arena.bench.standings import measure

    with tempfile.TemporaryDirectory() as folder:
        timing = measure(games, agents, seed, Path(folder))
    if as_json:
        echo_json(asdict(timing))
        return
    click.echo(
        f"{timing.games:,} games of {timing.agents} agents: the table takes {timing.table_s:.2f} s, the median of 3"
    )
    click.echo(f"written to the record in {timing.written_s:.1f} s")
