"""The options that the measurements share, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from arena.cli.options import json_option
from arena.errors import UsageError
from inference.formats import KV_CHOICES, KV_MEMORY_MB, WEIGHT_CHOICES

if TYPE_CHECKING:
    from arena.bench.workload import Load, Workload
    from inference.engine import EngineConfig
    from inference.loader import LoadedModel

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
POSITIVE = click.IntRange(min=1)


def load_options(in_flight: int, plies: int, *, several: bool = False) -> Decorator:
    """The options that make a load and an engine, with their defaults; `several` takes more loads than one."""
    again = " May be repeated." if several else ""

    def default(value: Any) -> Any:
        return [value] if several else value

    options = [
        click.option("--prompt", type=click.Choice(["history", "fen", "transcript"]), default=default("history"),
                     show_default=True, multiple=several,
                     help="What follows the system prompt: the moves so far and a question; board and legal moves; or "
                          f"the moves as one growing answer that the next move continues.{again}"),
        click.option("--answer", type=click.Choice(["choose", "free"]), default=default("choose"), show_default=True,
                     multiple=several, help=f"One of the legal moves, or five tokens, greedy.{again}"),
        click.option("--in-flight", type=POSITIVE, default=default(in_flight), show_default=True, multiple=several,
                     help=f"Games at once.{again}"),
        click.option("--plies", type=POSITIVE, default=plies, show_default=True, help="Requests of each game."),
        click.option("--seed", type=int, default=0, show_default=True, help="Of the games and the answers."),
        click.option("--model", default="smollm2-135m", show_default=True, help="As for `arena play`."),
        click.option("--weights", type=click.Choice(WEIGHT_CHOICES), default="auto", show_default=True,
                     help="How weights are held; auto is int8 where that is fast."),
        click.option("--kv", type=click.Choice(KV_CHOICES), default="auto", show_default=True,
                     help="How keys and values are held."),
        click.option("--threads", type=POSITIVE, help="Processor threads of the engine."),
        click.option("--page-size", type=POSITIVE, default=64, show_default=True, help="Tokens a KV page."),
        click.option("--kv-memory", type=POSITIVE, default=KV_MEMORY_MB, show_default=True, help="MiB of KV cache."),
        click.option("--max-batch-tokens", type=POSITIVE, default=256, show_default=True, help="New tokens a step."),
        json_option,
    ]  # fmt: skip
    return chain(options)


def chain(options: Sequence[Decorator]) -> Decorator:
    """Several options as one decorator, in the order of `--help`."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


moves_option = click.option(
    "--moves",
    type=click.Choice(["fixed", "chosen"]),
    default="fixed",
    show_default=True,
    help="What is played: predetermined moves, whatever is answered, or what was chosen.",
)


def engine_config(options: dict[str, Any], **settings: Any) -> EngineConfig:
    """The engine that the options describe; `settings` are other fields of it."""
    from inference.engine import EngineConfig

    return EngineConfig(
        model=options["model"],
        weights=options["weights"],
        kv=options["kv"],
        threads=options["threads"],
        page_size=options["page_size"],
        kv_memory_mb=options["kv_memory"],
        max_batch_tokens=options["max_batch_tokens"],
        **settings,
    )


def loaded(config: EngineConfig) -> LoadedModel:
    """The engine's model. Raises UsageError for one that cannot be had."""
    from inference.errors import ModelError
    from inference.loader import find_model

    try:
        return find_model(config.model).load(weights=config.weights)
    except ModelError as error:
        raise UsageError(str(error)) from error


def single_load(options: dict[str, Any]) -> Load:
    """The load that the options describe. Raises UsageError."""
    from arena.bench.workload import Load

    try:
        return Load(**{name: options[name] for name in ("prompt", "answer", "moves", "in_flight", "plies", "seed")})
    except ValueError as error:
        raise UsageError(f"--moves {options['moves']}: {error}") from error


def workload_of(load: Load, model: LoadedModel) -> Workload:
    """The load's requests, in tokens of the model. Raises UsageError."""
    from agents.prompt_files import PromptLibrary
    from arena.bench.workload import make_workload
    from arena.resources import data_path

    try:
        history = PromptLibrary(data_path("prompts")).load("uci-history", "chess")
        return make_workload(history, model.tokenizer, load)
    except ValueError as error:
        raise UsageError(f"--plies {load.plies}: {error}") from error
