"""What callers hand to the engine and get back. Plain values; no torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, NamedTuple

from inference.errors import InvalidRequestError

Role = Literal["system", "user", "assistant"]


class Message(NamedTuple):
    """One chat message."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Text:
    """A text to be continued as it is, without a chat template: what a base model is prompted with."""

    content: str


Prompt = Sequence[Message] | Text | Sequence[int]
"""Chat messages, rendered by the model's template; a plain text; or token ids, taken as they are.

An assistant's message at the end of the chat is left open: the answer continues it, instead of beginning another.
"""


class FinishReason(StrEnum):
    STOP = "stop"  # end-of-text token or a stop string
    LENGTH = "length"  # max_tokens generated
    CHOICE = "choice"  # a choice is complete


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How to continue a prompt.

    `temperature` 0 is greedy. `top_k` 0 and `top_p` 1 are off. `stop` strings end the text and are not part of
    it. `seed` None: the engine draws one and says in the reply which. `ignore_eos` goes on past the end-of-text
    token. `logprobs` asks for the log-probability of each generated token under the unmodified distribution.
    Raises InvalidRequestError.
    """

    max_tokens: int = 32
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    stop: tuple[str, ...] = ()
    seed: int | None = None
    ignore_eos: bool = False
    logprobs: bool = False

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise InvalidRequestError(f"max_tokens must be at least 1, not {self.max_tokens}")
        check_temperature(self.temperature)
        if self.top_k < 0:
            raise InvalidRequestError(f"top_k must be 0 (off) or more, not {self.top_k}")
        if not 0.0 < self.top_p <= 1.0:
            raise InvalidRequestError(f"top_p must lie in (0, 1], not {self.top_p}")
        if isinstance(self.stop, str):
            raise InvalidRequestError(f"stop must be a tuple of strings, not {self.stop!r}")
        if any(not text for text in self.stop):
            raise InvalidRequestError("a stop string must not be empty")


def check_temperature(temperature: float) -> None:
    """Raises InvalidRequestError unless `temperature` is a finite number of at least 0."""
    if not 0.0 <= temperature < float("inf"):
        raise InvalidRequestError(f"temperature must be a finite number of at least 0, not {temperature}")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and passes of one request.

    `cached` prompt tokens were found in the prefix cache at admission; `forwarded` went through the model, those
    recomputed after a preemption included; `passes` counts the steps that the request took part in and
    `batch_size` the most sequences that shared one of them.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    forwarded_tokens: int = 0
    generated_tokens: int = 0
    passes: int = 0
    preemptions: int = 0
    batch_size: int = 0


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds on the engine's clock: submitted -> admitted (queue) -> first token (prefill) -> done (decode)."""

    queue_ms: float = 0.0
    prefill_ms: float = 0.0
    decode_ms: float = 0.0
    total_ms: float = 0.0
    ttft_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to `generate`. `text` is free of stop strings and special tokens; `token_ids` is what was
    generated, the end-of-text token not included."""

    text: str
    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    seed: int
    usage: Usage = field(default_factory=Usage)
    timing: Timing = field(default_factory=Timing)
    logprobs: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Option:
    """A way an answer could go on: what it would begin with, from its first character on (`e2…`, where more follows;
    `e2e4`, where it is whole), and the probability of going that way."""

    text: str
    probability: float


@dataclass(frozen=True, slots=True)
class Decision:
    """A point where an answer could go several ways: the likeliest of them, best first, as far as they are kept, and
    the index of the one `taken`, which is always among them."""

    options: tuple[Option, ...]
    taken: int

    @classmethod
    def among(
        cls, probabilities: Sequence[float], taken: int, text: Callable[[int], str], *, keep: int = 5
    ) -> Decision:
        """The decision for number `taken` of ways with these probabilities; `text` gives what the answer would begin
        with. Of more than `keep` ways the likeliest are kept, and the one taken."""
        ranked = sorted(range(len(probabilities)), key=lambda way: -probabilities[way])
        kept = ranked[:keep] if taken in ranked[:keep] else [*ranked[: keep - 1], taken]
        return cls(tuple(Option(text(way), probabilities[way]) for way in kept), kept.index(taken))


@dataclass(frozen=True, slots=True)
class ChoiceReply(Reply):
    """The answer to `choose`: `text` is the choice, at `index` of the list asked; `probability` is the product of
    the renormalised probabilities along its path at the temperature asked (at temperature 0: the model's own).
    `decisions` are the branching nodes on that path, with the alternatives there."""

    index: int = -1
    probability: float = 1.0
    decisions: tuple[Decision, ...] = ()


@dataclass(frozen=True, slots=True)
class ScoreReply:
    """The answer to `score`: natural-log probability of each whole choice, and the same normalised over the
    choices; both in the order asked."""

    logprobs: tuple[float, ...]
    probabilities: tuple[float, ...]
    usage: Usage = field(default_factory=Usage)
    timing: Timing = field(default_factory=Timing)


@dataclass(frozen=True, slots=True)
class EngineStats:
    """A snapshot of the engine's figures.

    Counters run since start, `scheduler_ms` (spent on planning steps) among them; the other times are milliseconds
    over the most recent requests and steps. `hit_rate` is cached over prompted tokens.
    """

    waiting: int = 0
    running: int = 0
    finished: int = 0
    failed: int = 0
    cancelled: int = 0
    steps: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    forwarded_tokens: int = 0
    generated_tokens: int = 0
    preemptions: int = 0
    evicted_pages: int = 0
    pages_total: int = 0
    pages_free: int = 0
    pages_cached: int = 0
    pages_locked: int = 0
    ttft_p50_ms: float = 0.0
    ttft_p95_ms: float = 0.0
    itl_p50_ms: float = 0.0
    itl_p95_ms: float = 0.0
    batch_mean: float = 0.0
    step_ms_mean: float = 0.0
    scheduler_ms: float = 0.0

    @property
    def hit_rate(self) -> float:
        """Share of prompt tokens found in the prefix cache; 0 before the first."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else 0.0
