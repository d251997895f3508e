"""`arena bench rules`: how long the rules of a game take."""

from __future__ import annotations

import click

from arena.cli.logs import log_options
from arena.cli.options import console, echo_json, json_option
from arena.errors import UsageError


@click.command("rules")
@click.option("--game", "games", multiple=True, metavar="NAME", help="Repeatable.  [default: chess and janggi]")
@click.option("--positions", type=click.IntRange(2, 100_000), default=200, show_default=True, help="Of each game.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the games that the positions are from.")
@json_option
@log_options
def command(games: tuple[str, ...], positions: int, seed: int, as_json: bool) -> None:
    """Time of finding the legal moves of a middle-game position, and of playing one."""
    from arena.bench.rules import GAMES, measure
    from games.base import UnknownGameError

    try:
        timings = [measure(name, positions, seed) for name in games or GAMES]
    except UnknownGameError as error:
        raise UsageError(f"--game: {error}") from error
    if as_json:
        echo_json({"positions": positions, "seed": seed, "games": timings})
        return
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    for column in ("game", "legal moves", "median us", "p95 us", "play, us"):
        table.add_column(column, justify="left" if column == "game" else "right")
    for timing in timings:
        cells = (timing.moves, timing.legal_moves_us, timing.legal_moves_p95_us, timing.play_us)
        table.add_row(timing.game, *(f"{cell:.0f}" for cell in cells))
    console().print(table)
    click.echo(f"\n{positions} positions of each game, from random games; the best of three times for each.")
