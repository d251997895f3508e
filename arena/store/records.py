"""Plain values that cross the border of the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from games.base import Side

IMPORTED = "imported"
"""The spec of an agent whose moves come from a file, and the policy of its moves."""


@dataclass(frozen=True, slots=True)
class NewAgent:
    """An agent of a run: unique `name`, the `spec` as the user wrote it, every setting in force."""

    name: str
    spec: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewGame:
    """A game of the schedule. `index` counts from 0 within the run; `pair` numbers the two games of one
    opening with colours swapped; `replay` is 0 for the first try and counts the replays after a crash or an
    infrastructure failure. `start_fen` None means the game's start position."""

    index: int
    white: str
    black: str
    game: str
    seed: int
    max_plies: int
    rule_policy: str
    pair: int | None = None
    opening: str | None = None
    start_fen: str | None = None
    replay: int = 0


@dataclass(frozen=True, slots=True)
class NewRun:
    """What a run is started with, whole, so that it can be run again. `config` is the validated configuration
    as JSON values; `environment` records version, processor, instruction set, threads."""

    config: Mapping[str, Any]
    seed: int
    agents: tuple[NewAgent, ...]
    games: tuple[NewGame, ...]
    model: str | None = None
    model_checksum: str | None = None
    environment: Mapping[str, Any] = field(default_factory=dict)
    name: str | None = None  # None: the store makes a short one


@dataclass(frozen=True, slots=True)
class StoredGame:
    """A game of the schedule as it stands: `result` None while unfinished; `moves` are the durable ones, `clock_ms`
    what the clock of each side that has moved shows after them, in a game with clocks."""

    game_id: int
    new: NewGame
    result: str | None
    termination: str | None
    void: bool
    moves: tuple[str, ...]
    clock_ms: Mapping[Side, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run with its schedule, enough to continue it."""

    run_id: int
    name: str
    status: str  # running, finished, interrupted, failed
    new: NewRun
    games: tuple[StoredGame, ...]
