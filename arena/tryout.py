"""One ply of one agent, looked at closely: what it is told, what it says, what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.base import Agent, MoveRequest, PlayerLeft
from agents.kind import AgentSpec, AgentSpecError, BuildContext
from agents.llm import LLMAgent
from agents.mqtt.broker import Broker
from agents.mqtt.link import Link
from agents.prompt_files import PromptLibrary
from agents.registry import build_agent, get_kind, settings_in_force
from agents.seeds import derive_seed
from arena.config import RunConfig
from arena.engines import Engines
from arena.errors import ArenaError, UsageError
from arena.one_agent import running
from arena.resources import data_path
from arena.turn import Failed, Played, Resigned, take_turn
from games.base import Position
from inference.types import Message, Text


@dataclass(frozen=True, slots=True)
class LikelyMove:
    """A move offered, with the model's probability for it: of its whole text, among those offered."""

    move: str
    san: str
    probability: float


@dataclass(frozen=True, slots=True)
class Tryout:
    """What happened. `prompt` and `likeliest` are there for language models; `model` is the one that was asked."""

    settings: Mapping[str, Any]
    prompt: tuple[Message, ...] | Text | None
    turn: Played | Failed | Resigned
    likeliest: tuple[LikelyMove, ...]
    model: str | None


async def try_agent(
    spec: AgentSpec,
    position: Position,
    config: RunConfig,
    *,
    top: int,
    name: str = "agent",
    broker: Broker | None = None,
) -> Tryout:
    """Asks the agent for a move in `position`, under the time limit, defaults and engine settings of `config`; `broker`
    is where a remote agent is asked.

    Raises UsageError for an agent that cannot be made and a model that cannot be had. What the agent does wrong is in
    the result.
    """
    engines = Engines(config)
    defaults = config.llm_defaults
    remote = None if broker is None else Link(broker)
    context = BuildContext(engines.of, PromptLibrary(data_path("prompts")), (position.game,), defaults, remote=remote)
    try:
        settings = settings_in_force(spec, defaults)
        agent = build_agent(spec, name=spec.name or name, context=context)
    except AgentSpecError as error:
        raise UsageError(str(error)) from error
    if get_kind(spec.kind).asks_model:
        settings = {"model": config.engine.model, **settings}
    async with running(agent, engines, spec.text):
        settings = {**settings, **agent.facts}
        request = MoveRequest(
            position=position,
            game_id=0,
            ply=len(position.moves) + 1,
            seed=derive_seed(config.seed, len(position.moves) + 1),
            deadline_s=config.move_timeout,
        )
        try:
            turn = await take_turn(agent, agent.name, request, config.move_timeout)
        except PlayerLeft as error:
            raise ArenaError(str(error)) from error
        return Tryout(settings, _prompt(agent, position), turn, await _likeliest(agent, position, top), engines.model)


def _prompt(agent: Agent, position: Position) -> tuple[Message, ...] | Text | None:
    if not isinstance(agent, LLMAgent):
        return None
    prompt = agent.templates[position.game].prompt(position)
    return prompt if isinstance(prompt, Text) else tuple(prompt)


async def _likeliest(agent: Agent, position: Position, top: int) -> tuple[LikelyMove, ...]:
    if not isinstance(agent, LLMAgent) or not agent.templates[position.game].can_constrain or not top:
        return ()
    probabilities = await agent.distribution(position)
    ranked = sorted(zip(probabilities, agent.offered(position), strict=True), key=lambda entry: -entry[0])
    return tuple(LikelyMove(move, position.san(move), probability) for probability, move in ranked[:top])
