"""The options of an engine: what it declares, and whether what the user wants fits."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from chess.engine import ConfigValue, EngineError, Option

from agents.uci.process import EngineStartError

_DECLARATION = re.compile(r"option\s+name\s+(?P<name>\S.*?)\s+type\s+(?P<type>\w+)(?P<rest>.*)")
_WORDS = re.compile(r"\s(default|min|max|var)\s(.*?)(?=\s(?:default|min|max|var)\s|$)")


def read_option(line: str) -> Option | None:
    """The option that a line such as `option name Hash type spin default 16 min 1 max 1024` declares; None for any
    other line."""
    shape = _DECLARATION.fullmatch(line)
    if shape is None:
        return None
    words = _WORDS.findall(shape["rest"])
    said = dict(words)
    choices = [value for key, value in words if key == "var"]
    return Option(
        name=shape["name"],
        type=shape["type"],
        default=said.get("default"),
        min=_bound(said.get("min", "")),
        max=_bound(said.get("max", "")),
        var=choices or None,
    )


def checked_options(
    wanted: Iterable[tuple[str, str]], declared: Iterable[Option], engine: str
) -> dict[str, ConfigValue]:
    """The `wanted` options by the names that `engine` declares, their values read; names match in any case.

    Raises EngineStartError for an option that it does not have, that the arena sets itself, or a value out of range.
    """
    known = {option.name.lower(): option for option in declared}
    checked: dict[str, ConfigValue] = {}
    for name, value in wanted:
        option = known.get(name.lower())
        if option is None:
            raise EngineStartError(f"{engine} has no option {name!r}; {_others(name, known)}")
        if option.is_managed():
            raise EngineStartError(f"option {option.name} of {engine} is set by the arena")
        if option.type == "check" and value.lower() not in ("true", "false"):
            raise EngineStartError(f"option {option.name} of {engine} must be true or false, not {value!r}")
        try:
            checked[option.name] = option.parse(value.lower() if option.type == "check" else value)
        except EngineError as error:
            raise EngineStartError(f"{engine}: {error}") from error
    return checked


def uci_value(value: ConfigValue) -> str:
    """A value as `setoption` wants it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _bound(text: str) -> int | None:
    return int(text) if re.fullmatch(r"-?\d+", text) else None


def _others(name: str, known: dict[str, Option]) -> str:
    close = get_close_matches(name.lower(), list(known), n=1)
    if close:
        return f"did you mean {known[close[0]].name}?"
    return "it has " + (", ".join(option.name for option in known.values() if not option.is_managed()) or "none")
