"""`arena capacity`: how many games fit in memory, and how many keep an engine busy, without loading a model."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from arena.capacity import MIB, Context, Flow, Pool, Worth, paged, reserved, shared_once, worth
from arena.cli.logs import log_options
from arena.cli.options import console, db_option, echo_json, json_option
from arena.errors import UsageError
from inference.formats import KV_CHOICES, KV_FORMATS, KV_MEMORY_MB, WEIGHT_CHOICES, KVChoice, KVFormat, WeightChoice

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from inference.models.config import ModelConfig

POSITIVE = click.IntRange(min=1)
EVERY_S = 1.0
"""Seconds between two moves of an agent, as the usual agents of an arena ask for them."""

TERMS = (
    ("reserved whole", "every game has the model's whole context set aside"),
    ("in pages", "pages are taken as a game grows; only its last has room left"),
    ("shared once", "and what all games begin with is held once: a radix tree"),
    ("empty", "memory that is taken and holds no token"),
    ("copies", "memory of tokens that are held elsewhere as well"),
)


@click.command("capacity")
@click.option("--model", default="smollm2-135m", show_default=True, help="As for `arena play`; it is not loaded.")
@click.option(
    "--weights",
    type=click.Choice(WEIGHT_CHOICES),
    default="auto",
    show_default=True,
    help="How weights are held; auto is int8 where that is fast.",
)
@click.option(
    "--kv",
    type=click.Choice(KV_CHOICES),
    default="auto",
    show_default=True,
    help="How keys and values are held; auto is bfloat16 where that is fast, else float32.",
)
@click.option("--kv-memory", type=POSITIVE, default=KV_MEMORY_MB, show_default=True, help="MiB of the KV cache.")
@click.option("--page-size", type=POSITIVE, default=64, show_default=True, help="Tokens a KV page.")
@click.option("--games", type=POSITIVE, help="Say what so many games at once need.")
@click.option(
    "--system",
    type=click.IntRange(min=0),
    default=600,
    show_default=True,
    help="Tokens that all prompts begin with: some 600 with prompt=transcript, 1,200 with uci-history.",
)
@click.option("--moves", type=POSITIVE, default=200, show_default=True, help="Plies of a game.")
@click.option("--tokens-per-move", type=POSITIVE, default=5, show_default=True, help="What a ply adds to the prompt.")
@click.option("--rate", type=float, metavar="MOVES/S", help="Moves a second of an engine; with --latency.")
@click.option("--latency", type=float, metavar="S", help="Seconds a move, on the mean; with --rate.")
@click.option("--run", metavar="RUN", help="Take both from a recorded run, by name or number.")
@db_option
@json_option
@log_options
def command(
    model: str,
    weights: WeightChoice,
    kv: KVChoice,
    kv_memory: int,
    page_size: int,
    games: int | None,
    system: int,
    moves: int,
    tokens_per_move: int,
    rate: float | None,
    latency: float | None,
    run: str | None,
    db: str,
    as_json: bool,
) -> None:
    """Plan capacity: how many games fit in the KV cache, and what each technique is worth there.

    Arithmetic on the model's shape, at the worst moment: all games at their last ply. A game is one context if both of
    its agents are told the same; where their prompts differ, count it as two. With --rate and --latency, or the --run
    that they were measured in, also how many games keep the engine busy.
    """  # fmt: skip
    from arena.engines import memory_bytes
    from inference.formats import resolve, resolve_kv

    flow = _flow(rate, latency, run, db)
    shape, weight_size = _model(model, weights)
    held = resolve_kv(kv, resolve(weights))
    context = Context(system, moves * tokens_per_move)
    if context.tokens > shape.context_length:
        most = max(0, shape.context_length - system) // tokens_per_move
        raise UsageError(
            f"--moves {moves}: a game of {system} + {moves} x {tokens_per_move} = {context.tokens:,} tokens exceeds "
            f"{model}'s context of {shape.context_length:,}; at most {most:,} plies fit"
        )
    pools = {name: Pool(name, _token_bytes(shape, name), page_size, kv_memory * MIB) for name in KV_FORMATS}
    table = _techniques(context, shape.context_length, pools, held, games)
    facts = {"weight_bytes": weight_size, "kv_bytes": kv_memory * MIB, "machine_bytes": memory_bytes()}
    if as_json:
        pool = pools[held]
        derived = {"page_bytes": pool.page_bytes, "pages": pool.pages, "tokens": pool.tokens}
        told: dict[str, Any] = {"model": model, "pool": {**asdict(pool), **derived}, "memory": facts}
        told |= {"game": {**asdict(context), "tokens": context.tokens}, "techniques": table}
        if flow is not None:
            told["flow"] = {**asdict(flow), "in_flight": flow.in_flight, "games": flow.games}
        echo_json(told)
        return
    out = console()
    out.print(f"{model}: {_shape_text(shape)}; KV in {held}\n")
    out.print(_sizes(shape, pools[held], context, moves, tokens_per_move))
    out.print("\nWhat each technique is worth in memory, all games at their last ply:\n")
    out.print(_worth_table(table, games))
    _print_terms(out)
    _print_room(out, table, games, kv_memory)
    _print_memory(out, **facts)
    if flow is not None:
        _print_flow(out, flow)


def _model(model: str, weights: WeightChoice) -> tuple[ModelConfig, int]:
    """The shape of a model and the bytes of its weights. Raises UsageError for one that cannot be had."""
    from inference.errors import ModelError
    from inference.formats import resolve
    from inference.loader import read_config, weight_bytes

    try:
        return read_config(model), weight_bytes(model, resolve(weights))
    except ModelError as error:
        raise UsageError(str(error)) from error


def _token_bytes(shape: ModelConfig, kv: KVFormat) -> int:
    import torch

    from kernels.attention import KVCache

    return KVCache.page_bytes(shape.layers, shape.kv_heads, 1, shape.head_dim, getattr(torch, kv))


def _techniques(
    context: Context, context_length: int, pools: dict[KVFormat, Pool], kv: KVFormat, games: int | None
) -> list[Worth]:
    pool = pools[kv]
    once = shared_once(context, pool.page_size)
    table = [
        worth("reserved whole", reserved(context, context_length), context, pool, games),
        worth("in pages", paged(context, pool.page_size), context, pool, games),
        worth("shared once", once, context, pool, games),
    ]
    if kv != "int8":
        table.append(worth("shared once", once, context, pools["int8"], games))
    return table


def _flow(rate: float | None, latency: float | None, run: str | None, db: str) -> Flow | None:
    """What is known about an engine's pace; None: nothing was asked. Raises UsageError."""
    if run is not None:
        if rate is not None or latency is not None:
            raise UsageError("--run has its own --rate and --latency: give the one or the others")
        from arena.stats import flow
        from arena.store.database import Database
        from arena.store.timing import move_times

        with Database.open(db, create=False) as database:
            measured = flow(move_times(database, run))
        if measured is None:
            raise UsageError(f"--run {run}: no engine answered in that run; `arena games --run {run}` lists its games")
        return measured
    if rate is None and latency is None:
        return None
    if rate is None or latency is None:
        raise UsageError(f"{'--latency' if rate is None else '--rate'} says nothing alone: give both, or --run RUN")
    for name, value in (("--rate", rate), ("--latency", latency)):
        if not (math.isfinite(value) and value > 0):
            raise UsageError(f"{name} must be more than 0, not {value}")
    return Flow(rate, latency)


def _shape_text(shape: ModelConfig) -> str:
    return (
        f"{shape.layers} layers, {shape.kv_heads} KV heads of {shape.head_dim}, "
        f"a context of {shape.context_length:,} tokens"
    )


def _sizes(shape: ModelConfig, pool: Pool, context: Context, moves: int, tokens_per_move: int) -> Table:
    from rich.table import Table

    vector = f"{shape.head_dim} x 4 B" if pool.kv == "float32" else f"({shape.head_dim} + scale 4) B"
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_column(style="dim")
    for row in (
        ("KV a token", f"{pool.token_bytes:,} B",
         f"2 (K, V) x {shape.layers} layers x {shape.kv_heads} KV heads x {vector}"),
        ("KV a page", _mib(pool.page_bytes), f"{pool.page_size} tokens, the unit in which memory is given out"),
        ("KV cache", f"{pool.pages:,} pages", f"{pool.tokens:,} tokens in {_mib(pool.kv_bytes)}"),
        ("a game", f"{context.tokens:,} tokens",
         f"{context.shared:,} that all games share + {moves:,} plies x {tokens_per_move}"),
    ):  # fmt: skip
        table.add_row(*row)
    return table


def _worth_table(rows: list[Worth], games: int | None) -> Table:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("technique", "KV in", "KV a game", "games at once", "empty", "copies"):
        table.add_column(name, justify="left" if name in ("technique", "KV in") else "right")
    if games is not None:
        table.add_column(f"{games:,} games need", justify="right")
    for row in rows:
        shares = (f"{row.empty:.1%}", f"{row.copied:.1%}") if row.counted else ("", "")
        needed = () if row.needed_bytes is None else (_mib(row.needed_bytes),)
        table.add_row(row.technique, row.kv, _mib(row.game_bytes), f"{row.games:,}", *shares, *needed)
    return table


def _print_terms(out: Console) -> None:
    out.print()
    for name, meaning in TERMS:
        out.print(f"  {name:<16}{meaning}", style="dim")
    out.print()


def _print_room(out: Console, table: list[Worth], games: int | None, kv_memory: int) -> None:
    """How the engine, which has all techniques, gets on with this much memory."""
    engine = [row for row in table if row.technique == "shared once"]
    best = engine[0]
    if best.games == 0:
        out.print(
            f"Not even one game fits: it needs --kv {best.kv} --kv-memory {-(-best.alone_bytes // MIB)}.", style="bold"
        )
    elif games is None:
        out.print(
            f"So {best.games:,} games, {2 * best.games:,} agents, play at once without losing anything.\n"
            "With more, the context that is needed last is dropped, and computed again."
        )
    for row in engine:
        if games is not None and row.needed_bytes is not None:
            fits = "which is there" if row.games >= games else f"more than the {kv_memory:,} there are"
            out.print(f"{games:,} games need --kv {row.kv} --kv-memory {-(-row.needed_bytes // MIB)}, {fits}.")


def _print_memory(out: Console, *, weight_bytes: int, kv_bytes: int, machine_bytes: int) -> None:
    total = weight_bytes + kv_bytes
    verdict = "that fits" if total <= machine_bytes else "that does NOT fit: less --kv-memory, or fewer bits"
    out.print(
        f"Memory: {_mib(weight_bytes)} of weights + {_mib(kv_bytes)} of KV = {_mib(total)} of the "
        f"{_mib(machine_bytes)} that this process may use; {verdict}.\nThe program itself comes on top."
    )


def _print_flow(out: Console, flow: Flow) -> None:
    keeping_up = math.floor(flow.rate * EVERY_S)
    out.print(
        f"\nLittle's law: {flow.rate:,.1f} moves/s x {flow.latency_s:,.2f} s a move = {flow.in_flight:,.1f} requests "
        f"in flight.\nA game has one at a time, so {flow.games:,} games, {2 * flow.games:,} agents, keep the engine as "
        "busy as that.\nA longer queue makes no engine faster: past its best rate more games only wait longer.\n"
        f"With agents that each ask for a move a second, it keeps up with {keeping_up:,} of them."
    )


def _mib(size: int) -> str:
    return f"{size / MIB:,.1f} MiB" if size < 100 * MIB else f"{size / MIB:,.0f} MiB"
