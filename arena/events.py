"""The one vocabulary of what happens in a run. The store, the live view, the web page and MQTT read it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from arena.printable import shortened, storable

MAX_TEXT = 65_536
"""Characters kept of what an agent said or of how it failed; the rest is counted and dropped."""

Foreign = Annotated[str, AfterValidator(lambda text: storable(shortened(text, MAX_TEXT)))]
"""Text that came from an agent."""

Beginning = Annotated[str, AfterValidator(lambda text: storable(shortened(text, 100)))]
"""What an answer could have begun with: a move, and so of a few characters."""


def now() -> datetime:
    """Wall-clock time, in UTC."""
    return datetime.now(UTC)


class Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    run_id: int
    at: datetime = Field(default_factory=now)


class AttemptRecord(BaseModel):
    """One try at a move, as recorded; `failure` is a value of agents.base.Failure, or None."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: Foreign
    failure: str | None = None
    detail: Foreign = ""
    seed: int | None = None
    prompt_tokens: int = 0
    cached_tokens: int = 0
    forwarded_tokens: int = 0
    generated_tokens: int = 0
    total_ms: float = 0.0


class DecisionRecord(BaseModel):
    """A decision on the way to a move, as recorded: the likeliest options, each a text and its probability, best first,
    and the index of the one taken."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    options: tuple[tuple[Beginning, float], ...]
    taken: int


class GameStarted(Event):
    """A game begins, or goes on after an interruption (`ply` > 0: that many plies were already played)."""

    type: Literal["game_started"] = "game_started"
    game_id: int
    game: str  # registry name, such as chess
    white: str
    black: str
    start_fen: str
    moves: tuple[str, ...] = ()  # those already played
    white_template: str | None = None  # content hash of the prompt template, where there is one
    black_template: str | None = None


class MovePlayed(Event):
    """A ply. `ply` counts from 1; times are milliseconds; `clock_ms` is what the mover has left if there is a clock."""

    type: Literal["move_played"] = "move_played"
    game_id: int
    ply: int
    agent: str
    side: Literal["first", "second"]
    move: str
    san: str
    fen: str  # after the move
    policy: Foreign  # legality policy that the move was chosen under
    attempts: tuple[AttemptRecord, ...] = ()
    prompt_tokens: int = 0
    cached_tokens: int = 0
    forwarded_tokens: int = 0
    generated_tokens: int = 0
    forward_passes: int = 0
    queue_ms: float = 0.0
    prefill_ms: float = 0.0
    decode_ms: float = 0.0
    ttft_ms: float = 0.0
    total_ms: float = 0.0  # wall time of choose_move, as the match saw it
    batch_size: int = 0
    probability: float | None = None
    decisions: tuple[DecisionRecord, ...] = ()
    clock_ms: float | None = None


class AttemptFailed(Event):
    """A try at ply `ply` that gave no move and ended the game or made the agent try again."""

    type: Literal["attempt_failed"] = "attempt_failed"
    game_id: int
    ply: int
    agent: str
    attempt: AttemptRecord


class GameEnded(Event):
    """The end of a game. `result` is as in PGN; `*` with `void` set means that it does not count."""

    type: Literal["game_ended"] = "game_ended"
    game_id: int
    result: Literal["1-0", "0-1", "1/2-1/2", "*"]
    termination: str
    plies: int
    void: bool = False
    detail: Foreign = ""


class EngineSampled(Event):
    """The engine's figures at one moment: the fields of inference.types.EngineStats, and moves a second."""

    type: Literal["engine_sampled"] = "engine_sampled"
    figures: dict[str, float]


class RunEnded(Event):
    """A run stops: `finished` (every game has its end), `interrupted` (resumable) or `failed` (with `detail`)."""

    type: Literal["run_ended"] = "run_ended"
    status: Literal["finished", "interrupted", "failed"]
    detail: str = ""


AnyEvent = Annotated[
    GameStarted | MovePlayed | AttemptFailed | GameEnded | EngineSampled | RunEnded, Field(discriminator="type")
]
