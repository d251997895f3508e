"""What a spec of a UCI engine may say: `uci:stockfish?skill=0&nodes=200&option.Move%20Overhead=0`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from agents.base import Agent
from agents.kind import AgentSpec, AgentSpecError, BuildContext, Kind, Option, Target, read_flag, read_integer
from agents.uci.agent import UciAgent
from agents.uci.process import EngineNotFoundError
from agents.uci.settings import DEFAULT_NODES, UciSettings

_PREFIX = "option."


def uci_settings(spec: AgentSpec) -> UciSettings:
    """How a `uci` spec wants its engine used. Raises AgentSpecError."""
    own = {key: value for key, value in spec.settings.items() if key != "args" and not key.startswith(_PREFIX)}
    options = {key.removeprefix(_PREFIX): str(value) for key, value in spec.settings.items() if key.startswith(_PREFIX)}
    try:
        return UciSettings(**own, options=options)  # type: ignore[arg-type]  # read by the options below
    except ValueError as error:
        raise AgentSpecError(str(error)) from error


def _in_force(spec: AgentSpec, defaults: Mapping[str, Any]) -> dict[str, Any]:
    arguments = {"args": spec.settings["args"]} if "args" in spec.settings else {}
    return {"engine": spec.target} | arguments | uci_settings(spec).in_force()


def uci_command(spec: AgentSpec) -> list[str]:
    """The program of a `uci` spec and its arguments. Raises AgentSpecError."""
    assert spec.target is not None
    try:
        return [spec.target, *shlex.split(str(spec.settings.get("args", "")))]
    except ValueError as error:
        raise AgentSpecError(f"args={spec.settings['args']}: {error}") from error


def _build(spec: AgentSpec, name: str, context: BuildContext) -> Agent:
    try:
        return UciAgent(name, uci_command(spec), context.games, uci_settings(spec), context.uci_engines)
    except EngineNotFoundError as error:
        raise AgentSpecError(str(error)) from error


UCI = Kind(
    name="uci",
    summary="A UCI engine: Stockfish for chess, Fairy-Stockfish for janggi as well.",
    example="uci:stockfish?skill=0&nodes=200",
    build=_build,
    target=Target("engine", "a program, by name or path"),
    options=(
        Option("nodes", "integer", f"Positions searched for a move; {DEFAULT_NODES} without other limit or clock.",
               read_integer),
        Option("depth", "integer", "Plies searched for a move.", read_integer),
        Option("movetime", "integer", "Milliseconds of a move.", read_integer),
        Option("skill", "integer", "Skill Level, 0 to 20: Stockfish draws random numbers below 20.", read_integer),
        Option("elo", "integer", "UCI_Elo, with UCI_LimitStrength: likewise.", read_integer),
        Option("hash", "integer", "MiB of its hash table.", read_integer),
        Option("threads", "integer", "With more than one its moves are not repeatable.", read_integer, 1),
        Option("keep_hash", "true|false", "Remember the game's earlier searches: a little stronger, not repeatable.",
               read_flag, False),
        Option("option.NAME", "text", "Any option of the engine, by its own name.", str),
        Option("args", "text", "Arguments of the program, quoted as in a shell.", str),
    ),
    settings=_in_force,
)  # fmt: skip
