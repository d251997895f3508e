"""`arena bench roofline`: what this machine can do at best."""

from __future__ import annotations

import click

from arena.cli.logs import log_options
from arena.cli.options import console, echo_json, json_option
from arena.errors import UsageError
from inference.formats import KV_CHOICES, WEIGHT_CHOICES, KVChoice, WeightChoice

positive = click.FloatRange(min=0, min_open=True)


@click.command()
@click.option("--tokens", type=positive, default=15.0, show_default=True, help="Forwarded for a move.")
@click.option("--scored", type=positive, default=3.0, show_default=True, help="Rows of the output head for a move.")
@click.option("--context", type=positive, default=1100.0, show_default=True, help="Tokens that a token attends to.")
@click.option(
    "--weights", type=click.Choice(WEIGHT_CHOICES), default="auto", show_default=True, help="How weights are held."
)
@click.option("--kv", type=click.Choice(KV_CHOICES), default="auto", show_default=True, help="And keys and values.")
@click.option("--model", default="smollm2-135m", show_default=True, help="As for `arena play`.")
@click.option("--threads", type=click.IntRange(min=1), help="Processor threads.")
@json_option
@log_options
def command(
    tokens: float,
    scored: float,
    context: float,
    weights: WeightChoice,
    kv: KVChoice,
    model: str,
    threads: int | None,
    as_json: bool,
) -> None:
    """Measure the ceilings of this machine, and the moves a second that follow from them.

    What a move costs is in the results of `arena bench serving`: tokens forwarded, passes (each scores a row), tokens
    of the prompt. The limit is for many requests at once, with nothing but matrix products and attention.
    """
    import torch

    from arena.bench.roofline import MoveCost, limit_moves_per_s, measure_ceilings
    from inference.catalogue import catalogue, is_installed
    from inference.errors import ModelError
    from inference.formats import resolve, resolve_kv
    from inference.loader import read_config
    from inference.pull import pull

    if threads is not None:
        torch.set_num_threads(threads)
    try:
        if model in catalogue() and not is_installed(model):
            pull(model, lambda line: click.echo(line, err=True))
        config = read_config(model)
    except ModelError as error:
        raise UsageError(str(error)) from error
    cost, held = MoveCost(tokens, scored, context), resolve(weights)
    held_kv = resolve_kv(kv, held)
    ceilings = measure_ceilings(config, held_kv)
    limit = limit_moves_per_s(config, held, ceilings, cost)
    if as_json:
        echo_json({"ceilings": ceilings, "cost": cost, "weights": held, "kv": held_kv, "limit_moves_per_s": limit})
        return
    from rich.table import Table

    table = Table(box=None, show_header=False)
    for name, value in (
        ("float32 products", f"{ceilings.float32_gflops:,.0f} GFLOP/s"),
        ("int8 products", f"{ceilings.int8_gops:,.0f} GOP/s"),
        (f"attention, KV in {held_kv}", f"{ceilings.attention_gflops:,.0f} GFLOP/s"),
        ("memory", f"{ceilings.memory_gbytes:,.1f} GB/s"),
        ("a move", f"{tokens:g} tokens forwarded, {scored:g} scored, each over {context:g} tokens"),
        ("limit", f"{limit:,.1f} moves/s with weights in {held}"),
    ):
        table.add_row(name, value)
    console().print(table)
