"""The agents of a run and the engine they share."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from agents.base import Agent, AgentCrashed
from agents.prompts import PromptTemplate, PromptTemplateError, load_template
from agents.spec import (
    AgentSpec,
    AgentSpecError,
    BuildContext,
    build_agent,
    needs_engine,
    parse_spec,
    settings_in_force,
)
from arena.abandon import cancel
from arena.config import RunConfig
from arena.errors import ArenaError, UsageError
from arena.interrupts import uninterrupted
from arena.printable import message_of
from arena.resources import data_path
from arena.schedule import certain_repeats, make_schedule, unique_names
from arena.store.records import NewAgent, NewGame, NewRun
from games import get_game
from games.base import IllegalMoveError, InvalidPositionError, UnknownGameError

if TYPE_CHECKING:
    from inference.engine import Engine

logger = logging.getLogger(__name__)

CANCEL_GRACE_S = 1.0
CLOSE_LIMIT_S = 5.0
"""How long the agents may take to close before the run ends without them."""


class Lineup:
    """Agents by name, and the engine that some of them need.

    Owns both, from `start` to `close`, which may be called in any state and again. Making one checks the whole
    configuration and loads no model. Raises UsageError naming what is wrong.
    """

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        specs = [_parse(text) for text in config.agent]
        dealt = [specs[seat % len(specs)] for seat in range(config.agents)]
        names = unique_names(
            [spec.name or _nickname(spec) for spec in dealt], numbered=[spec.name is None for spec in dealt]
        )
        self.specs: Mapping[str, AgentSpec] = dict(zip(names, dealt, strict=True))
        self._defaults = {"temperature": config.temperature, "legality": config.legality}
        self._check_position()
        self.engine: Engine | None = _make_engine(config) if any(map(needs_engine, specs)) else None
        self.agents: Mapping[str, Agent] = self._build()
        self._engine_started = False
        self._closed = False

    def _check_position(self) -> None:
        try:
            get_game(self.config.game).position(self.config.fen)
        except (UnknownGameError, InvalidPositionError, IllegalMoveError) as error:
            raise UsageError(str(error)) from error

    def _build(self) -> dict[str, Agent]:
        context = BuildContext(
            engine=self.engine, template_for=_template, game=self.config.game, defaults=self._defaults
        )
        try:
            return {name: build_agent(spec, name=name, context=context) for name, spec in self.specs.items()}
        except (AgentSpecError, PromptTemplateError) as error:
            raise UsageError(str(error)) from error

    def settings(self, name: str) -> dict[str, Any]:
        """Every setting in force of the agent `name`, as JSON values."""
        return settings_in_force(self.specs[name], self._defaults)

    def schedule(self) -> tuple[NewGame, ...]:
        """The games of the run."""
        return make_schedule(
            tuple(self.specs),
            self.config.games,
            seed=self.config.seed,
            game=self.config.game,
            rule_policy=get_game(self.config.game).rule_policy,
            max_plies=self.config.max_plies,
            start_fen=self.config.fen,
        )

    def new_run(self) -> NewRun:
        """The run as it goes into the record: configuration, agents, schedule. The engine must be started."""
        config = self.config
        if self.engine is not None:  # what `auto` came to, so that the run goes on with the same wherever it does
            settings = config.engine.model_copy(update={"weights": self.engine.model.weights})
            config = config.model_copy(update={"engine": settings})
        return NewRun(
            config=config.model_dump(mode="json"),
            seed=config.seed,
            agents=tuple(
                NewAgent(name=name, spec=spec.text, settings=self.settings(name)) for name, spec in self.specs.items()
            ),
            games=self.schedule(),
            model=self.engine.model_name if self.engine else None,
            model_checksum=self.engine.model_checksum if self.engine else None,
            environment=self.environment(),
        )

    def repeats(self) -> int:
        """How many games of the schedule must repeat an earlier one move for move: see `certain_repeats`."""
        known = {name: self._determined_by(name) for name in self.specs}
        return certain_repeats(self.schedule(), known)

    def _determined_by(self, name: str) -> dict[str, Any] | None:
        settings = self.settings(name)
        if self.specs[name].kind != "llm" or settings.get("temperature") != 0:
            return None
        return {key: value for key, value in settings.items() if key != "name"}

    def environment(self) -> dict[str, Any]:
        """What the run's speed, and on another machine its bits, depend on."""
        return {
            "arena": _version(),
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.release()}",
            "machine": platform.machine(),
            "cpus": os.cpu_count(),
            **(self.engine.environment() if self.engine else {}),
        }

    def start_engine(self, progress: Callable[[str], None] | None = None) -> None:
        """Loads the model, fetching it first if need be, and starts the engine, if an agent needs one.

        Blocks for seconds; may be called again. `progress` is told what takes long. Raises ArenaError for a model
        that cannot be had.
        """
        if self.engine is None or self._engine_started:
            return
        from inference.catalogue import catalogue, is_installed
        from inference.errors import ModelError
        from inference.formats import resolve
        from inference.pull import pull

        model, tell = self.config.engine.model, progress or logger.info
        try:
            if model in catalogue() and not is_installed(model):
                pull(model, tell)
            tell(f"loading {model}, weights in {resolve(self.config.engine.weights)}")
            self.engine.start(tell)
        except ModelError as error:
            raise UsageError(str(error)) from error
        self._engine_started = True

    async def start(self) -> None:
        """Starts the engine, then all agents at once: their prompts are warm before the first clock starts.

        Agents that share a prompt cost the engine one warm-up, since it computes a shared prefix once.
        Raises ArenaError naming an agent that cannot start.
        """
        await asyncio.to_thread(self.start_engine)
        try:
            async with asyncio.TaskGroup() as group:
                for name, agent in self.agents.items():
                    group.create_task(_start(name, agent))
        except* ArenaError as errors:
            raise errors.exceptions[0] from None

    async def check_engine(self) -> None:
        """Raises ArenaError if the engine answers nobody any more; a run cannot go on without it."""
        if self.engine is not None and not self.engine.alive:
            raise ArenaError("the engine has stopped; `arena play --resume` goes on")

    async def close(self) -> None:
        """Closes the agents, for a bounded time, then the engine. What an agent raises is logged."""
        if self._closed:
            return
        self._closed = True
        try:
            closing = [asyncio.create_task(_close(agent), name=name) for name, agent in self.agents.items()]
            done, late = await asyncio.wait(closing, timeout=CLOSE_LIMIT_S)
            for task in late:
                logger.warning("%s did not close in %g s; going on without it", task.get_name(), CLOSE_LIMIT_S)
            await asyncio.gather(*(cancel(task, CANCEL_GRACE_S) for task in late))
            for task in done:
                if not task.cancelled() and (error := task.exception()) is not None:
                    logger.warning("%s failed to close: %s", task.get_name(), message_of(error))
        finally:
            self.close_engine()

    def close_engine(self) -> None:
        """Stops the engine; enough when no agent was started. Takes a step of the engine at most, in which Ctrl-C
        does nothing."""
        if self.engine is not None:
            with uninterrupted():
                self.engine.close()


async def _start(name: str, agent: Agent) -> None:
    try:
        await agent.start()
    except (Exception, SystemExit) as error:
        raise ArenaError(f"agent {name} could not start: {message_of(error) or type(error).__name__}") from error


async def _close(agent: Agent) -> None:
    try:
        await agent.close()
    except SystemExit as error:  # would take the whole loop down
        raise AgentCrashed(f"it asked the program to exit with {error.code!r}") from error


def _version() -> str:
    try:
        return version("arena-llm")
    except PackageNotFoundError:
        return "a checkout that is not installed"


def _parse(text: str) -> AgentSpec:
    try:
        return parse_spec(text)
    except AgentSpecError as error:
        raise UsageError(f"--agent {text}: {error}") from error


def _nickname(spec: AgentSpec) -> str:
    """What agents of a spec without a name are called, before their number."""
    return spec.target.rpartition(":")[2] if spec.target else spec.kind


@cache
def _template(game: str) -> PromptTemplate:
    try:
        path = data_path("prompts", f"{game}.toml")
    except FileNotFoundError as error:
        raise UsageError(f"there is no prompt template for {game}: give llm agents one with prompt=FILE") from error
    return load_template(path)


def _make_engine(config: RunConfig) -> Engine:
    from inference.engine import Engine, EngineConfig  # torch takes a second to import

    settings = config.engine.model_dump()
    # Weighing whole moves takes a request for each node of the trie of legal moves, so a game can have dozens waiting.
    return Engine(EngineConfig(**settings, max_waiting=max(1024, 64 * config.concurrency)))
