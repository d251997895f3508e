"""`arena bench prompts`: what each prompt template costs a move, and how often a free answer is legal at once."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from arena.cli.logs import log_options
from arena.cli.options import console, echo_json, json_option
from arena.errors import ArenaError, UsageError

if TYPE_CHECKING:
    from rich.table import Table

    from agents.prompts import PromptTemplate
    from arena.bench.prompts import PromptFigures


@click.command("prompts")
@click.option("--game", "games_named", multiple=True, metavar="NAME", help="Repeatable.  [default: chess, janggi]")
@click.option("--prompt", "named", multiple=True, metavar="NAME|FILE", help="Repeatable.  [default: all of them]")
@click.option("--games", type=click.IntRange(min=1), default=4, show_default=True, help="Games of each, at once.")
@click.option("--plies", type=click.IntRange(min=1), default=6, show_default=True, help="Moves asked for in each.")
@click.option("--temperature", type=click.FloatRange(min=0), default=1.0, show_default=True, help="Of the model.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the openings and the answers.")
@click.option("--model", default="smollm2-135m", show_default=True, help="As for `arena play`.")
@click.option("--threads", type=click.IntRange(min=1), help="Processor threads of the engine.")
@json_option
@log_options
def command(
    games_named: tuple[str, ...],
    named: tuple[str, ...],
    games: int,
    plies: int,
    temperature: float,
    seed: int,
    model: str,
    threads: int | None,
    as_json: bool,
) -> None:
    """Tokens a move, passes and legality at first try, by prompt template.

    The model plays both sides of a few games. At every ply it is asked once held to the legal moves, and once in free
    text, for the share of answers that are legal as they are.
    """
    from agents.prompt_files import PromptLibrary
    from agents.prompts import PromptError
    from arena.config import MIXED
    from arena.resources import data_path
    from games.base import UnknownGameError

    library = PromptLibrary(data_path("prompts"))
    try:
        templates = [library.load(name, game) for game in games_named or MIXED for name in named or library.names()]
    except (PromptError, UnknownGameError) as error:
        raise UsageError(str(error)) from error
    figures = asyncio.run(
        _measure(templates, model, threads, games=games, plies=plies, temperature=temperature, seed=seed)
    )
    if as_json:
        echo_json([{**asdict(row), "legal_share": row.legal_share} for row in figures])
    else:
        _print(figures)


async def _measure(
    templates: list[PromptTemplate],
    model: str,
    threads: int | None,
    *,
    games: int,
    plies: int,
    temperature: float,
    seed: int,
) -> list[PromptFigures]:
    from agents.base import InfrastructureError
    from arena.bench.prompts import measure_prompt
    from inference.engine import Engine, EngineConfig
    from inference.errors import ModelError

    figures: list[PromptFigures] = []
    try:
        async with Engine(EngineConfig(model=model, threads=threads)) as engine:
            for template in templates:
                click.echo(f"{template.game} {template.name} ...", err=True)
                figures.append(
                    await measure_prompt(engine, template, games=games, plies=plies, temperature=temperature, seed=seed)
                )
    except* ModelError as errors:
        raise UsageError(str(errors.exceptions[0])) from errors
    except* InfrastructureError as errors:
        raise ArenaError(f"the engine failed under this load: {errors.exceptions[0]}") from errors
    return figures


def _print(figures: list[PromptFigures]) -> None:
    for game in dict.fromkeys(row.game for row in figures):
        console().print(_table(game, [row for row in figures if row.game == game]))
    if any(row.constrained is None for row in figures):
        console().print("* in free text: its answer is more than a move, and cannot be held to the legal moves")


def _table(game: str, figures: list[PromptFigures]) -> Table:
    from rich.table import Table

    table = Table(title=game, title_justify="left", title_style="bold", box=None, header_style="bold")
    table.add_column("prompt")
    for column in ("prompt tokens", "tokens/move", "passes/move", "cached", "free: tokens/move", "legal at first try"):
        table.add_column(column, justify="right")
    for row in figures:
        cost = row.constrained or row.free
        table.add_row(
            row.template + "*" * (row.constrained is None),
            f"{row.free.prompt_tokens:,.0f}",
            f"{cost.forwarded_tokens:,.1f}",
            f"{cost.passes:.1f}",
            f"{cost.cached_share:.1%}",
            f"{row.free.forwarded_tokens:,.1f}",
            f"{row.legal_first}/{row.free.moves} ({row.legal_share:.0%})",
        )
    return table
