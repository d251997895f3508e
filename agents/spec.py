"""Agent specs: one line of text that says which agent plays.

    KIND[:TARGET][?KEY=VALUE[&KEY=VALUE...]]

    llm                                               a language model, with the run's settings
    llm:smollm2-135m?temperature=0.7&legality=retry:3
    random?name=Dice
    python:./my_agent.py:Mine?depth=3                 a user's own agent, with arguments for its constructor

In target and values `%26` stands for an ampersand, `%25` for a per cent sign, and so on; a target's `?` must be
written `%3F`. The same as a mapping, for YAML, TOML and JSON: `{kind: llm, model: smollm2-135m, temperature: 0.7}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from agents.kind import AgentSpec, AgentSpecError, Kind, Value, read_any
from agents.registry import get_kind
from agents.suggest import unknown

_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_UNRESERVED = "/:.,@+~ "


def parse_spec(text: str) -> AgentSpec:
    """Read one agent spec. Nothing is imported or opened. Raises AgentSpecError."""
    head, question, query = text.partition("?")
    kind_name, colon, target = head.partition(":")
    kind = get_kind(kind_name)
    if colon and not target:
        raise AgentSpecError(f"nothing follows the colon of {text!r}")
    if question and not query:
        raise AgentSpecError(f"nothing follows the question mark of {text!r}")
    pairs = _pairs(query)
    name = pairs.pop("name", None)
    if name is not None and not name.isprintable():
        raise AgentSpecError(f"name {name!r} has characters that cannot be printed")
    return AgentSpec(
        kind=kind_name,
        text=text,
        name=name,
        settings={key: _read(kind, key, value) for key, value in pairs.items()},
        target=_target(kind, _decoded(target) if colon else None),
    )


def kind_of(text: str) -> str:
    """The name of the kind in a spec, whatever else it says."""
    return re.split("[:?]", text, maxsplit=1)[0]


def spec_text(mapping: Mapping[str, Any]) -> str:
    """The line that says the same as `mapping`: its `kind`, the kind's target under its own key (`model` for llm),
    and settings. Raises AgentSpecError; whether the settings are right is for `parse_spec` to say."""
    kind = get_kind(_scalar("kind", mapping.get("kind", "")))
    target_key = kind.target.key if kind.target else ""
    head = kind.name
    if target_key in mapping:
        head += ":" + quote(_scalar(target_key, mapping[target_key]), safe=_UNRESERVED)
    rest = {key: value for key, value in mapping.items() if key not in ("kind", target_key)}
    pairs = [f"{quote(str(key), safe='')}={quote(_scalar(str(key), rest[key]), safe=_UNRESERVED)}" for key in rest]
    return head + ("?" + "&".join(pairs) if pairs else "")


def _scalar(key: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float):
        raise AgentSpecError(f"{key} must be a text, a number, true or false, not {value!r}")
    return str(value)


def _target(kind: Kind, text: str | None) -> str | None:
    if text is None:
        if kind.target is not None and kind.target.required:
            raise AgentSpecError(f"{kind.name} needs {kind.target.help} after a colon, as in {kind.example}")
        return None
    if kind.target is None:
        raise AgentSpecError(f"{kind.name} takes nothing after a colon, not {text!r}; options follow a question mark")
    if re.match(r"[a-z_]+=", text):
        raise AgentSpecError(f"options follow a question mark, with & between them: {kind.name}?{_after_comma(text)}")
    try:
        kind.target.check(text)
    except ValueError as error:
        raise AgentSpecError(str(error)) from error
    return text


def _after_comma(text: str) -> str:
    return re.sub(r",(?=[a-z_]+=)", "&", text)


def _pairs(query: str) -> dict[str, str]:
    """The decoded `key=value` pairs between the ampersands of `query`."""
    pairs: dict[str, str] = {}
    for part in query.split("&") if query else ():
        key, equals, value = part.partition("=")
        if not (key and equals and value):
            raise AgentSpecError(f"{part!r} is not of the form key=value")
        key = _decoded(key)
        if key in pairs:
            raise AgentSpecError(f"{key} is set twice")
        pairs[key] = _decoded(value)
    return pairs


def _decoded(text: str) -> str:
    if _BAD_ESCAPE.search(text):
        raise AgentSpecError(f"in {text!r} a per cent sign must be written %25")
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError as error:
        raise AgentSpecError(f"{text!r} does not decode to text in UTF-8") from error


def _read(kind: Kind, key: str, value: str) -> Value:
    option = kind.option(key)
    try:
        if option is not None:
            return option.read(value)
        if kind.any_option:
            return read_any(value)
    except ValueError as error:
        raise AgentSpecError(f"{key}: {error}") from error
    raise AgentSpecError(unknown(f"key for {kind.name}", key, [*(each.name for each in kind.options), "name"]))
