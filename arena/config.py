"""What a run is asked to do: validated before the first game, stored whole, rebuilt from the record on resume."""

from __future__ import annotations

import os
import secrets
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from agents.llm_settings import DEFAULT_PROMPT, Legality
from agents.spec import spec_text
from arena.clocks import Charge, TimeControl
from arena.errors import UsageError
from inference.formats import KV_MEMORY_MB, KVChoice, WeightChoice

MAX_AGENTS = 10_000
MAX_GAMES = 100_000
MAX_THREADS = 1024
MAX_PLIES = 20_000  # no game of chess under these rules is longer
"""Beyond these a number is a slip of the keyboard, and is refused before it fills the memory."""


MIXED = ("chess", "janggi")
"""What `--game mixed` plays."""

MOVE_TIMEOUT_S = 60.0
"""How long a move may take, in a game without a time control, unless the user says otherwise."""


def draw_seed() -> int:
    """A seed drawn at random, short enough to be typed again."""
    return secrets.randbelow(2**31)


SWITCHES = ("prefix_cache", "continuous_batching", "chunked_prefill", "jump_forward", "shared_attention")
"""Techniques of the engine that are on unless the user says `--no-...`."""


class EngineSettings(BaseModel):
    """The engine as the run wants it: the fields of `inference.engine.EngineConfig` that a person may set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(default="smollm2-135m", min_length=1)
    weights: WeightChoice = "auto"
    kv: KVChoice = "auto"
    threads: int | None = Field(default=None, ge=1, le=MAX_THREADS)
    page_size: int = Field(default=64, ge=1)
    kv_memory_mb: int = Field(default=KV_MEMORY_MB, ge=1)
    max_batch_tokens: int = Field(default=256, ge=1)
    max_batch: int = Field(default=256, ge=1)  # sequences in a step; 1 serves one request at a time
    prefix_cache: bool = True
    continuous_batching: bool = True
    chunked_prefill: bool = True
    jump_forward: bool = True
    select: Literal["walk", "tree"] = "walk"  # how a move is chosen: token by token, or all of the trie in one pass
    shared_attention: bool = True


class RunConfig(BaseModel):
    """Everything that `arena play` was asked.

    Counts left out are filled in: `agents` from the number of specs (at least 2), `games` and `concurrency` from
    the games of one round; `move_timeout` is MOVE_TIMEOUT_S unless there is a time control.
    Building one raises pydantic's ValidationError; `build_config` raises UsageError.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    agent: tuple[str, ...] = Field(default=("llm",), min_length=1)  # specs, dealt to the agents in turn
    agents: int = Field(default=2, ge=2, le=MAX_AGENTS)
    games: int = Field(default=1, ge=1, le=MAX_GAMES)
    concurrency: int = Field(default=1, ge=1, le=MAX_AGENTS)  # games at once
    game: str = "chess"  # or `mixed`
    fen: str | None = None
    opening: str | None = None  # of the game's own list, by name
    max_plies: int = Field(default=200, ge=1, le=MAX_PLIES)
    seed: int = Field(default_factory=draw_seed, ge=0, lt=2**63)
    temperature: float = Field(default=1.0, ge=0, allow_inf_nan=False)  # of agents whose spec says nothing else
    legality: str = "constrained"  # likewise
    prompt: str = Field(default=DEFAULT_PROMPT, min_length=1)  # likewise: a template's name or file
    move_timeout: float | None = Field(default=None, gt=0, allow_inf_nan=False)  # wall seconds; None: the clock's
    time_control: str | None = None  # seconds for the game + seconds a move, such as 60+1
    charge: Charge = "compute"  # of a move's time, by the clocks
    engine: EngineSettings = EngineSettings()

    @model_validator(mode="before")
    @classmethod
    def _fill_counts(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        given = {key: value for key, value in data.items() if value is not None}
        specs = given.get("agent", ())
        agents = given.setdefault("agents", max(2, len(specs)) if isinstance(specs, list | tuple) else 2)
        if isinstance(agents, int):
            given.setdefault("games", max(1, agents // 2))
            given.setdefault("concurrency", max(1, agents // 2))
        if "time_control" not in given:
            given.setdefault("move_timeout", MOVE_TIMEOUT_S)
        return given

    @field_validator("time_control")
    @classmethod
    def _time_control_is_readable(cls, value: str | None) -> str | None:
        return None if value is None else str(TimeControl.parse(value))

    @field_validator("agent", mode="before")
    @classmethod
    def _specs_may_be_mappings(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        return tuple(spec_text(spec) if isinstance(spec, Mapping) else spec for spec in value)

    @field_validator("agents")
    @classmethod
    def _agents_are_even(cls, value: int) -> int:
        if value % 2:
            raise ValueError(f"must be even, since agents play in pairs: {value - 1 or 2} or {value + 1}")
        return value

    @field_validator("legality")
    @classmethod
    def _legality_is_known(cls, value: str) -> str:
        try:
            return str(Legality.parse(value))
        except ValueError as error:
            raise ValueError(str(error).removeprefix("legality ")) from error

    @property
    def clocks(self) -> TimeControl | None:
        """The time control of every game, if there is one."""
        return None if self.time_control is None else TimeControl.parse(self.time_control, self.charge)

    @property
    def llm_defaults(self) -> dict[str, Any]:
        """Settings of `llm` agents whose spec says nothing else."""
        return {"temperature": self.temperature, "legality": self.legality, "prompt": self.prompt}

    @property
    def games_played(self) -> tuple[str, ...]:
        """The names of the games that `game` stands for: `mixed` is chess and janggi by turns."""
        return MIXED if self.game == "mixed" else (self.game,)

    @model_validator(mode="after")
    def _games_start_in_one_way(self) -> RunConfig:
        starts = {"--fen": self.fen, "--opening": self.opening}
        given = [option for option, value in starts.items() if value is not None]
        if len(given) > 1:
            raise ValueError(f"give {' or '.join(given)}, not both")
        if given and len(self.games_played) > 1:
            raise ValueError(f"{given[0]} goes with one game, not with --game {self.game}")
        return self

    @model_validator(mode="after")
    def _every_spec_has_an_agent(self) -> RunConfig:
        if len(self.agent) > self.agents:
            raise ValueError(
                f"{len(self.agent)} agent specs are too many for {self.agents} agents: "
                f"give at most {self.agents}, or ask for more agents"
            )
        return self


def config_file() -> Path:
    """Where the user's own defaults are: `$XDG_CONFIG_HOME/arena/config.toml`, `~/.config` without the variable."""
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser() / "arena" / "config.toml"


def read_config_file(path: Path) -> dict[str, Any]:
    """The user's defaults as RunConfig fields, from the tables `[play]` and `[engine]`; empty without a file.

    Raises UsageError if the file cannot be read, or has other tables.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    unknown = sorted(set(content) - {"play", "engine"})
    if unknown:
        raise UsageError(f"{path}: unknown entry '{unknown[0]}'; the tables are [play] and [engine]")
    tables = {"play": content.get("play", {}), "engine": content.get("engine", {})}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise UsageError(f"{path}: '{name}' must be a table, written [{name}]")
        _check(table, RunConfig if name == "play" else EngineSettings, f"{path}: [{name}] ")
    if "engine" in tables["play"]:
        raise UsageError(f"{path}: engine settings belong in the table [engine], not in [play]")
    return {**tables["play"], "engine": tables["engine"]}


def build_config(flags: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> RunConfig:
    """The configuration from what was given on the command line (`flags`) over the user's `defaults`, both as
    RunConfig fields with `engine` a mapping. Raises UsageError naming the option and what would be right."""
    defaults = defaults or {}
    engine = {**defaults.get("engine", {}), **flags.get("engine", {})}
    try:
        return RunConfig.model_validate({**defaults, **flags, "engine": engine})
    except ValidationError as error:
        raise UsageError(_sentence(error, "--")) from error


def stored_config(content: Mapping[str, Any]) -> RunConfig:
    """The configuration that a run was stored with. Raises UsageError if it is no run of `arena play`, or if this
    version cannot read it."""
    if content.get("kind") == "tournament":
        raise UsageError("the run is a tournament: `arena tournament resume` goes on with it")
    try:
        return RunConfig.model_validate(dict(content))
    except ValidationError as error:
        raise UsageError(f"the run's stored configuration does not fit this version: {_sentence(error)}") from error


def contradictions(flags: Mapping[str, Any], stored: RunConfig) -> list[str]:
    """Those `flags` (RunConfig fields) that differ from the `stored` run, as sentences.

    How many games play at once changes no game, so `concurrency` never contradicts.
    """
    found = []
    wanted = {**flags, **flags.get("engine", {})}
    kept = {**stored.model_dump(), **stored.engine.model_dump()}
    for name, value in wanted.items():
        if name not in ("engine", "concurrency") and value != kept[name]:
            found.append(f"{option_name(name)} {_shown(value)} (the run has {_shown(kept[name])})")
    return found


def option_name(field: str) -> str:
    """The command-line option of a field, such as `--kv-memory` of `kv_memory_mb`."""
    if field in SWITCHES:
        field = f"no_{field}"
    return "--" + field.removesuffix("_mb").replace("_", "-")


def _shown(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _check(table: Mapping[str, Any], model: type[BaseModel], where: str) -> None:
    """Raises UsageError for a key that `model` does not have or a value that its field does not take."""
    try:
        model.model_validate(dict(table))
    except ValidationError as error:
        raise UsageError(where + _sentence(error)) from error


BOUNDS = {
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "string_too_short": "must not be empty",
}
"""Pydantic's names of faults, and our words for them."""


def _sentence(error: ValidationError, prefix: str = "") -> str:
    """The first fault of `error` as one sentence with the offending value."""
    fault = error.errors()[0]
    message = fault["msg"].removeprefix("Value error, ")
    if not fault["loc"]:
        return message
    name = str(fault["loc"][-1] if isinstance(fault["loc"][-1], str) else fault["loc"][0])
    if fault["type"] == "extra_forbidden":
        return f"unknown setting '{name}'"
    label = option_name(name) if prefix else name
    if (bound := fault["type"]) in BOUNDS:
        message = BOUNDS[bound].format(**fault["ctx"])
    message = message.removeprefix("Input should be ").removeprefix("a valid ")
    stem = "" if message.startswith("must") else "must be "
    return f"{label} {fault['input'] if fault['input'] != '' else repr('')}: {stem}{message}"
