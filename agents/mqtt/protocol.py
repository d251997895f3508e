"""What remote agents and those who ask them say to each other: topics and payloads.

<prefix>/agents/<name>/servers/<server>            retained: an Offer; empty when the server has gone
<prefix>/agents/<name>/servers/<server>/requests   an Ask, with response topic and correlation data
<prefix>/replies/<client>                          an Answer, with the same correlation data
"""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from agents.base import MAX_DECISIONS, MAX_OPTIONS, Accounting, Attempt, Clock, Failure, MoveReply, MoveRequest
from agents.mqtt.broker import Broker
from agents.mqtt.codec import Payload
from games import get_game
from games.base import Position
from inference.types import Decision, Option

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MAX_TEXT = 16_384
"""Characters of what an agent said that travel; the record keeps a beginning as well."""
MAX_OPTION_TEXT = 200

Count = Annotated[int, Field(ge=0, lt=2**63)]
Milliseconds = Annotated[float, Field(ge=0)]
Probability = Annotated[float, Field(ge=0, le=1 + 1e-6)]
OptionText = Annotated[str, Field(max_length=MAX_OPTION_TEXT)]


def check_name(name: str) -> None:
    """Raises ValueError for what cannot be the name of a remote agent, which is a level of topics."""
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a remote agent: use up to 64 letters, digits, dots, - and _")


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("has characters that cannot be printed")
    return text


Line = Annotated[str, Field(max_length=1000), AfterValidator(_printable)]


def offer_topic(broker: Broker, name: str, server: str) -> str:
    return broker.topic("agents", name, "servers", server)


def requests_topic(broker: Broker, name: str, server: str) -> str:
    return broker.topic("agents", name, "servers", server, "requests")


def replies_topic(broker: Broker, client: str) -> str:
    return broker.topic("replies", client)


class Offer(Payload):
    """A server is there. `spec` is what it serves; `templates` are the content hashes of its prompts, by game."""

    spec: Line
    games: tuple[Line, ...] = Field(max_length=50)
    templates: dict[Line, Line] = Field(default_factory=dict, max_length=50)


class ClockTimes(BaseModel):
    model_config = ConfigDict(frozen=True)

    first_ms: float
    second_ms: float
    increment_ms: float


class Ask(Payload):
    """A move is wanted: the fields of `agents.base.MoveRequest`, the position by the way that led to it."""

    game: Line
    start_fen: Line
    moves: tuple[Annotated[str, Field(max_length=16)], ...] = Field(max_length=20_000)
    game_id: int
    ply: int
    seed: Count
    deadline_s: float | None = Field(default=None, gt=0)
    clock: ClockTimes | None = None

    @classmethod
    def of(cls, request: MoveRequest, deadline_s: float | None) -> Self:
        position = request.position
        clock = None if request.clock is None else ClockTimes(**asdict(request.clock))
        return cls(
            game=position.game,
            start_fen=position.start_fen,
            moves=position.moves,
            game_id=request.game_id,
            ply=request.ply,
            seed=request.seed,
            deadline_s=deadline_s,
            clock=clock,
        )

    def request(self) -> MoveRequest:
        """The request as an agent takes it. Raises ValueError for a position that cannot be."""
        position: Position = get_game(self.game).position(self.start_fen, self.moves)
        clock = None if self.clock is None else Clock(**self.clock.model_dump())
        return MoveRequest(position, self.game_id, self.ply, self.seed, self.deadline_s, clock)


class Costs(BaseModel):
    """The fields of `agents.base.Accounting`."""

    model_config = ConfigDict(frozen=True)

    prompt_tokens: Count = 0
    cached_tokens: Count = 0
    forwarded_tokens: Count = 0
    generated_tokens: Count = 0
    forward_passes: Count = 0
    queue_ms: Milliseconds = 0.0
    prefill_ms: Milliseconds = 0.0
    decode_ms: Milliseconds = 0.0
    ttft_ms: Milliseconds = 0.0
    batch_size: Count = 0


class Try(BaseModel):
    """The fields of `agents.base.Attempt`."""

    model_config = ConfigDict(frozen=True)

    text: str = Field(max_length=MAX_TEXT)
    failure: Failure | None = None
    detail: str = Field(default="", max_length=MAX_TEXT)
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    costs: Costs = Costs()

    @classmethod
    def of(cls, attempt: Attempt) -> Self:
        costs = Costs(**asdict(attempt.accounting))
        text, detail = attempt.text[:MAX_TEXT], attempt.detail[:MAX_TEXT]
        return cls(
            text=_encodable(text), failure=attempt.failure, detail=_encodable(detail), seed=attempt.seed, costs=costs
        )

    def attempt(self) -> Attempt:
        return Attempt(self.text, self.failure, self.detail, self.seed, Accounting(**self.costs.model_dump()))


class Weighed(Payload):
    """The fields of `inference.types.Decision`; an option is its text and its probability."""

    options: tuple[tuple[OptionText, Probability], ...] = Field(min_length=1, max_length=MAX_OPTIONS)
    taken: int = Field(ge=0)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.taken >= len(self.options):
            raise ValueError(f"option {self.taken} of {len(self.options)} cannot be taken")
        return self

    @classmethod
    def of(cls, decision: Decision) -> Self:
        options = tuple((_encodable(option.text)[:MAX_OPTION_TEXT], option.probability) for option in decision.options)
        return cls(options=options, taken=decision.taken)

    def decision(self) -> Decision:
        return Decision(tuple(Option(text, share) for text, share in self.options), self.taken)


class Answer(Payload):
    """The fields of `agents.base.MoveReply`, or an `error` with what it was: the agent's own or its machine's."""

    move: str | None = Field(default=None, max_length=100)
    attempts: tuple[Try, ...] = Field(default=(), max_length=100)
    policy: Line = ""
    probability: Probability | None = None
    resigns: bool = False
    decisions: tuple[Weighed, ...] = Field(default=(), max_length=MAX_DECISIONS)
    error: Literal["crash", "infrastructure"] | None = None
    detail: str = Field(default="", max_length=MAX_TEXT)

    @classmethod
    def of(cls, reply: MoveReply) -> Self:
        """Raises ValueError for a reply that is none, as user's own agents may give."""
        reply.check()
        return cls(
            move=reply.move,
            attempts=tuple(Try.of(attempt) for attempt in reply.attempts),
            policy=reply.policy,
            probability=reply.probability,
            resigns=reply.resigns,
            decisions=tuple(map(Weighed.of, reply.decisions)),
        )

    @classmethod
    def failed(cls, error: Literal["crash", "infrastructure"], detail: str) -> Self:
        return cls(error=error, detail=_encodable(detail[:MAX_TEXT]))

    def reply(self) -> MoveReply:
        attempts = tuple(each.attempt() for each in self.attempts)
        decisions = tuple(each.decision() for each in self.decisions)
        return MoveReply(self.move, attempts, self.policy, self.probability, self.resigns, decisions)


def _encodable(text: str) -> str:
    """`text` with halves of surrogate pairs, which no JSON in UTF-8 holds, as escapes; not longer than MAX_TEXT."""
    return text.encode("utf-8", "backslashreplace").decode()[:MAX_TEXT]
