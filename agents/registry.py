"""The kinds of agents there are. A new one is a new entry in `KINDS`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agents.base import Agent
from agents.custom import CustomAgentError, check_template_hash, make_agent
from agents.human import HumanAgent
from agents.kind import (
    AgentSpec,
    AgentSpecError,
    BuildContext,
    Kind,
    Option,
    Target,
    read_flag,
    read_integer,
    read_number,
    read_one_of,
)
from agents.llm import LLMAgent
from agents.llm_settings import DEFAULT_PROMPT, Legality, LLMSettings
from agents.mqtt.kind import MQTT
from agents.prompt_files import PromptLibrary
from agents.prompts import PromptTemplate
from agents.random import RandomAgent
from agents.suggest import unknown
from agents.terminal import own_terminal
from agents.uci.kind import UCI


def get_kind(name: str) -> Kind:
    """The kind called `name`. Raises AgentSpecError."""
    if name not in KINDS:
        raise AgentSpecError(unknown("kind of agent", name, KINDS))
    return KINDS[name]


def build_agent(spec: AgentSpec, *, name: str, context: BuildContext) -> Agent:
    """The agent that `spec` stands for, called `name`; runs the module of a `python` spec. Raises AgentSpecError."""
    try:
        return get_kind(spec.kind).build(spec, name, context)
    except AgentSpecError as error:
        raise AgentSpecError(f"{spec.text}: {error}") from error


def settings_in_force(spec: AgentSpec, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting that has an effect on the agent, as JSON values; `defaults` are those of the run.

    Raises AgentSpecError.
    """
    try:
        return get_kind(spec.kind).settings(spec, defaults)
    except AgentSpecError as error:
        raise AgentSpecError(f"{spec.text}: {error}") from error


# --- random --------------------------------------------------------------------------------------------------------


def _build_random(spec: AgentSpec, name: str, context: BuildContext) -> Agent:
    return RandomAgent(name)


_RANDOM = Kind(
    name="random",
    summary="Any legal move, each as likely as the others.",
    example="random?name=Dice",
    build=_build_random,
)


# --- python --------------------------------------------------------------------------------------------------------


def _check_class(target: str) -> None:
    if not re.fullmatch(r".+:[^\W\d]\w*", target):
        raise ValueError(f"python: needs package.module:Class or ./file.py:Class, not {target!r}")


def _build_python(spec: AgentSpec, name: str, context: BuildContext) -> Agent:
    assert spec.target is not None
    try:
        agent = make_agent(spec.target, spec.settings, name)
        for game in context.games:
            check_template_hash(agent, game, spec.target)
        return agent
    except CustomAgentError as error:
        raise AgentSpecError(str(error)) from error


_PYTHON = Kind(
    name="python",
    summary="A class of your own, a subclass of agents.base.Agent.",
    example="python:./my_agent.py:Mine?depth=3",
    build=_build_python,
    target=Target("class", "package.module:Class or ./file.py:Class", check=_check_class),
    any_option="arguments of the constructor: true, false, numbers, else text",
    settings=lambda spec, defaults: {"target": spec.target, "arguments": dict(spec.settings)},
)


# --- llm -----------------------------------------------------------------------------------------------------------


def _read_legality(text: str) -> str:
    return str(Legality.parse(text))


_PROMPT_KEYS = ("prompt", "system", "persona", "examples")


def _llm_settings(spec: AgentSpec, defaults: Mapping[str, Any]) -> LLMSettings:
    own = {key: value for key, value in spec.settings.items() if key not in _PROMPT_KEYS}
    merged = {key: value for key, value in {**defaults, **own}.items() if key != "prompt"}
    if "pass" in merged:
        merged["may_pass"] = merged.pop("pass")
    try:
        if "legality" in merged:
            merged["legality"] = Legality.parse(str(merged["legality"]))
        settings = LLMSettings(**merged)
    except (TypeError, ValueError) as error:
        raise AgentSpecError(str(error)) from error
    for key in own:
        if key not in settings.in_force():
            raise AgentSpecError(f"{key} has no effect with legality={settings.legality}")
    return settings


def _llm_in_force(spec: AgentSpec, defaults: Mapping[str, Any]) -> dict[str, Any]:
    model = {"model": spec.target} if spec.target else {}
    return model | _llm_settings(spec, defaults).in_force() | _prompt_in_force(spec, defaults)


def _prompt_in_force(spec: AgentSpec, defaults: Mapping[str, Any]) -> dict[str, Any]:
    own = {key: spec.settings[key] for key in _PROMPT_KEYS if key in spec.settings}
    return {"prompt": defaults.get("prompt", DEFAULT_PROMPT)} | own


def _template(spec: AgentSpec, game: str, context: BuildContext) -> PromptTemplate:
    return recorded_template(_prompt_in_force(spec, context.defaults), game, context.prompts)


def recorded_template(settings: Mapping[str, Any], game: str, prompts: PromptLibrary) -> PromptTemplate:
    """The prompt template for `game` of an `llm` agent with these settings, as a spec has them or a record. Raises
    PromptError."""
    own = {key: settings[key] for key in _PROMPT_KEYS if key in settings}
    template = prompts.load(str(own.pop("prompt", DEFAULT_PROMPT)), game)
    return template.customised(**own)


def _build_llm(spec: AgentSpec, name: str, context: BuildContext) -> Agent:
    settings = _llm_settings(spec, context.defaults)
    try:
        templates = {game: _template(spec, game, context) for game in context.games}
        return LLMAgent(name, context.engine_for(spec.target), templates, settings)
    except ValueError as error:
        raise AgentSpecError(str(error)) from error


_LLM = Kind(
    name="llm",
    summary="A language model on the engine of this process.",
    example="llm:smollm2-135m?temperature=0.7&legality=retry:3",
    build=_build_llm,
    target=Target("model", "a name of `arena models list`, a folder, a .gguf file, a Hugging Face id", required=False),
    options=(
        Option("temperature", "number", "0 takes the likeliest, 1 the model's own probabilities.", read_number),
        Option("legality", "policy", "constrained, retry:N or free.", _read_legality),
        Option("select", "walk|score", "Constrained: decide token by token, or weigh whole moves.",
               read_one_of("walk", "score"), "walk"),
        Option("pass", "true|false", "Constrained: janggi's pass is a move to choose, even if there are others.",
               read_flag, False),
        Option("prompt", "name|file", "The prompt template; a file of your own ends in .toml.", str, DEFAULT_PROMPT),
        Option("system", "text", "Instead of the template's system prompt.", str),
        Option("persona", "text", "Told behind the system prompt.", str),
        Option("examples", "integer", "How many worked examples the prompt shows, where it has room for them.",
               read_integer),
        Option("seed", "integer", "Draws otherwise than agents with another one in the same game.", read_integer),
        Option("max_tokens", "integer", "Free text: tokens of an answer; else as the template says.", read_integer),
        Option("top_k", "integer", "Free text: sample among the k likeliest tokens; 0 is off.", read_integer, 0),
        Option("top_p", "number", "Free text: sample among the likeliest of this total probability.", read_number, 1.0),
    ),
    asks_model=True,
    settings=_llm_in_force,
)  # fmt: skip


# --- human ---------------------------------------------------------------------------------------------------------


def _build_human(spec: AgentSpec, name: str, context: BuildContext) -> Agent:
    return HumanAgent(name, own_terminal(), **spec.settings)  # type: ignore[arg-type]  # read by the options below


_HUMAN = Kind(
    name="human",
    summary="A person at this terminal.",
    example="human?name=Ada",
    build=_build_human,
    options=(
        Option("faces", "hanja|hangul|letters", "Of the pieces on the board; letters also in chess.",
               read_one_of("hanja", "hangul", "letters"), "hanja"),
    ),
)  # fmt: skip


KINDS: dict[str, Kind] = {kind.name: kind for kind in (_LLM, UCI, _RANDOM, _HUMAN, MQTT, _PYTHON)}
