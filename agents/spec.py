"""Agent specs: one line of text that says which agent plays, and the agent it stands for.

llm                                             a language model, with the run's settings
llm:temperature=0.7,legality=retry:3,name=Sharp
random:name=Dice
python:package.module:Class                     a user's own agent, by module
python:./my_agent.py:MyAgent?depth=3,name=Mine  or by file, with arguments for its constructor
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from agents.base import Agent
from agents.custom import CustomAgentError, make_agent
from agents.llm import ChoiceEngine, Legality, LLMAgent, LLMSettings
from agents.prompts import PromptTemplate, PromptTemplateError, load_template
from agents.random import RandomAgent


class AgentSpecError(ValueError):
    """A spec that names no agent. The message names the part at fault and what is allowed there."""


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """A spec as parsed: `settings` are those it sets itself, as plain values; `text` is how it was written.

    `target` is the class of a `python` agent, whose `settings` are the arguments of its constructor.
    """

    kind: str
    text: str
    name: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    target: str | None = None


@dataclass(frozen=True, slots=True)
class BuildContext:
    """What agents are built from: the engine they share (None if none of them needs one), a game's own prompt
    template, the game's name, and run-wide settings of llm agents, which a spec's own override."""

    engine: ChoiceEngine | None
    template_for: Callable[[str], PromptTemplate]
    game: str
    defaults: Mapping[str, Any] = field(default_factory=dict)


def parse_spec(text: str) -> AgentSpec:
    """Read one agent spec: `KIND[:key=value,...]`, or `python:TARGET[?key=value,...]`. Raises AgentSpecError.

    A value cannot hold a comma. Nothing is imported or opened.
    """
    kind, colon, rest = text.partition(":")
    if kind not in _KINDS:
        raise AgentSpecError(_unknown("kind of agent", kind, _KINDS))
    if colon and not rest:
        raise AgentSpecError(f"nothing follows the colon of {text!r}")
    target = None
    if kind == "python":
        target, question, rest = rest.partition("?")
        if not re.fullmatch(r".+:[^\W\d]\w*", target):
            raise AgentSpecError(f"python: needs package.module:Class or ./file.py:Class, not {target!r}")
        if question and not rest:
            raise AgentSpecError(f"nothing follows the question mark of {text!r}")
    pairs = _pairs(rest)
    name = pairs.pop("name", None)
    if name is not None and not name.isprintable():
        raise AgentSpecError(f"name {name!r} has characters that cannot be printed")
    if kind == "python":
        settings = {key: _plain(value) for key, value in pairs.items()}
    else:
        settings = {key: _read(kind, key, value) for key, value in pairs.items()}
    return AgentSpec(kind, text, name, settings, target)


def needs_engine(spec: AgentSpec) -> bool:
    """Whether the agent asks a model: a run without such agents never loads one."""
    return spec.kind == "llm"


def settings_in_force(spec: AgentSpec, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting that has an effect on the agent, as JSON values. Raises AgentSpecError."""
    if spec.kind == "python":
        return {"target": spec.target, "arguments": dict(spec.settings)}
    if spec.kind == "random":
        return {}
    prompt = {"prompt": spec.settings["prompt"]} if "prompt" in spec.settings else {}
    return _llm_settings(spec, defaults).in_force() | prompt


def build_agent(spec: AgentSpec, *, name: str, context: BuildContext) -> Agent:
    """The agent that `spec` stands for, called `name`; runs the module of a `python` spec.

    Raises AgentSpecError.
    """
    if spec.kind == "random":
        return RandomAgent(name)
    if spec.kind == "python":
        if spec.target is None:
            raise AgentSpecError(f"{spec.text}: a python agent needs a target")
        try:
            return make_agent(spec.target, spec.settings, name)
        except CustomAgentError as error:
            raise AgentSpecError(f"{spec.text}: {error}") from error
    if context.engine is None:
        raise AgentSpecError(f"{spec.text}: an llm agent needs an engine")
    settings = _llm_settings(spec, context.defaults)
    return LLMAgent(name, context.engine, _template(spec, context), settings)


def _template(spec: AgentSpec, context: BuildContext) -> PromptTemplate:
    if "prompt" not in spec.settings:
        return context.template_for(context.game)
    try:
        template = load_template(spec.settings["prompt"])
    except PromptTemplateError as error:
        raise AgentSpecError(f"{spec.text}: {error}") from error
    if template.game != context.game:
        raise AgentSpecError(
            f"{spec.text}: prompt template {template.name!r} is for {template.game}, not {context.game}"
        )
    return template


def _llm_settings(spec: AgentSpec, defaults: Mapping[str, Any]) -> LLMSettings:
    own = {key: value for key, value in spec.settings.items() if key != "prompt"}
    merged = {**defaults, **own}
    try:
        if "legality" in merged:
            merged["legality"] = Legality.parse(str(merged["legality"]))
        settings = LLMSettings(**merged)
    except (TypeError, ValueError) as error:
        raise AgentSpecError(f"{spec.text}: {error}") from error
    for key in own:
        if key not in settings.in_force():
            raise AgentSpecError(f"{spec.text}: {key} has no effect with legality={settings.legality}")
    return settings


def _pairs(text: str) -> dict[str, str]:
    """The `key=value` pairs between the commas of `text`, without whitespace around keys and values."""
    pairs: dict[str, str] = {}
    for part in text.split(",") if text else ():
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (key and equals and value):
            raise AgentSpecError(f"{part!r} is not of the form key=value")
        if key in pairs:
            raise AgentSpecError(f"{key} is set twice")
        pairs[key] = value
    return pairs


def _read(kind: str, key: str, value: str) -> Any:
    readers = _KINDS[kind]
    if key not in readers:
        raise AgentSpecError(_unknown(f"key for {kind}", key, [*readers, "name"]))
    try:
        return readers[key](value)
    except ValueError as error:
        raise AgentSpecError(f"{key}: {error}") from error


def _number(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    return float(text)


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def _legality(text: str) -> str:
    return str(Legality.parse(text))


def _select(text: str) -> str:
    if text not in ("choose", "score"):
        raise ValueError(f"{text!r} is neither choose nor score")
    return text


def _plain(text: str) -> str | int | float | bool:
    """The value of a constructor's argument: true and false, numbers, else the text itself."""
    if text in ("true", "false"):
        return text == "true"
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def _unknown(what: str, given: str, allowed: Mapping[str, Any] | list[str]) -> str:
    close = get_close_matches(given, list(allowed), n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"unknown {what} {given!r}{hint}; allowed are {', '.join(allowed)}"


_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")

# Kind -> what reads the values of its keys. `name` is a key of every kind.
_KINDS: dict[str, dict[str, Callable[[str], Any]]] = {
    "llm": {
        "temperature": _number,
        "legality": _legality,
        "select": _select,
        "max_tokens": _integer,
        "top_k": _integer,
        "top_p": _number,
        "prompt": str,
    },
    "random": {},
    "python": {},
}
