"""The contract between a match and whoever chooses the moves."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import ClassVar

from games.base import Position, Side
from inference.types import Decision, Option


class Failure(StrEnum):
    """Why an attempt gave no move. The one taxonomy; never free text."""

    TRUNCATED = "truncated"
    EMPTY = "empty"
    UNPARSABLE = "unparsable"
    ILLEGAL = "illegal"
    TIMEOUT = "timeout"
    CRASH = "crash"
    CANCELLED = "cancelled"


class AgentCrashed(RuntimeError):
    """The agent's own code or process died; the message says how."""


class InfrastructureError(RuntimeError):
    """What the agent relies on (our engine, an endpoint) failed: nobody's fault in the game."""


class UnusableAgentError(ValueError):
    """What an agent was told to use turns out at its start to be of no use; the message says what and why."""


class PlayerLeft(Exception):
    """The person who was asked has gone: the run stops here, and can be resumed."""


@dataclass(frozen=True, slots=True)
class Accounting:
    """What one answer cost. Times are milliseconds; the defaults are those of an agent without a model."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    forwarded_tokens: int = 0
    generated_tokens: int = 0
    forward_passes: int = 0
    queue_ms: float = 0.0
    prefill_ms: float = 0.0
    decode_ms: float = 0.0
    ttft_ms: float = 0.0
    batch_size: int = 0

    def __add__(self, other: Accounting) -> Accounting:
        """The cost of two attempts at one move: sums; the first's TTFT; the larger batch."""
        return Accounting(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            forwarded_tokens=self.forwarded_tokens + other.forwarded_tokens,
            generated_tokens=self.generated_tokens + other.generated_tokens,
            forward_passes=self.forward_passes + other.forward_passes,
            queue_ms=self.queue_ms + other.queue_ms,
            prefill_ms=self.prefill_ms + other.prefill_ms,
            decode_ms=self.decode_ms + other.decode_ms,
            ttft_ms=self.ttft_ms or other.ttft_ms,
            batch_size=max(self.batch_size, other.batch_size),
        )

    def check(self) -> None:
        """Raises ValueError naming a field that is no count or no time."""
        for field_ in fields(self):
            value = getattr(self, field_.name)
            right = _is_number(value) and 0 <= value < 2**63
            if not right or (isinstance(value, float) and not field_.name.endswith("_ms")):
                raise ValueError(f"accounting has {value!r} as {field_.name}")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at a move: what the agent said, and what was wrong with it (`failure` None: nothing)."""

    text: str
    failure: Failure | None = None
    detail: str = ""
    seed: int | None = None
    accounting: Accounting = field(default_factory=Accounting)

    def check(self) -> None:
        """Raises ValueError naming a field of a type or value that it cannot have."""
        for name in ("text", "detail"):
            if type(getattr(self, name)) is not str:
                raise ValueError(f"{name} is {type(getattr(self, name)).__name__}, not str")
        if not isinstance(self.failure, Failure | None):
            raise ValueError(f"failure is {self.failure!r}, not a Failure or None")
        if self.seed is not None and not (type(self.seed) is int and -(2**63) <= self.seed < 2**63):
            raise ValueError(f"seed is {self.seed!r}, not a whole number of 64 bits")
        if not isinstance(self.accounting, Accounting):
            raise ValueError(f"accounting is {type(self.accounting).__name__}, not Accounting")
        self.accounting.check()


FLAG_MARGIN_MS = 200.0
"""How long after its flag a move still counts: the event loop may have been busy with other games."""


@dataclass(frozen=True, slots=True)
class Clock:
    """What both sides have left, in milliseconds, when a move is asked for, and what each move adds."""

    first_ms: float
    second_ms: float
    increment_ms: float

    def left(self, side: Side) -> float:
        return self.first_ms if side == "first" else self.second_ms


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """What an agent is asked: a move in `position`.

    `seed` belongs to this ply (attempts derive theirs from it) and comes from the run's seed, the game and the ply,
    so that no agent holds a running generator and a resumed game goes on exactly. `deadline_s` is the wall time after
    which nobody waits for the answer any more; `clock` is there in games with a time control.
    """

    position: Position
    game_id: int
    ply: int
    seed: int
    deadline_s: float | None = None
    clock: Clock | None = None


@dataclass(frozen=True, slots=True)
class MoveReply:
    """What an agent answers: a canonical legal `move`, or None with the last attempt's `failure`, or it `resigns`.

    `policy` is the legality policy it was chosen under; `probability` is the model's, where there is one, and
    `decisions` are those that led to the move, each with its likeliest alternatives.
    """

    move: str | None
    attempts: tuple[Attempt, ...]
    policy: str
    probability: float | None = None
    resigns: bool = False
    decisions: tuple[Decision, ...] = ()

    @classmethod
    def of(cls, move: str, policy: str = "custom") -> MoveReply:
        """The reply of an agent that simply knows its move, in one attempt without cost."""
        return cls(move, (Attempt(text=move),), policy)

    @classmethod
    def resignation(cls, policy: str = "custom") -> MoveReply:
        """The reply of an agent that gives the game up."""
        return cls(None, (), policy, resigns=True)

    def check(self) -> None:
        """Raises ValueError naming what cannot be: a reply comes from code that may be anybody's.

        Whether the move is legal is not asked here.
        """
        if not (self.move is None or type(self.move) is str):
            raise ValueError(f"move is {type(self.move).__name__}, not str or None")
        if type(self.policy) is not str:
            raise ValueError(f"policy is {type(self.policy).__name__}, not str")
        if not isinstance(self.attempts, tuple):
            raise ValueError(f"attempts are {type(self.attempts).__name__}, not a tuple")
        for attempt in self.attempts:
            if not isinstance(attempt, Attempt):
                raise ValueError(f"attempts hold {type(attempt).__name__}, not Attempt")
            attempt.check()
        if self.probability is not None and not _is_probability(self.probability):
            raise ValueError(f"probability is {self.probability!r}, not a number from 0 to 1")
        _check_decisions(self.decisions)
        if type(self.resigns) is not bool:
            raise ValueError(f"resigns is {self.resigns!r}, not a bool")
        if self.resigns and self.move is not None:
            raise ValueError(f"move is {self.move!r} although it resigns")

    @property
    def failure(self) -> Failure | None:
        """The failure that ended the tries; None when there is a move."""
        return None if self.move is not None or not self.attempts else self.attempts[-1].failure

    @property
    def accounting(self) -> Accounting:
        """The cost of all attempts together."""
        total = Accounting()
        for attempt in self.attempts:
            total = total + attempt.accounting
        return total


class Agent(ABC):
    """Chooses moves. One agent may play many games at once; a call holds no state that the next one needs."""

    name: str

    queues: ClassVar[bool] = False
    """Whether an answer may have to wait in a line that is not the agent's own, and tells how long (`queue_ms`)."""

    is_person: ClassVar[bool] = False
    """A person plays one game at a time, and has no limit for a move but a clock that was asked for."""

    def template_hash(self, game: str) -> str | None:
        """Content hash of the prompt template for `game`, if the agent has one; stored with every game."""
        return None

    @property
    def facts(self) -> Mapping[str, str]:
        """What is known only after `start`, such as an engine's version: recorded with the run's agents, and the
        same when the run is resumed."""
        return {}

    async def start(self) -> None:  # noqa: B027 - most agents have nothing to do here
        """Make ready before the first clock starts: load, warm a prompt, launch a process."""

    @abstractmethod
    async def choose_move(self, request: MoveRequest) -> MoveReply:
        """Choose a move. Raises InfrastructureError for what is not the agent's fault, PlayerLeft to stop the run;
        any other exception is a crash of the agent."""

    async def close(self) -> None:  # noqa: B027
        """Release what `start` took. Called once, on every way out."""


MAX_DECISIONS, MAX_OPTIONS = 100, 20
"""How many decisions a reply may tell of, and how many options of each."""


def _check_decisions(decisions: object) -> None:
    """Raises ValueError naming what cannot be."""
    if not isinstance(decisions, tuple) or len(decisions) > MAX_DECISIONS:
        raise ValueError(f"decisions are {type(decisions).__name__}, not a tuple of at most {MAX_DECISIONS}")
    for decision in decisions:
        if not isinstance(decision, Decision):
            raise ValueError(f"decisions hold {type(decision).__name__}, not Decision")
        options = decision.options
        if not isinstance(options, tuple) or not 1 <= len(options) <= MAX_OPTIONS:
            raise ValueError(f"a decision's options are not a tuple of 1 to {MAX_OPTIONS}")
        for option in options:
            if (
                not isinstance(option, Option)
                or type(option.text) is not str
                or not _is_probability(option.probability)
            ):
                raise ValueError(f"a decision has {option!r} as an option, not an Option of text and probability")
        if not (type(decision.taken) is int and 0 <= decision.taken < len(options)):
            raise ValueError(f"a decision took option {decision.taken!r} of {len(options)}")


def _is_probability(value: object) -> bool:
    return isinstance(value, int | float) and _is_number(value) and 0 <= value <= 1 + 1e-6


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
