"""`arena stats`: the engine's figures over a run, while it is played or afterwards."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from arena.cli.logs import log_options
from arena.cli.options import console, db_option, echo_json, json_option

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from arena.capacity import Flow
    from arena.stats import Figure, Phase, Totals
    from arena.store.database import Database
    from arena.store.queries import RunLine

EVERY_S = 2.0
MOST_SAMPLES = 20_000
"""Of a longer run, which is one of more than five hours, so many samples are read, at equal steps."""
CURVE, NARROW_CURVE = 32, 8
"""Characters of a curve, and of one on a narrow terminal."""
FIGURES_WIDTH = 68
"""Characters of a line before its curve."""
JSON_CURVE = 100
"""Values of one in JSON, each the mean of its part of the run."""


@dataclass(frozen=True, slots=True)
class Stats:
    """All that is shown of a run. `totals` and `batch` None: no engine was asked; `flow` None: it has not answered."""

    run: RunLine
    samples: int
    seconds: float
    figures: list[Figure]
    totals: Totals | None
    phases: list[Phase]
    flow: Flow | None
    batch: int | None
    signs: list[str]


@click.command("stats")
@click.argument("run", required=False)
@click.option("--follow", is_flag=True, help="Show them again and again, until the run stops.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Curves in ASCII.")
@db_option
@json_option
@log_options
def command(run: str | None, follow: bool, ascii_only: bool, db: str, as_json: bool) -> None:
    """Show the figures of the engine in RUN, by name or number (default: the newest).

    Queue depth, TTFT, tokens and moves a second, the cache and its memory, sampled once a second; and where the time of
    a move goes. It may be asked while games are played.
    """
    from arena.store.database import Database
    from arena.store.timing import newest_run

    with Database.open(db, create=False) as database:
        which: int | str = newest_run(database) if run is None else run
        while True:
            found = collect(database, which)
            if as_json:
                echo_json(_as_json(found))
            else:
                if follow:
                    click.clear()
                show(found, console(), ascii_only=ascii_only)
            if not follow or found.run.status != "running":
                return
            time.sleep(EVERY_S)


def collect(database: Database, run: int | str) -> Stats:
    """The figures of a run as they stand. Raises UsageError for an unknown one."""
    from arena.stats import engine_figures, flow, phases, signs_of_saturation, totals
    from arena.store.timing import move_times
    from arena.store.watching import engine_samples, run_line

    line = run_line(database, run)
    samples = engine_samples(database, line.run_id, most=MOST_SAMPLES)
    times = move_times(database, line.run_id)
    return Stats(
        run=line,
        samples=len(samples),
        seconds=(samples[-1].at - samples[0].at).total_seconds() if samples else 0.0,
        figures=engine_figures(samples),
        totals=totals(samples),
        phases=phases(times),
        flow=flow(times),
        batch=max((move.batch_size for move in times), default=None),
        signs=signs_of_saturation(samples),
    )


def show(found: Stats, out: Console, *, ascii_only: bool) -> None:
    """Writes the figures for a person."""
    from arena.printable import printable

    model = f", {printable(found.run.model)}" if found.run.model else ""
    out.print(f"Run {printable(found.run.name)} ({found.run.run_id}), {found.run.status}{model}")
    if found.totals is None and not found.phases:
        why = ": no agent asks one." if found.samples else "."
        out.print(f"No engine answered in this run{why}")
    if found.figures:
        out.print(f"{found.samples:,} samples over {_span(found.seconds)}\n")
        width = max(NARROW_CURVE, min(CURVE, out.width - FIGURES_WIDTH))
        out.print(_figures(found.figures, width, ascii_only=ascii_only or out.options.ascii_only))
    elif found.phases:
        out.print("No figures were sampled: the run was over, or is under way, for less than a second.")
    if found.totals is not None:
        out.print()
        for line in _counted(found.totals):
            out.print(line)
    if found.phases:
        out.print("\nWhere the time of a move goes, ms:\n")
        out.print(_phases(found.phases))
    if found.flow is not None:
        out.print(
            f"\n{found.flow.rate:,.1f} moves/s x {found.flow.latency_s:,.2f} s a move: {found.flow.in_flight:,.1f} in "
            f"flight (Little's law); at most {found.batch} in one step."
        )
    if found.signs:
        out.print("\nSigns of saturation:")
        for sign in found.signs:
            out.print(f"  {sign}")


def _figures(figures: list[Figure], width: int, *, ascii_only: bool) -> Table:
    from rich.table import Table

    from arena.sparkline import sparkline

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("")
    for name in ("last", "least", "p50", "p95", "most"):
        table.add_column(name, justify="right")
    table.add_column("")
    table.add_column("over time", no_wrap=True)
    for figure in figures:
        spread = figure.spread
        cells = (_number(value) for value in (figure.last, spread.least, spread.p50, spread.p95, spread.most))
        table.add_row(figure.name, *cells, figure.unit, sparkline(figure.values, width, ascii_only=ascii_only))
    return table


def _phases(rows: list[Phase]) -> Table:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("")
    for name in ("share", "mean", "p50", "p95", "most"):
        table.add_column(name, justify="right")
    for row in rows:
        values = (row.ms.mean, row.ms.p50, row.ms.p95, row.ms.most)
        table.add_row(row.name, f"{row.share:.0%}", *(_number(value) for value in values))
    return table


def _counted(counted: Totals) -> list[str]:
    return [
        f"{counted.finished:,} requests answered, {counted.failed:,} failed, {counted.cancelled:,} cancelled; "
        f"{counted.preemptions:,} preemptions, {counted.evicted_pages:,} pages evicted",
        f"{counted.prompt_tokens:,} prompt tokens, {counted.hit_rate:.1%} of them from the cache; "
        f"{counted.forwarded_tokens:,} tokens forwarded, {counted.generated_tokens:,} generated",
    ]


def _as_json(found: Stats) -> dict[str, Any]:
    from arena.sparkline import means

    told = asdict(found)
    for figure in told["figures"]:
        figure["curve"] = means(figure.pop("values"), JSON_CURVE)
    if found.totals is not None:
        told["totals"]["hit_rate"] = found.totals.hit_rate
    if found.flow is not None:
        told["flow"]["in_flight"] = found.flow.in_flight
    return told


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or round(value, 1) == round(value) else f"{value:,.1f}"


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
