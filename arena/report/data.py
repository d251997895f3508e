"""What a report says, as plain values. Times are milliseconds, ratings Elo points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from arena.store.assessments import JudgedPlay
from arena.store.first_tries import FirstTries
from arena.tournament.elo import Estimate
from arena.tournament.results import Tally


@dataclass(frozen=True, slots=True)
class Spread:
    """How `count` values lie: percentiles by nearest rank, and the mean."""

    count: int
    mean: float
    p5: float
    p25: float
    p50: float
    p75: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True)
class Versus:
    """An agent's games against one opponent; `elo` is the difference that they show, None without games."""

    opponent: str
    wins: int
    draws: int
    losses: int
    elo: Estimate | None

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float | None:
        """Points a game, 0 to 1; None without games."""
        return (self.wins + self.draws / 2) / self.games if self.games else None


@dataclass(frozen=True, slots=True)
class Cost:
    """What an agent's moves cost: tokens in all, the time of each move. `moves` are those that it played."""

    moves: int
    prompt_tokens: int
    cached_tokens: int
    forwarded_tokens: int
    generated_tokens: int
    latency: Spread | None

    @property
    def tokens_per_move(self) -> float | None:
        """Tokens forwarded through the model for a move; None for agents that ask no model."""
        return self.forwarded_tokens / self.moves if self.moves and self.prompt_tokens else None

    @property
    def generated_per_move(self) -> float | None:
        return self.generated_tokens / self.moves if self.moves and self.prompt_tokens else None

    @property
    def hit_rate(self) -> float | None:
        """Share of the prompt tokens that came from the cache."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else None


@dataclass(frozen=True, slots=True)
class Manners:
    """How an agent answers. `first_tries` is there for those that answer in free text; `failures` are attempts that
    gave no move, by kind; `forfeits` are its games lost without the board deciding, by termination.

    `entropy_bits` is that of the distribution its moves were drawn from: the mean of -log2 of the drawn move's
    probability, which estimates it without bias. None where no probability was recorded.
    """

    first_tries: FirstTries | None
    attempts: int
    asked: int
    failures: Mapping[str, int]
    forfeits: Mapping[str, int]
    entropy_bits: float | None

    @property
    def attempts_per_move(self) -> float | None:
        """Tries for each ply that the agent was asked about."""
        return self.attempts / self.asked if self.asked else None


@dataclass(frozen=True, slots=True)
class AgentReport:
    """An agent of the run. `elo` counts all games; the others leave out forfeits, or games that repeat another.
    `pool` numbers those who can be compared, from 1; `first` and `second` are its games by side."""

    name: str
    spec: str
    settings: Mapping[str, Any]
    rank: int
    pool: int
    elo: Estimate
    elo_fixed: bool
    elo_without_forfeits: Estimate
    elo_without_duplicates: Estimate
    tally: Tally
    first: Versus
    second: Versus
    versus: tuple[Versus, ...]
    cost: Cost
    manners: Manners
    judged: Mapping[str, JudgedPlay]


@dataclass(frozen=True, slots=True)
class Opening:
    """Games from one opening, or that began with one move; scores are the first player's."""

    name: str
    games: int
    wins: int
    draws: int
    losses: int

    @property
    def score(self) -> float:
        return (self.wins + self.draws / 2) / self.games


@dataclass(frozen=True, slots=True)
class Report:
    """A run, ready to be written. `agents` are best first. `games` count; `void`, `unfinished` and `alone` ones (of an
    agent against itself) do not. `terminations` are by name, the commonest first; `lengths` are plies a game."""

    run_id: int
    run: str
    status: str
    title: str
    rules: tuple[str, ...]
    sides: tuple[str, str]
    model: str | None
    seed: int
    created_at: datetime
    ended_at: datetime | None
    games: int
    void: int
    unfinished: int
    alone: int
    duplicates: int
    forfeits: int
    moves: int
    first_wins: int
    draws: int
    second_wins: int
    pools: int
    anchor: str | None
    agents: tuple[AgentReport, ...]
    openings: tuple[Opening, ...]
    first_moves: tuple[Opening, ...]
    terminations: Mapping[str, tuple[int, int, int]]
    lengths: tuple[int, ...]
    judges: tuple[str, ...]
    environment: Mapping[str, Any]
