"""One agent with its engine, from its start to the end of its service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from hashlib import blake2b

from agents.base import Agent
from agents.kind import AgentSpecError, BuildContext
from agents.mqtt.broker import Broker
from agents.mqtt.connection import BrokerRefusedError
from agents.mqtt.protocol import Offer
from agents.mqtt.server import AgentServer
from agents.prompt_files import PromptLibrary
from agents.registry import build_agent, settings_in_force
from agents.spec import parse_spec
from arena.config import RunConfig
from arena.engines import Engines
from arena.errors import ArenaError, UsageError
from arena.interrupts import on_interrupt
from arena.one_agent import running
from arena.printable import printable
from arena.resources import data_path
from games import get_game
from games.base import UnknownGameError


async def serve_agent(
    config: RunConfig, broker: Broker, name: str, ready: Callable[[Offer], None] = lambda offer: None
) -> int:
    """Serves the first agent of `config`, for its games, until SIGINT or SIGTERM; how many moves it was asked for.

    `ready` is called whenever the offer stands, after each connection. Raises UsageError for an agent that cannot be
    made, ArenaError if the broker refuses us.
    """
    engines = Engines(config)
    agent = _build(config, engines, name)
    async with running(agent, engines, config.agent[0]):
        offer = _offer(agent, config, engines)
        server = AgentServer(broker, name, agent, offer)
        stopping = asyncio.Event()
        with on_interrupt(stopping.set):
            try:
                await server.serve(stopping, lambda: ready(offer))
            except BrokerRefusedError as error:
                raise ArenaError(str(error)) from error
        return server.answered


def _offer(agent: Agent, config: RunConfig, engines: Engines) -> Offer:
    """What is told of a started agent. The digest is over all that its moves depend on, so that two servers that
    differ are not taken for one."""
    spec = parse_spec(config.agent[0])
    relies_on = {
        "settings": settings_in_force(spec, config.llm_defaults),
        "facts": dict(agent.facts),
        "model": engines.model_checksum,
    }
    digest = blake2b(json.dumps(relies_on, sort_keys=True).encode(), digest_size=6).hexdigest()
    games = config.games_played
    templates = {game: found for game in games if (found := agent.template_hash(game)) is not None}
    return Offer(spec=f"{printable(spec.text)} [{digest}]", games=games, templates=templates)


def _build(config: RunConfig, engines: Engines, name: str) -> Agent:
    try:
        for game in config.games_played:
            get_game(game)
        library = PromptLibrary(data_path("prompts"))
        context = BuildContext(engines.of, library, config.games_played, config.llm_defaults)
        return build_agent(parse_spec(config.agent[0]), name=name, context=context)
    except UnknownGameError as error:
        raise UsageError(str(error)) from error
    except AgentSpecError as error:
        raise UsageError(f"{config.agent[0]}: {error}" if config.agent[0] not in str(error) else str(error)) from error
