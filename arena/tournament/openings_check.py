"""Is every opening of the chess list balanced? `make openings-check`, or `python -m arena.tournament.openings_check`.

A judge looks at each final position, with a fixed number of nodes and an empty hash table, so that its answer is the
same every time. Exit code 1 if one is out of balance.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

import click

from agents.base import UnusableAgentError
from agents.kind import AgentSpecError
from agents.spec import parse_spec
from agents.uci.judge import Judge
from arena.openings import Opening, own_openings
from games import get_game
from games.base import Position


@click.command()
@click.option("--judge", default="uci:stockfish?nodes=300000", show_default=True, help="Who looks at the positions.")
@click.option("--limit", default=50, show_default=True, help="Centipawns that an opening may be off the middle.")
def main(judge: str, limit: int) -> None:
    """Check that every opening of the chess list is balanced."""
    openings = own_openings(get_game("chess"))
    try:
        scores = asyncio.run(_scores(Judge(parse_spec(judge), ["chess"]), openings))
    except (AgentSpecError, UnusableAgentError) as error:
        raise click.UsageError(f"--judge: {error}") from error
    for opening, score in zip(openings, scores, strict=True):
        if abs(score) > limit:
            click.echo(f"{score:+d} {opening.name}: {opening.fen}")
    worst = max(map(abs, scores))
    click.echo(f"{len(openings)} openings; the furthest from even is {worst} centipawns, {limit} are allowed")
    sys.exit(worst > limit)


async def _scores(judge: Judge, openings: Sequence[Opening]) -> list[int]:
    """The scores for White after the moves of `openings`."""
    positions = [get_game("chess").position(opening.start_fen, opening.moves) for opening in openings]
    await judge.start()
    try:
        return await asyncio.gather(*(_score(judge, position) for position in positions))
    finally:
        await judge.close()


async def _score(judge: Judge, position: Position) -> int:
    _, score = await judge.assess(position)
    return score if position.side_to_move == "first" else -score


if __name__ == "__main__":
    main()
