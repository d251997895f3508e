"""`arena bench start`: how long it takes from nothing to the first token."""

from __future__ import annotations

import time
from typing import Any

import click

from arena.cli.bench_options import POSITIVE
from arena.cli.logs import log_options
from arena.cli.options import console, echo_json, json_option
from arena.errors import UsageError
from inference.formats import KV_CHOICES, KV_MEMORY_MB, WEIGHT_CHOICES

NAMES = {
    "interpreter": "Python itself, the command line",
    "imports": "imports",
    "model": "weights and tokenizer",
    "engine": "inner loops, KV memory",
    "first_token": "first token",
    "total": "all",
}


@click.command("start")
@click.option("--model", default="smollm2-135m", show_default=True, help="As for `arena play`.")
@click.option("--weights", type=click.Choice(WEIGHT_CHOICES), default="auto", show_default=True,
              help="How weights are held.")  # fmt: skip
@click.option("--kv", type=click.Choice(KV_CHOICES), default="auto", show_default=True,
              help="How keys and values are held.")  # fmt: skip
@click.option("--kv-memory", type=POSITIVE, default=KV_MEMORY_MB, show_default=True, help="MiB of KV cache.")
@click.option("--threads", type=POSITIVE, help="Processor threads of the engine.")
@click.option("--times", type=POSITIVE, default=3, show_default=True, help="Processes that are started.")
@click.option("--cold", is_flag=True, help="Also one start that has to compile the inner loops, as a first run does.")
@click.option("--once", is_flag=True, hidden=True, help="Be such a process.")
@json_option
@log_options
def command(times: int, cold: bool, once: bool, as_json: bool, **options: Any) -> None:
    """Time from the start of a process to its first token, phase by phase, and of `arena --help`.

    One process is started beforehand that does not count: it fetches the model and fills the caches.
    """
    if once:
        echo_json(_once(time.monotonic(), options))
        return
    from arena.bench.start import help_seconds, start_of, summary

    arguments = ["bench", "start", "--once"]
    for name, value in options.items():
        if value is not None:
            arguments += [f"--{name.replace('_', '-')}", str(value)]
    start_of(arguments)
    phases = summary([start_of(arguments) for _ in range(times)])
    first_run = sum(start_of(arguments, compiled=False).values()) if cold else None
    shown = min(help_seconds() for _ in range(times))
    if as_json:
        told = {"model": options["model"], "times": times, "seconds": phases, "help_seconds": shown}
        echo_json(told | ({"cold_seconds": first_run} if cold else {}))
        return
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    for column in ("phase", "best, s", "median, s"):
        table.add_column(column, justify="left" if column == "phase" else "right")
    for name, phase in phases.items():
        table.add_row(NAMES[name], f"{phase.best:.2f}", f"{phase.median:.2f}")
    console().print(table)
    click.echo(f"\nStarts of {options['model']}: {times}. `arena --help` takes {shown:.2f} s.")
    if first_run is not None:
        click.echo(f"A start that has to compile the inner loops takes {first_run:.1f} s.")


def _once(began: float, options: dict[str, Any]) -> dict[str, float]:
    from arena.bench.start import first_token
    from inference.engine import EngineConfig
    from inference.errors import ModelError

    imported = time.monotonic()
    config = EngineConfig(
        model=options["model"],
        weights=options["weights"],
        kv=options["kv"],
        kv_memory_mb=options["kv_memory"],
        threads=options["threads"],
    )
    try:
        return first_token(config, began=began, imported=imported)
    except ModelError as error:
        raise UsageError(str(error)) from error
