"""Plain values that cross the border of the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from games.base import Side

IMPORTED = "imported"
"""The spec of an agent whose moves come from a file, and the policy of its moves."""

OPENING = "opening"
"""The policy of moves that belong to a game's opening: the schedule's, and nobody's choice."""


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
    infrastructure failure. `start_fen` None means the game's start position; from there `opening_moves` are played
    before anybody is asked. `round` counts from 1, where there are rounds."""

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
    opening_moves: tuple[str, ...] = ()
    round: int | None = None


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
    content_hash: str | None = None  # of a tournament: equal for those that ask for the same games


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
class Progress:
    """How far a run is: `games` of its schedule in all, or at most where that depends on results; `done` of them have
    their end; `void` tries did not count."""

    games: int
    done: int = 0
    void: int = 0


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run with its schedule, enough to continue it. The games of a run whose schedule grows while it is played are
    not held here (`games` is empty), only `counted`."""

    run_id: int
    name: str
    status: str  # running, finished, interrupted, failed
    new: NewRun
    games: tuple[StoredGame, ...]
    counted: Progress | None = None

    @property
    def progress(self) -> Progress:
        return self.counted or Progress(
            games=len({game.new.index for game in self.games}),
            done=sum(game.result is not None and not game.void for game in self.games),
            void=sum(game.void for game in self.games),
        )
