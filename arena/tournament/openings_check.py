"""Is every opening of the chess list balanced? `make openings-check`, or `python -m arena.tournament.openings_check`.

Stockfish looks at each final position with a fixed number of nodes and an empty hash table, so that its answer is
the same every time. Exit code 1 if one is out of balance.
"""

from __future__ import annotations

import sys

import chess
import chess.engine
import click

from agents.uci.process import EngineNotFoundError, find_engine
from arena.openings import own_openings
from games import get_game


@click.command()
@click.option("--engine", default="stockfish", show_default=True, help="UCI engine: a command or a path.")
@click.option("--nodes", default=300_000, show_default=True, help="How long it looks at a position.")
@click.option("--limit", default=50, show_default=True, help="Centipawns that an opening may be off the middle.")
def main(engine: str, nodes: int, limit: int) -> None:
    """Check that every opening of the chess list is balanced."""
    try:
        command = find_engine(engine)
    except EngineNotFoundError as error:
        raise click.UsageError(str(error)) from error
    worst = 0
    openings = own_openings(get_game("chess"))
    with chess.engine.SimpleEngine.popen_uci(command) as stockfish:
        stockfish.configure({"Threads": 1})
        for opening in openings:
            found = stockfish.analyse(chess.Board(opening.fen), chess.engine.Limit(nodes=nodes), game=object())
            score = found["score"].white().score(mate_score=100_000)
            worst = max(worst, abs(score))
            if abs(score) > limit:
                click.echo(f"{score:+d} {opening.name}: {opening.fen}")
    click.echo(f"{len(openings)} openings; the furthest from even is {worst} centipawns, {limit} are allowed")
    sys.exit(worst > limit)


if __name__ == "__main__":
    main()
