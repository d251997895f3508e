"""`arena bench`: how fast the engine is, and what each of its techniques is worth."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arena.cli import bench_quality, bench_roofline
from arena.cli.bench_options import engine_config, load_options, loaded, moves_option, single_load, workload_of
from arena.cli.bench_peers import peers
from arena.cli.bench_prompts import command as prompts
from arena.cli.bench_rules import command as rules
from arena.cli.bench_standings import command as standings
from arena.cli.bench_start import command as start
from arena.cli.logs import log_options
from arena.cli.options import console, echo_json
from arena.errors import ArenaError, UsageError

if TYPE_CHECKING:
    from arena.bench.serving import Measurement
    from arena.bench.workload import Workload
    from inference.engine import EngineConfig
    from inference.formats import KVFormat
    from inference.loader import LoadedModel


@click.group()
@log_options
def command() -> None:
    """Measure the engine on the load of a chess arena.

    The load is the same for every engine: games of seeded random legal moves, all at once, each asking for its next
    move when the answer to the last has come.
    """


command.add_command(peers)
command.add_command(bench_quality.command, "quality")
command.add_command(bench_roofline.command, "roofline")
command.add_command(prompts)
command.add_command(rules)
command.add_command(standings)
command.add_command(start)


@command.command()
@load_options(in_flight=16, plies=8)
@moves_option
@click.option("--no-prefix-cache", is_flag=True, help="Compute every prompt from its first token.")
@click.option("--no-continuous-batching", is_flag=True, help="Static batching.")
@click.option("--no-chunked-prefill", is_flag=True, help="Prompts are not split over steps.")
@click.option("--no-jump-forward", is_flag=True, help="Forced tokens are decoded one by one.")
@click.option("--no-shared-attention", is_flag=True, help="Shared pages are read once for each sequence.")
@click.option("--no-pad-rows", is_flag=True, help="Rows are not padded to tiles: bits may depend on the batch.")
@click.option("--max-batch", type=click.IntRange(min=1), default=256, show_default=True, help="Sequences a step.")
@click.option("--select", type=click.Choice(["walk", "tree"]), default="walk", show_default=True,
              help="Choose token by token, or compute the whole trie in one pass.")  # fmt: skip
@click.option("--roofline", is_flag=True, help="Also measure what this machine allows at best on this load.")
@log_options
def serving(as_json: bool, max_batch: int, select: str, roofline: bool, **options: Any) -> None:
    """Moves a second, latency and what a move costs."""
    from inference.formats import resolve_kv

    switches = {
        name.removeprefix("no_"): not options.pop(name) for name in [name for name in options if name.startswith("no_")]
    }
    workload, config, model = _prepare(options, max_batch=max_batch, select=select, **switches)
    result = _measure(workload, config, model)
    kv = resolve_kv(config.kv, model.weights)
    limit = _limit(result, config, model, kv) if roofline else None
    if as_json:
        held = {"weights": model.weights, "kv": kv}
        told = {**asdict(result), "load": asdict(workload.load), "engine": asdict(config), **held}
        echo_json(told | ({"limit_moves_per_s": limit} if roofline else {}))
        return
    _print_cell(result, workload, model.weights, kv)
    if limit is not None:
        click.echo(f"\n{result.moves_per_s / limit:.0%} of this machine's limit of {limit:,.1f} moves/s on this load.")


@command.command()
@load_options(in_flight=8, plies=3)
@moves_option
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), metavar="SVG", help="Draw a chart as well.")
@log_options
def ablation(as_json: bool, plot: Path | None, **options: Any) -> None:
    """What each technique is worth: serial, static, continuous, radix cache, jump-forward, shared attention, int8.

    Then all on but for one thing, the padding to tiles that holds results to the bit among them, and what paging does
    for the KV memory. Without a prefix cache every request computes its whole prompt, so keep the load small.
    """
    from arena.bench.ablation import chart, variants
    from inference.formats import resolve

    if plot is not None and not plot.absolute().parent.is_dir():
        raise UsageError(f"--plot {plot}: the folder {plot.absolute().parent} is not there")
    workload, config, model = _prepare(options)
    models = {model.weights: model}
    results = []
    for variant in variants(config):
        form = resolve(variant.config.weights)
        if form not in models:
            models[form] = loaded(variant.config)
        result = _measure(workload, variant.config, models[form])
        click.echo(f"{variant.name}: {result.moves_per_s:.2f} moves/s", err=True)
        results.append((variant, result))
    if plot is not None:
        about = f"{workload.load}, {workload.load.requests} moves; {config.model}, weights in {model.weights}"
        _write(plot, chart(results, about))
    if as_json:
        echo_json(
            {
                "load": asdict(workload.load),
                "variants": [{"name": variant.name, **asdict(result)} for variant, result in results],
            }
        )
        return
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    for column in ("variant", "moves/s", "x serial", "p50 ms", "p95 ms", "tokens/move", "passes/move", "hit rate"):
        table.add_column(column, justify="left" if column == "variant" else "right")
    base = results[0][1].moves_per_s
    for variant, result in results:
        table.add_row(
            variant.name,
            f"{result.moves_per_s:.2f}",
            f"{result.moves_per_s / base:.1f}",
            f"{result.latency_ms['p50']:,.0f}",
            f"{result.latency_ms['p95']:,.0f}",
            f"{result.forwarded_tokens_per_move:,.1f}",
            f"{result.passes_per_move:.1f}",
            f"{result.hit_rate:.1%}",
        )
    console().print(table)
    waste = next(result for variant, result in reversed(results) if not variant.without).kv_waste_percent
    click.echo(
        f"\nKV memory that holds no token: {waste['paged']:.0f}% in pages of {config.page_size} tokens; "
        f"{waste['contiguous']:.0f}% if each request had its whole context set aside."
    )


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def _prepare(options: dict[str, Any], **settings: Any) -> tuple[Workload, EngineConfig, LoadedModel]:
    load, config = single_load(options), engine_config(options, **settings)
    model = loaded(config)
    return workload_of(load, model), config, model


def _measure(workload: Workload, config: EngineConfig, model: LoadedModel) -> Measurement:
    from arena.bench.serving import measure
    from inference.errors import InferenceError

    try:
        return asyncio.run(measure(workload, config, model))
    except InferenceError as error:
        raise ArenaError(f"the engine failed under this load: {error}") from error


def _limit(result: Measurement, config: EngineConfig, model: LoadedModel, kv: KVFormat) -> float:
    import torch

    from arena.bench.roofline import MoveCost, limit_moves_per_s, measure_ceilings

    if config.threads is not None:
        torch.set_num_threads(config.threads)
    cost = MoveCost(
        tokens=result.forwarded_tokens_per_move,
        scored=result.passes_per_move,
        context=result.prompt_tokens_per_move,
    )
    return limit_moves_per_s(model.config, model.weights, measure_ceilings(model.config, kv), cost)


def _print_cell(result: Measurement, workload: Workload, weights: str, kv: str) -> None:
    from rich.table import Table

    def spread(values: dict[str, float]) -> str:
        return "  ".join(f"{name} {value:,.0f}" for name, value in values.items())

    table = Table(box=None, show_header=False)
    for name, value in (
        ("load", f"{workload.load}, {result.requests} moves"),
        ("weights, KV", f"{weights}, {kv}"),
        ("moves/s", f"{result.moves_per_s:.2f}"),
        ("latency, ms", spread(result.latency_ms)),
        ("TTFT, ms", spread(result.ttft_ms)),
        ("prompt tokens a move", f"{result.prompt_tokens_per_move:,.0f}, {result.hit_rate:.1%} from the cache"),
        ("forwarded a move", f"{result.forwarded_tokens_per_move:.1f} tokens in {result.passes_per_move:.2f} passes"),
        ("forwarded twice", f"{result.duplicate_forwarded_tokens} tokens"),
        ("preemptions", f"{result.preemptions}"),
        ("KV without a token", "  ".join(f"{k} {v:.0f}%" for k, v in result.kv_waste_percent.items())),
        ("scheduler", f"{result.scheduler_us_per_request:.0f} us a request"),
        ("event loop lag, ms", spread(result.loop_lag_ms)),
        ("peak memory", f"{result.peak_rss_mb:,.0f} MiB"),
    ):
        table.add_row(name, value)
    console().print(table)
