"""`arena bench quality`: what cheaper weights and a cheaper KV cache cost in quality."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from arena.cli.logs import log_options
from arena.cli.options import console, echo_json, json_option
from arena.errors import UsageError
from inference.formats import KV_CHOICES, WEIGHT_CHOICES, KVChoice, KVFormat, WeightChoice, resolve_kv

if TYPE_CHECKING:
    from arena.bench.quality import Likeness
    from inference.loader import LoadedModel


@click.command()
@click.option(
    "--weights", type=click.Choice(WEIGHT_CHOICES), default="int8", show_default=True, help="What is compared."
)
@click.option("--kv", type=click.Choice(KV_CHOICES), default="auto", show_default=True, help="And with which KV cache.")
@click.option("--model", default="smollm2-135m", show_default=True, help="As for `arena play`.")
@click.option(
    "--positions",
    type=click.IntRange(min=0),
    default=32,
    show_default=True,
    help="Positions of chess in which moves are compared; 0 leaves them out.",
)
@click.option("--threads", type=click.IntRange(min=1), help="Processor threads.")
@json_option
@log_options
def command(
    weights: WeightChoice, kv: KVChoice, model: str, positions: int, threads: int | None, as_json: bool
) -> None:
    """Compare a form of the weights, and of the KV cache, with float32, on fixed texts and positions.

    Perplexity is that of the texts, as a ratio to float32; "same top" the share of places where the most likely next
    token is the same; KL the divergence of the distributions, in nats; "same move" the share of chess positions where
    the most likely legal move is the same.
    """
    import torch

    from arena.bench.quality import TEXTS, compare, overall, read_text

    if threads is not None:
        torch.set_num_threads(threads)
    cheap, exact = _load(model, weights), _load(model, "float32")
    held = resolve_kv(kv, cheap.weights)
    parts = [compare(name, exact.tokenizer.encode(read_text(name)), cheap, exact, held) for name in TEXTS]
    rows = [*parts, overall(parts)]
    agreement = _moves(positions, threads, cheap, exact, held) if positions else None
    if as_json:
        echo_json(
            {
                "model": model,
                "weights": cheap.weights,
                "kv": held,
                "texts": {row.text: {**asdict(row), "perplexity_ratio": row.ratio} for row in rows},
                "positions": positions,
                "same_move": agreement,
            }
        )
        return
    _print(rows, cheap.weights if held == "float32" else f"{cheap.weights}, KV {held}")
    if agreement is not None:
        click.echo(f"\nSame move in {agreement:.0%} of {positions} positions of chess.")


def _load(model: str, weights: WeightChoice) -> LoadedModel:
    from inference.errors import ModelError
    from inference.loader import find_model

    try:
        return find_model(model, lambda line: click.echo(line, err=True)).load(weights=weights)
    except ModelError as error:
        raise UsageError(str(error)) from error


def _moves(positions: int, threads: int | None, cheap: LoadedModel, exact: LoadedModel, kv: KVFormat) -> float:
    from arena.bench.quality import same_moves
    from arena.bench.workload import Load
    from arena.cli.bench_options import workload_of
    from inference.engine import EngineConfig

    workload = workload_of(Load(in_flight=positions, plies=1), exact)
    return same_moves(workload, EngineConfig(threads=threads, kv=kv), cheap, exact)


def _print(rows: list[Likeness], form: str) -> None:
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    for column in ("text", "tokens", "perplexity, float32", f"perplexity, {form}", "ratio", "same top", "KL"):
        table.add_column(column, justify="left" if column == "text" else "right")
    for row in rows:
        table.add_row(
            row.text,
            f"{row.tokens:,}",
            f"{row.reference_perplexity:.2f}",
            f"{row.perplexity:.2f}",
            f"{row.ratio:.4f}",
            f"{row.same_top:.1%}",
            f"{row.kl:.4f}",
        )
    console().print(table)
