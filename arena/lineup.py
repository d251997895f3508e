"""The agents of a run and the engines they share."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

from agents.base import Agent, AgentCrashed, UnusableAgentError
from agents.kind import AgentSpec, AgentSpecError, BuildContext
from agents.mqtt.broker import Broker
from agents.mqtt.link import Link
from agents.prompt_files import PromptLibrary
from agents.registry import build_agent, get_kind, settings_in_force
from agents.spec import parse_spec
from agents.uci.pool import EnginePool
from arena.abandon import cancel
from arena.clocks import TimeControl
from arena.config import EngineSettings, RunConfig
from arena.engines import EngineConditions, Engines
from arena.errors import ArenaError, UsageError
from arena.match import Adjudicator
from arena.openings import Opening, find_opening
from arena.printable import message_of
from arena.resources import data_path
from arena.schedule import certain_repeats, make_schedule, unique_names
from arena.store.records import NewAgent, NewGame, NewRun
from games import get_game
from games.base import IllegalMoveError, InvalidPositionError, UnknownGameError

logger = logging.getLogger(__name__)

CANCEL_GRACE_S = 1.0
CLOSE_LIMIT_S = 5.0
"""How long the agents may take to close before the run ends without them."""


class Conditions(EngineConditions, Protocol):
    """What agents play under: the part that `arena play` and a tournament have in common."""

    @property
    def llm_defaults(self) -> dict[str, Any]: ...
    @property
    def move_timeout(self) -> float | None: ...
    @property
    def clocks(self) -> TimeControl | None: ...
    @property
    def games_played(self) -> tuple[str, ...]: ...


class Roster:
    """Agents by name, and the engines that some of them need.

    Owns both, from `start` to `close`, which may be called in any state and again. Making one builds the agents and
    loads no model. Raises UsageError naming what is wrong.
    """

    adjudicator: Adjudicator | None = None
    """Who ends games that no rule ends, if anybody."""

    def __init__(self, specs: Mapping[str, AgentSpec], conditions: Conditions, broker: Broker | None = None) -> None:
        """`broker` is where remote agents are asked."""
        self.specs = specs
        self.conditions = conditions
        self.engines = Engines(conditions)
        self.uci_engines = EnginePool()
        self.remote = None if broker is None else Link(broker)
        self.context = BuildContext(
            uci_engines=self.uci_engines,
            remote=self.remote,
            engine_for=self.engines.of,
            prompts=PromptLibrary(data_path("prompts")),
            games=conditions.games_played,
            defaults=conditions.llm_defaults,
        )
        self.agents: Mapping[str, Agent] = self._build()
        self._check_people()
        self._closed = False

    @property
    def has_person(self) -> bool:
        """Whether somebody plays by hand."""
        return any(agent.is_person for agent in self.agents.values())

    def _check_people(self) -> None:
        if self.has_person and (count := self.conditions.concurrency) > 1:
            raise UsageError(f"a person plays one game at a time: --concurrency 1 with human, not {count}")

    def _build(self) -> dict[str, Agent]:
        try:
            return {name: build_agent(spec, name=name, context=self.context) for name, spec in self.specs.items()}
        except AgentSpecError as error:
            raise UsageError(str(error)) from error

    def settings(self, name: str) -> dict[str, Any]:
        """Every setting in force of the agent `name`, as JSON values."""
        spec = self.specs[name]
        model = {"model": self.conditions.engine.model} if get_kind(spec.kind).asks_model else {}
        return model | settings_in_force(spec, self.conditions.llm_defaults)

    def new_agents(self) -> tuple[NewAgent, ...]:
        """The agents as they go into the record. All must be started."""
        return tuple(
            NewAgent(name=name, spec=spec.text, settings={**self.settings(name), **self.agents[name].facts})
            for name, spec in self.specs.items()
        )

    def engine_in_force(self) -> EngineSettings:
        """The engine's settings with what `auto` came to, so that the run goes on with the same wherever it does."""
        settings = self.conditions.engine
        return settings.model_copy(update={"weights": self.engines.weights}) if self.engines else settings

    def environment(self) -> dict[str, Any]:
        """What the run's speed, and on another machine its bits, depend on."""
        return {
            "arena": _version(),
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.release()}",
            "machine": platform.machine(),
            "cpus": os.cpu_count(),
            **self.engines.environment(),
        }

    def start_engines(self, progress: Callable[[str], None] | None = None) -> None:
        """Loads the models that the agents ask, and starts their engines: see `Engines.start`."""
        self.engines.start(progress)

    async def start(self) -> None:
        """Starts the engines, then all agents at once: their prompts are warm before the first clock starts.

        Agents that share a prompt cost the engine one warm-up, since it computes a shared prefix once.
        Raises ArenaError naming an agent that cannot start.
        """
        await asyncio.to_thread(self.start_engines)
        try:
            async with asyncio.TaskGroup() as group:
                for name, agent in self.agents.items():
                    group.create_task(_start(name, agent))
        except* ArenaError as errors:
            raise errors.exceptions[0] from None

    def check_facts(self, run: NewRun) -> None:
        """Raises ArenaError if what is started is not what `run` began with, such as another model or another version
        of an engine: its games would not go on as they began."""
        checksum = self.engines.model_checksum
        if checksum != run.model_checksum:
            raise ArenaError(
                f"the model {self.engines.model} has changed since {run.name} began: its checksum is {checksum}, "
                f"the run's is {run.model_checksum}"
            )
        for recorded in run.agents:
            for fact, now in self.agents[recorded.name].facts.items():
                if (then := recorded.settings.get(fact)) != now:
                    raise ArenaError(f"the {fact} of {recorded.name} was {then} when the run began and is {now} now")

    async def check_engines(self) -> None:
        """Raises ArenaError if an engine answers nobody any more; a run cannot go on without it."""
        if not self.engines.alive:
            raise ArenaError("the engine has stopped; `arena play --resume` goes on")

    async def close(self) -> None:
        """Closes the agents, for a bounded time, then the engines. What an agent raises is logged."""
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
            self.close_engines()

    def close_engines(self) -> None:
        """Stops the engines; enough when no agent was started."""
        self.engines.close()


class Lineup(Roster):
    """The roster of `arena play`, with the schedule of its games. Making one checks the whole configuration."""

    def __init__(self, config: RunConfig, broker: Broker | None = None) -> None:
        self.config = config
        specs = [_parse(text) for text in config.agent]
        dealt = [specs[seat % len(specs)] for seat in range(config.agents)]
        names = unique_names(
            [spec.name or _nickname(spec) for spec in dealt], numbered=[spec.name is None for spec in dealt]
        )
        self._opening = self._find_opening()
        super().__init__(dict(zip(names, dealt, strict=True)), config, broker)

    def _find_opening(self) -> Opening | None:
        """The opening that was asked for by name. Raises UsageError if games cannot start as they should."""
        try:
            for game in self.config.games_played:
                get_game(game).position(self.config.fen)
            name = self.config.opening
            return None if name is None else find_opening(get_game(self.config.game), name)
        except (UnknownGameError, InvalidPositionError, IllegalMoveError) as error:
            raise UsageError(str(error)) from error

    def schedule(self) -> tuple[NewGame, ...]:
        """The games of the run."""
        return make_schedule(
            tuple(self.specs),
            self.config.games,
            seed=self.config.seed,
            rule_policies={game: get_game(game).rule_policy for game in self.config.games_played},
            max_plies=self.config.max_plies,
            start_fen=self.config.fen,
            opening=self._opening,
        )

    def new_run(self) -> NewRun:
        """The run as it goes into the record: configuration, agents, schedule. All must be started."""
        config = self.config.model_copy(update={"engine": self.engine_in_force()})
        return NewRun(
            config=config.model_dump(mode="json"),
            seed=config.seed,
            agents=self.new_agents(),
            games=self.schedule(),
            model=self.engines.model,
            model_checksum=self.engines.model_checksum,
            environment=self.environment(),
        )

    def repeats(self) -> int:
        """How many games of the schedule must repeat an earlier one move for move: see `certain_repeats`."""
        known = {name: self._determined_by(name) for name in self.specs}
        return certain_repeats(self.schedule(), known)

    def _determined_by(self, name: str) -> dict[str, Any] | None:
        settings = self.settings(name)
        if not (settings.get("temperature") == 0 or (settings.get("repeatable") and self.config.clocks is None)):
            return None
        return {key: value for key, value in settings.items() if key != "name"}


async def _start(name: str, agent: Agent) -> None:
    try:
        await agent.start()
    except UnusableAgentError as error:
        raise UsageError(f"agent {name}: {error}") from error
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
    if spec.kind == "mqtt" and spec.target:
        return spec.target
    if spec.kind == "python" and spec.target:
        return spec.target.rpartition(":")[2]
    return Path(spec.target).name if spec.kind == "uci" and spec.target else spec.kind
