"""The agent that asks a language model for its moves."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from time import monotonic
from typing import Literal, Protocol

from agents.base import Accounting, Agent, Attempt, Failure, InfrastructureError, MoveReply, MoveRequest
from agents.parsing import parse_answer
from agents.prompts import PromptTemplate
from agents.seeds import derive_seed
from games import get_game
from games.base import Position
from inference.errors import InferenceError, RequestTimeoutError
from inference.types import ChoiceReply, Message, Prompt, Reply, SamplingParams, ScoreReply, Timing, Usage


class ChoiceEngine(Protocol):
    """What an LLMAgent needs of an engine."""

    async def generate(self, prompt: Prompt, params: SamplingParams, *, timeout_s: float | None = None) -> Reply: ...

    async def choose(
        self,
        prompt: Prompt,
        choices: Sequence[str],
        *,
        temperature: float = 1.0,
        seed: int | None = None,
        timeout_s: float | None = None,
    ) -> ChoiceReply: ...

    async def score(self, prompt: Prompt, choices: Sequence[str], *, timeout_s: float | None = None) -> ScoreReply: ...


@dataclass(frozen=True, slots=True)
class Legality:
    """What keeps an agent to the rules: `constrained` decoding, or free text with so many tries."""

    kind: Literal["constrained", "retry", "free"] = "constrained"
    tries: int = 1

    @classmethod
    def parse(cls, text: str) -> Legality:
        """Read `constrained`, `retry:N` or `free`. Raises ValueError."""
        if text == "constrained":
            return cls("constrained")
        if text == "free":
            return cls("free")
        kind, _, tries = text.partition(":")
        if kind == "retry" and tries.isascii() and tries.isdecimal() and 1 <= int(tries) <= 100:
            return cls("retry", int(tries))
        raise ValueError(f"legality must be constrained, free or retry:N with N from 1 to 100, not {text!r}")

    def __str__(self) -> str:
        return f"retry:{self.tries}" if self.kind == "retry" else self.kind


@dataclass(frozen=True, slots=True)
class LLMSettings:
    """How an LLMAgent uses its model.

    `select` is how a constrained agent picks: `walk` walks the token trie of the legal moves, `score` draws
    from the probabilities of the whole moves. `max_tokens`, `top_k` and `top_p` shape free text only;
    `temperature` 0 is greedy everywhere. Raises InvalidRequestError (a ValueError) for values out of range.
    """

    temperature: float = 1.0
    legality: Legality = Legality()
    select: Literal["walk", "score"] = "walk"
    max_tokens: int = 16
    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        self.sampling(seed=0)

    def sampling(self, seed: int) -> SamplingParams:
        """The parameters of one try in free text."""
        return SamplingParams(
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            top_k=self.top_k,
            top_p=self.top_p,
            seed=seed,
        )

    def in_force(self) -> dict[str, str | int | float]:
        """The settings that have an effect, as plain values."""
        always: dict[str, str | int | float] = {
            "temperature": self.temperature,
            "legality": str(self.legality),
        }
        if self.legality.kind == "constrained":
            return always | {"select": self.select}
        return always | {"max_tokens": self.max_tokens, "top_k": self.top_k, "top_p": self.top_p}


class LLMAgent(Agent):
    """Plays what a model says, held to the rules by its legality policy. Keeps nothing between calls.

    An engine that fails raises InfrastructureError, a history that outgrew the model's context included;
    running into the request's deadline is the agent's own failure, TIMEOUT.
    """

    queues = True

    def __init__(
        self, name: str, engine: ChoiceEngine, template: PromptTemplate, settings: LLMSettings | None = None
    ) -> None:
        self.name = name
        self.template = template
        self.settings = settings or LLMSettings()
        self._engine = engine
        self._game = get_game(template.game)

    @property
    def template_hash(self) -> str:
        return self.template.hash

    async def start(self) -> None:
        """Send the prompt of the start position once, for one token that is thrown away: the prefix that all
        games share is then in the engine's cache before the first clock starts."""
        with self._engine_for(_Clock(None)) as timeout_s:
            await self._engine.generate(
                self.prompt(self._game.position()), SamplingParams(max_tokens=1), timeout_s=timeout_s
            )

    async def choose_move(self, request: MoveRequest) -> MoveReply:
        clock = _Clock(request.deadline_s)
        if self.settings.legality.kind == "constrained":
            return await self._among_legal_moves(request, clock)
        return await self._in_free_text(request, clock)

    def prompt(self, position: Position) -> list[Message]:
        """The messages of the first try in `position`. Raises ValueError for a position of another game."""
        if position.game != self.template.game:
            raise ValueError(f"template {self.template.name!r} is for {self.template.game}, not {position.game}")
        return self.template.messages(position, self._game)

    async def _among_legal_moves(self, request: MoveRequest, clock: _Clock) -> MoveReply:
        policy = str(self.settings.legality)
        moves = request.position.legal_moves()
        seed = derive_seed(request.seed, 0)
        pick = self._by_score if self.settings.select == "score" else self._by_choice
        try:
            picked = await pick(self.prompt(request.position), moves, seed, clock)
        except _OutOfTimeError as error:
            return MoveReply(None, (Attempt("", Failure.TIMEOUT, str(error), seed),), policy)
        attempt = Attempt(picked.move, seed=seed, accounting=picked.accounting)
        return MoveReply(picked.move, (attempt,), policy, picked.probability)

    async def _by_choice(self, prompt: Prompt, moves: Sequence[str], seed: int, clock: _Clock) -> _Picked:
        temperature = self.settings.temperature
        with self._engine_for(clock) as timeout_s:
            reply = await self._engine.choose(prompt, moves, temperature=temperature, seed=seed, timeout_s=timeout_s)
        return _Picked(moves[reply.index], reply.probability, _accounting(reply.usage, reply.timing))

    async def _by_score(self, prompt: Prompt, moves: Sequence[str], seed: int, clock: _Clock) -> _Picked:
        with self._engine_for(clock) as timeout_s:
            reply = await self._engine.score(prompt, moves, timeout_s=timeout_s)
        index, probability = draw(reply.logprobs, self.settings.temperature, seed)
        return _Picked(moves[index], probability, _accounting(reply.usage, reply.timing))

    async def _in_free_text(self, request: MoveRequest, clock: _Clock) -> MoveReply:
        policy = str(self.settings.legality)
        messages = self.prompt(request.position)
        attempts: list[Attempt] = []
        for number in range(self.settings.legality.tries):
            seed = derive_seed(request.seed, number)
            try:
                with self._engine_for(clock) as timeout_s:
                    reply = await self._engine.generate(messages, self.settings.sampling(seed), timeout_s=timeout_s)
            except _OutOfTimeError as error:
                attempts.append(Attempt("", Failure.TIMEOUT, str(error), seed))
                break
            parsed = parse_answer(reply.text, request.position, reply.finish_reason)
            cost = _accounting(reply.usage, reply.timing)
            attempts.append(Attempt(reply.text, parsed.failure, parsed.detail, seed, cost))
            if parsed.failure is None:
                return MoveReply(parsed.move, tuple(attempts), policy)
            # Feedback goes after everything said so far: the next try finds all of it in the prefix cache.
            feedback = Message("user", self.template.retry[parsed.failure])
            messages = [*messages, Message("assistant", reply.text), feedback]
        return MoveReply(None, tuple(attempts), policy)

    @contextmanager
    def _engine_for(self, clock: _Clock) -> Iterator[float | None]:
        """A call to the engine: yields the seconds it may take, gives its errors their meaning."""
        timeout_s = clock.left()
        if timeout_s is not None and timeout_s <= 0:
            raise _OutOfTimeError(f"no time left of {clock.allowed} s")
        try:
            yield timeout_s
        except InferenceError as error:
            if isinstance(error, RequestTimeoutError) and clock.is_over():
                raise _OutOfTimeError(f"no answer within {clock.allowed} s: {error}") from error
            raise InfrastructureError(f"the engine failed {self.name}: {error}") from error


@dataclass(frozen=True, slots=True)
class _Picked:
    move: str
    probability: float
    accounting: Accounting


class _OutOfTimeError(Exception):
    """The request's deadline has passed."""


class _Clock:
    """The time of one `choose_move`, all tries together; `allowed` None is without limit."""

    def __init__(self, allowed: float | None) -> None:
        self.allowed = allowed
        self._start = monotonic()

    def left(self) -> float | None:
        """Seconds left; zero or less when the time is over."""
        return None if self.allowed is None else self._start + self.allowed - monotonic()

    def is_over(self) -> bool:
        """Whether the time is over, give or take what two clocks may differ by. An engine that gives up well
        before did so for a limit of its own."""
        left = self.left()
        return left is not None and left < 0.05


def draw(logprobs: Sequence[float], temperature: float, seed: int) -> tuple[int, float]:
    """Draw an index by softmax(logprobs / temperature): the index and its probability, a function of `seed`.

    Temperature 0 takes the best (the first of equals) with probability 1.
    """
    best = max(range(len(logprobs)), key=logprobs.__getitem__)
    if temperature == 0:
        return best, 1.0
    weights = [math.exp((value - logprobs[best]) / temperature) for value in logprobs]
    cumulated = list(accumulate(weights))
    uniform = (derive_seed(seed, "draw") >> 10) / 2**53  # 53 random bits: below 1 after rounding, too
    index = bisect_right(cumulated, uniform * cumulated[-1])
    return index, weights[index] / cumulated[-1]


def _accounting(usage: Usage, timing: Timing) -> Accounting:
    return Accounting(
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        forwarded_tokens=usage.forwarded_tokens,
        generated_tokens=usage.generated_tokens,
        forward_passes=usage.passes,
        queue_ms=timing.queue_ms,
        prefill_ms=timing.prefill_ms,
        decode_ms=timing.decode_ms,
        ttft_ms=timing.ttft_ms,
        batch_size=usage.batch_size,
    )
