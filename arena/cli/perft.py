"""`arena perft`: how many lines of legal moves there are, to compare move generators by."""

from __future__ import annotations

import time

import click

from arena.cli.logs import log_options
from arena.cli.options import echo_json, json_option
from arena.cli.positions import position_options, read_position


@click.command("perft")
@position_options
@click.option("--depth", type=click.IntRange(min=1), required=True, metavar="N", help="Plies to look ahead.")
@click.option("--divide", "divided", is_flag=True, help="Count for each first move apart.")
@json_option
@log_options
def command(
    game: str, fen: str | None, opening: str | None, moves: str, depth: int, divided: bool, as_json: bool
) -> None:
    """Count the lines of legal moves from a position."""
    from games.perft import divide, perft

    position = read_position(game, fen, opening, moves)
    begun = time.perf_counter()
    counts = divide(position, depth) if divided else None
    nodes = perft(position, depth) if counts is None else sum(counts.values())
    seconds = time.perf_counter() - begun
    if as_json:
        fields = {"game": game, "fen": position.fen, "depth": depth, "nodes": nodes, "seconds": seconds}
        echo_json({**fields, "divide": counts} if counts is not None else fields)
        return
    for move, count in (counts or {}).items():
        click.echo(f"{move}: {count}")
    click.echo(f"{nodes} nodes at depth {depth} in {seconds:.2f} s ({nodes / seconds:,.0f} a second)")
