"""What a kind of agent is: its options, and how an agent of it is made. `agents.registry` lists the kinds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from agents.base import Agent
from agents.llm import ChoiceEngine
from agents.mqtt.link import Link
from agents.prompt_files import PromptLibrary
from agents.uci.pool import EnginePool

Value = str | int | float | bool
"""What a setting can be."""


class AgentSpecError(ValueError):
    """A spec that names no agent. The message names the part at fault and what is allowed there."""


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """A spec as parsed: `settings` are those it sets itself; `text` is how it was written.

    `target` is what follows the colon: the model of an `llm` agent, the class of a `python` agent.
    """

    kind: str
    text: str
    name: str | None = None
    settings: Mapping[str, Value] = field(default_factory=dict)
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Option:
    """A key that specs of a kind may set; a name such as `option.NAME` stands for every key that begins `option.`.

    `read` makes the value of its text, and raises ValueError saying what would be right; `type` and `help` are for
    people, and so is `default`: what is in force without the key, None if that is nothing.
    """

    name: str
    type: str
    help: str
    read: Callable[[str], Value]
    default: Value | None = None

    def takes(self, key: str) -> bool:
        """Whether `key` is this option's."""
        stem, dot, _ = self.name.partition(".")
        return key == self.name or bool(dot and key.startswith(f"{stem}.") and len(key) > len(stem) + 1)


@dataclass(frozen=True, slots=True)
class Target:
    """What may follow the colon of a spec; `key` is its name where specs are mappings. `check` raises ValueError."""

    key: str
    help: str
    required: bool = True
    check: Callable[[str], None] = lambda text: None


@dataclass(frozen=True, slots=True)
class BuildContext:
    """What agents are built from: `engine_for` gives the engine of a model, None standing for the run's own;
    `prompts` has the templates; `games` are those that will be played; `defaults` are run-wide settings of llm agents,
    which a spec's own override; `uci_engines` are the processes that all UCI agents share; `remote` is the way to
    remote agents, if there is one."""

    engine_for: Callable[[str | None], ChoiceEngine]
    prompts: PromptLibrary
    games: tuple[str, ...]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    uci_engines: EnginePool = field(default_factory=EnginePool)
    remote: Link | None = None


class Build(Protocol):
    """Makes the agent of a checked spec, called `name`. Raises AgentSpecError."""

    def __call__(self, spec: AgentSpec, name: str, context: BuildContext) -> Agent: ...


def own_settings(spec: AgentSpec, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The settings in force of a kind that knows no run-wide ones."""
    target = {} if spec.target is None else {"target": spec.target}
    return target | dict(spec.settings)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of agent.

    `settings` gives everything in force for a spec under the run's defaults, as JSON values. `any_option` says what
    keys without an entry in `options` mean, where those are allowed. `asks_model` is whether it needs an engine.
    """

    name: str
    summary: str
    example: str
    build: Build
    options: tuple[Option, ...] = ()
    target: Target | None = None
    any_option: str = ""
    asks_model: bool = False
    settings: Callable[[AgentSpec, Mapping[str, Any]], dict[str, Any]] = own_settings

    def option(self, key: str) -> Option | None:
        """The option that `key` sets, if there is one."""
        return next((option for option in self.options if option.takes(key)), None)


# --- readers of values ---------------------------------------------------------------------------------------------

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


def read_number(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    return float(text)


def read_integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def read_flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text == "true"


def read_one_of(*allowed: str) -> Callable[[str], str]:
    """A reader that takes the `allowed` words only."""

    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"{text!r} is not one of {', '.join(allowed)}")
        return text

    return read


def read_any(text: str) -> Value:
    """A value whose type is not known: true and false, numbers, else the text itself."""
    if text in ("true", "false"):
        return text == "true"
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text
