"""`arena agents`: the kinds of agents there are, and one of them tried out on one ply."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from arena.cli.agents_serve import serve
from arena.cli.brokers import broker_options
from arena.cli.logs import log_options
from arena.cli.options import console, echo_json, json_option
from arena.cli.positions import position_options, read_position
from arena.errors import UsageError
from arena.printable import printable

if TYPE_CHECKING:
    from agents.base import Attempt
    from agents.kind import Kind
    from agents.mqtt.broker import Broker
    from arena.tryout import Tryout
    from games.base import Position


@click.group(invoke_without_command=True)
@json_option
@log_options
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List the kinds of agents, their options and the prompt templates; try one out."""
    if context.invoked_subcommand is not None:
        return
    from agents.prompt_files import PromptLibrary
    from agents.registry import KINDS
    from arena.resources import data_path

    library = PromptLibrary(data_path("prompts"))
    templates = {name: library.load(name, "chess").summary for name in library.names()}
    if as_json:
        kinds = [_kind_as_json(kind) for kind in KINDS.values()]
        echo_json({"kinds": kinds, "prompts": [{"name": name, "summary": text} for name, text in templates.items()]})
        return
    click.echo("An agent is KIND[:TARGET][?KEY=VALUE&KEY=VALUE...]; every kind has the key name.\n")
    for kind in KINDS.values():
        _print_kind(kind)
    click.echo("Prompt templates, as in llm?prompt=NAME:\n")
    _print_rows(list(templates.items()))
    click.echo(
        "\n`arena agents try SPEC` plays one ply and shows everything about it;\n"
        "`arena agents serve SPEC --mqtt URL --name NAME` offers it to runs elsewhere, as mqtt:NAME."
    )


def _kind_as_json(kind: Kind) -> dict[str, Any]:
    options = [
        {"name": each.name, "type": each.type, "help": each.help, "default": each.default} for each in kind.options
    ]
    target = (
        {"key": kind.target.key, "help": kind.target.help, "required": kind.target.required} if kind.target else None
    )
    return {
        "name": kind.name,
        "summary": kind.summary,
        "example": kind.example,
        "target": target,
        "options": options,
        "any_option": kind.any_option,
    }


def _print_kind(kind: Kind) -> None:
    target = "" if kind.target is None else f":{kind.target.key.upper()}"
    if kind.target is not None and not kind.target.required:
        target = f"[{target}]"
    click.echo(f"{kind.name}{target}   {kind.summary}\n    {kind.example}")
    rows = [(f"{kind.target.key.upper()}", kind.target.help)] if kind.target else []
    for option in kind.options:
        default = "" if option.default is None else f"  [default: {_as_written(option.default)}]"
        rows.append((f"{option.name}={option.type}", option.help + default))
    if kind.any_option:
        rows.append(("KEY=VALUE", kind.any_option))
    _print_rows(rows)
    click.echo()


def _as_written(value: object) -> str:
    """The value as a spec has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _print_rows(rows: list[tuple[str, str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    for left, right in rows:
        table.add_row(Text(f"    {left}"), Text(right))
    if rows:
        console().print(table)


command.add_command(serve)


@command.command("try")
@click.argument("spec")
@position_options
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the answer.")
@click.option("--top", type=click.IntRange(min=0), default=5, show_default=True, help="Likeliest moves to show.")
@click.option("--model", metavar="MODEL", help="Of llm agents whose spec has none.  [default: smollm2-135m]")
@click.option("--move-timeout", type=float, metavar="SECONDS", help="Longer is a failure.  [default: 60]")
@broker_options
@json_option
@log_options
def try_out(
    spec: str,
    broker: Broker | None,
    seed: int,
    top: int,
    model: str | None,
    move_timeout: float | None,
    as_json: bool,
    **where: Any,
) -> None:
    """Ask SPEC for one move: prompt, answer, verdict, time, tokens, likeliest moves."""
    from agents.kind import AgentSpecError
    from agents.spec import parse_spec
    from arena.config import build_config
    from arena.tryout import try_agent

    position = read_position(**where)
    if position.outcome() is not None or not position.legal_moves():
        raise UsageError(f"the game is over in {position.fen}")
    try:
        parsed = parse_spec(spec)
    except AgentSpecError as error:
        raise UsageError(f"{spec}: {error}") from error
    engine = {} if model is None else {"engine": {"model": model}}
    limit = {} if move_timeout is None else {"move_timeout": move_timeout}
    config = build_config({"agent": (spec,), "seed": seed, "game": position.game, **engine, **limit})
    tryout = asyncio.run(try_agent(parsed, position, config, top=top, broker=broker))
    if as_json:
        echo_json(_as_json(tryout, position))
    else:
        _print_tryout(tryout, position)


def _as_json(tryout: Tryout, position: Position) -> dict[str, Any]:
    from arena.turn import Failed, Played, Resigned
    from inference.types import Text

    turn, prompt = tryout.turn, tryout.prompt
    shown: Any = prompt.content if isinstance(prompt, Text) else prompt and [message._asdict() for message in prompt]
    played = turn if isinstance(turn, Played) else None
    return {
        "fen": position.fen,
        "settings": dict(tryout.settings),
        "model": tryout.model,
        "prompt": shown,
        "attempts": [asdict(attempt) for attempt in _attempts(tryout)],
        "move": played and played.move,
        "probability": played and played.reply.probability,
        "total_ms": played and played.total_ms,
        "resigns": isinstance(turn, Resigned),
        "fault": {"kind": str(turn.fault), "detail": turn.detail} if isinstance(turn, Failed) else None,
        "likeliest": [asdict(move) for move in tryout.likeliest],
    }


def _attempts(tryout: Tryout) -> tuple[Attempt, ...]:
    from arena.turn import Played

    return tryout.turn.reply.attempts if isinstance(tryout.turn, Played) else tryout.turn.attempts


def _print_tryout(tryout: Tryout, position: Position) -> None:
    from arena.turn import Failed, Played
    from inference.types import Text

    click.echo(f"{position.text()}\n\n{position.fen}")
    if settings := {key: _as_written(value) for key, value in tryout.settings.items() if value != {}}:
        click.echo(", ".join(f"{key} {printable(text)}" for key, text in settings.items()))
    if isinstance(tryout.prompt, Text):
        _print_block("Prompt, continued as it is", tryout.prompt.content)
    for message in tryout.prompt if isinstance(tryout.prompt, tuple) else ():
        _print_block(f"Prompt, {message.role}", message.content)
    for number, attempt in enumerate(_attempts(tryout), start=1):
        verdict = f"{attempt.failure}: {attempt.detail}" if attempt.failure else "a legal move"
        _print_block(f"Answer {number}", printable(attempt.text))
        click.echo(f"  {printable(verdict)}")
        click.echo(f"  {_cost(attempt)}")
    if isinstance(tryout.turn, Played):
        chance = tryout.turn.reply.probability
        likely = "" if chance is None else f", probability {chance:.3g}"
        san = position.san(tryout.turn.move)
        click.echo(f"\nPlayed {tryout.turn.move} ({san}) in {tryout.turn.total_ms:.0f} ms{likely}.")
    elif isinstance(tryout.turn, Failed):
        click.echo(f"\nNo move: {tryout.turn.fault}: {printable(tryout.turn.detail)}")
    else:
        click.echo("\nIt resigns.")
    if tryout.likeliest:
        click.echo("\nLikeliest of the legal moves, by the probability of their whole text:")
        _print_rows([(f"{each.move} ({each.san})", f"{each.probability:.1%}") for each in tryout.likeliest])


def _print_block(title: str, text: str) -> None:
    click.echo(f"\n{title}:")
    for line in text.splitlines() or [""]:
        click.echo(f"  | {line}")


def _cost(attempt: Attempt) -> str:
    cost = attempt.accounting
    if not cost.prompt_tokens:
        return "no model was asked"
    return (
        f"{cost.prompt_tokens} prompt tokens ({cost.cached_tokens} cached), {cost.forwarded_tokens} forwarded in "
        f"{cost.forward_passes} passes, {cost.generated_tokens} generated; queue {cost.queue_ms:.0f} ms, prefill "
        f"{cost.prefill_ms:.0f}, decode {cost.decode_ms:.0f}, first token after {cost.ttft_ms:.0f}"
    )
