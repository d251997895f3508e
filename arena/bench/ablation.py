"""What each technique of serving is worth: the same load, with one of them switched at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from arena.bench.plot import Bar, Group, Row, bar_chart
from arena.bench.serving import Measurement
from inference.engine import EngineConfig
from inference.formats import KVFormat, resolve, resolve_kv


@dataclass(frozen=True, slots=True)
class Variant:
    """A row of the table: what is different from the row before, and the engine that results. `without` rows have
    everything on but for one thing."""

    name: str
    config: EngineConfig
    without: bool = False


def variants(config: EngineConfig) -> tuple[Variant, ...]:
    """From a server that answers one request after the other to everything on, a technique at a time; then everything
    on but for one thing."""
    bytes_pay = resolve(config.weights) == "int8"
    bare = replace(
        config,
        weights="float32" if bytes_pay else config.weights,
        prefix_cache=False,
        continuous_batching=False,
        chunked_prefill=False,
        jump_forward=False,
        shared_attention=False,
    )
    continuous = replace(bare, continuous_batching=True, chunked_prefill=True)
    radix = replace(continuous, prefix_cache=True)
    jump = replace(radix, jump_forward=True)
    shared = replace(jump, shared_attention=True)
    everything = replace(shared, weights=config.weights)
    others: list[KVFormat] = ["float32"] if resolve_kv(config.kv, resolve(config.weights)) == "bfloat16" else []
    attention, int8 = "+ shared-prefix attention", "+ weights in int8"
    last = (Variant(attention, shared), Variant(f"{int8}: all on", everything)) if bytes_pay else ()
    return (
        Variant("serial: one request at a time", replace(bare, max_batch=1)),
        Variant("static batching", bare),
        Variant("continuous batching, chunked prefill", continuous),
        Variant("+ radix prefix cache", radix),
        Variant("+ jump-forward", jump),
        *(last or (Variant(f"{attention}: all on", everything),)),
        Variant("without continuous batching", replace(everything, continuous_batching=False), without=True),
        Variant("without the radix prefix cache", replace(everything, prefix_cache=False), without=True),
        Variant("without jump-forward", replace(everything, jump_forward=False), without=True),
        Variant("without shared-prefix attention", replace(everything, shared_attention=False), without=True),
        Variant("without padding to tiles (bits not promised)", replace(everything, pad_rows=False), without=True),
        *(Variant(f"with the KV cache in {kv}", replace(everything, kv=kv), without=True) for kv in others),
        Variant("with the KV cache in int8", replace(everything, kv="int8"), without=True),
    )


def chart(results: Sequence[tuple[Variant, Measurement]], subtitle: str) -> str:
    """The results as SVG: throughput, latency and work of each variant, and what paging does for the memory."""
    serial = results[0][1].moves_per_s
    all_on, everything = next(result for result in reversed(results) if not result[0].without)

    def row(variant: Variant, measured: Measurement) -> Row:
        kind = "best" if variant is all_on else "bar"
        latency = measured.latency_ms["p95"] / 1e3
        return Row(
            variant.name,
            (
                Bar(measured.moves_per_s, f"{measured.moves_per_s:.2f} · {measured.moves_per_s / serial:.1f}×", kind),
                Bar(latency, f"{latency:,.1f} s", kind),
                Bar(measured.forwarded_tokens_per_move, f"{measured.forwarded_tokens_per_move:,.1f}", kind),
            ),
        )

    columns = ("moves/s, × serial", "latency p95", "tokens forwarded a move")
    rows = [row(*result) for result in results]
    longest = tuple(max(row.bars[index].value or 0.0 for row in rows) for index in range(len(columns)))
    groups = [
        Group(
            heading,
            columns,
            tuple(row for row, (variant, _) in zip(rows, results, strict=True) if variant.without == without),
            longest,
        )
        for heading, without in (("One technique after the other", False), ("All on but for one thing", True))
    ]
    waste = everything.kv_waste_percent
    memory = Group(
        "KV memory that holds no token",
        ("per cent of what is set aside",),
        (
            Row("each context set aside whole", (Bar(waste["contiguous"], f"{waste['contiguous']:.0f} %", "bad"),)),
            Row("pages, as they are needed", (Bar(waste["paged"], f"{waste['paged']:.0f} %", "best"),)),
        ),
        full=(100.0,),
    )
    return bar_chart("What each technique of serving is worth", subtitle, [*groups, memory])
