"""`arena agents serve`: an agent for runs in other processes and on other machines."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from arena.cli.brokers import broker_options
from arena.cli.logs import log_options
from arena.errors import UsageError
from arena.interrupts import termination_as_interrupt

if TYPE_CHECKING:
    from agents.mqtt.broker import Broker
    from agents.mqtt.protocol import Offer
    from arena.config import RunConfig


@click.command("serve")
@click.argument("spec")
@broker_options
@click.option("--name", required=True, metavar="NAME", help="What runs ask for, as mqtt:NAME.")
@click.option("--game", default="chess", show_default=True, metavar="NAME", help="What it plays; mixed is both games.")
@click.option("--model", metavar="MODEL", help="Of llm agents whose spec has none.  [default: smollm2-135m]")
@click.option("--temperature", type=float, help="Of llm agents whose spec has none.  [default: 1.0]")
@click.option("--legality", metavar="POLICY", help="Of llm agents whose spec has none.  [default: constrained]")
@log_options
def serve(
    spec: str,
    broker: Broker | None,
    name: str,
    game: str,
    model: str | None,
    temperature: float | None,
    legality: str | None,
) -> None:
    """Offer the agent SPEC at a broker, to every run that has an agent mqtt:NAME.

    Any number of processes may serve one name: they share the work. If one dies, the games that waited for it are void
    and played again. Ctrl-C ends it.
    """
    from agents.mqtt.protocol import check_name
    from arena.config import build_config

    if broker is None:
        raise UsageError("say at which broker, with --mqtt mqtt://host:1883")
    try:
        check_name(name)
    except ValueError as error:
        raise UsageError(f"--name {error}") from error
    asked: dict[str, Any] = {"temperature": temperature, "legality": legality}
    engine = {} if model is None else {"engine": {"model": model}}
    given = {key: value for key, value in asked.items() if value is not None}
    config = build_config({"agent": (spec,), "game": game, **given, **engine})
    with termination_as_interrupt():
        _serve(config, broker, name)


def _serve(config: RunConfig, broker: Broker, name: str) -> None:
    from arena.mqtt.serving import serve_agent

    def tell(offer: Offer) -> None:
        click.echo(f"serving {offer.spec} as mqtt:{name} at {broker.address}, for {', '.join(offer.games)}")

    answered = asyncio.run(serve_agent(config, broker, name, tell))
    click.echo(f"{answered} moves were asked for and answered")
