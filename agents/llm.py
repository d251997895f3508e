"""The agent that asks a language model for its moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Protocol

from agents.base import Accounting, Agent, Attempt, Failure, InfrastructureError, MoveReply, MoveRequest
from agents.llm_settings import LLMSettings
from agents.parsing import parse_answer
from agents.prompts import PromptTemplate
from agents.seeds import derive_seed
from games import get_game
from games.base import Position
from inference.draws import best, draw, softmax, uniform
from inference.errors import InferenceError, RequestTimeoutError
from inference.types import ChoiceReply, Decision, Prompt, Reply, SamplingParams, ScoreReply, Timing, Usage


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
        terminator: str | None = None,
        timeout_s: float | None = None,
    ) -> ChoiceReply: ...

    async def score(
        self,
        prompt: Prompt,
        choices: Sequence[str],
        *,
        terminator: str | None = None,
        timeout_s: float | None = None,
    ) -> ScoreReply: ...


class LLMAgent(Agent):
    """Plays what a model says, held to the rules by its legality policy. Keeps nothing between calls.

    `templates` has the prompt template of each game that it plays. An engine that fails raises InfrastructureError, a
    history that outgrew the model's context included; running into the request's deadline is the agent's own failure,
    TIMEOUT.
    """

    queues = True

    def __init__(
        self,
        name: str,
        engine: ChoiceEngine,
        templates: Mapping[str, PromptTemplate],
        settings: LLMSettings | None = None,
    ) -> None:
        """Raises ValueError for a template that does not go with the settings: one whose answer is more than a move
        where decoding is constrained, or one that cannot tell of a failure where only that could change the next
        try."""
        self.name = name
        self.templates = templates
        self.settings = settings or LLMSettings()
        self._engine = engine
        for template in templates.values():
            if self.settings.legality.kind == "constrained" and not template.can_constrain:
                raise ValueError(f"prompt={template.name} answers in free text: set legality=retry:3, or free")
            if self.settings.legality.tries > 1 and self.settings.temperature == 0 and not template.is_chat:
                raise ValueError(
                    f"legality={self.settings.legality} is of no use at temperature 0 with prompt={template.name}, "
                    "which is no chat: nothing is said between two tries, and they are the same"
                )

    def template_hash(self, game: str) -> str:
        return self.templates[game].hash

    async def start(self) -> None:
        """Send the prompt of each game's start position once, for one token that is thrown away: the prefix that all
        games share is then in the engine's cache before the first clock starts."""
        for game in self.templates:
            with self._engine_for(_Clock(None)) as timeout_s:
                await self._engine.generate(
                    self.prompt(get_game(game).position()), SamplingParams(max_tokens=1), timeout_s=timeout_s
                )

    async def choose_move(self, request: MoveRequest) -> MoveReply:
        clock = _Clock(request.deadline_s)
        if self.settings.legality.kind == "constrained":
            return await self._among_legal_moves(request, clock)
        return await self._in_free_text(request, clock)

    def prompt(self, position: Position) -> Prompt:
        """The prompt of the first try in `position`. Raises ValueError for a game without a template."""
        return self._template(position).prompt(position)

    def offered(self, position: Position) -> tuple[str, ...]:
        """The moves that it picks from where decoding is constrained: the legal ones in their order, without the pass
        as the settings say."""
        legal = position.legal_moves()
        if self.settings.may_pass:
            return legal
        return tuple(move for move in legal if not position.is_pass(move)) or legal

    def choices(self, position: Position) -> list[str]:
        """The moves that are offered, as the model writes them."""
        template = self._template(position)
        return [template.choice(position, move) for move in self.offered(position)]

    async def distribution(self, position: Position) -> tuple[float, ...]:
        """The model's probability of each offered move's whole text among those of all, in their order. Raises
        InfrastructureError."""
        with self._engine_for(_Clock(None)) as timeout_s:
            reply = await self._engine.score(
                self.prompt(position),
                self.choices(position),
                terminator=self._template(position).terminator,
                timeout_s=timeout_s,
            )
        return reply.probabilities

    def _template(self, position: Position) -> PromptTemplate:
        if position.game not in self.templates:
            raise ValueError(f"{self.name} plays {', '.join(self.templates)}, not {position.game}")
        return self.templates[position.game]

    def _seed(self, request: MoveRequest, number: int) -> int:
        own = () if self.settings.seed is None else (self.settings.seed,)
        return derive_seed(*own, request.seed, number)

    async def _among_legal_moves(self, request: MoveRequest, clock: _Clock) -> MoveReply:
        policy = str(self.settings.legality)
        seed = self._seed(request, 0)
        pick = self._by_score if self.settings.select == "score" else self._by_walk
        try:
            picked = await pick(request.position, seed, clock)
        except _OutOfTimeError as error:
            return MoveReply(None, (Attempt("", Failure.TIMEOUT, str(error), seed),), policy)
        attempt = Attempt(picked.text, seed=seed, accounting=picked.accounting)
        return MoveReply(
            self.offered(request.position)[picked.index],
            (attempt,),
            policy,
            picked.probability,
            decisions=picked.decisions,
        )

    async def _by_walk(self, position: Position, seed: int, clock: _Clock) -> _Picked:
        with self._engine_for(clock) as timeout_s:
            reply = await self._engine.choose(
                self.prompt(position),
                self.choices(position),
                temperature=self.settings.temperature,
                seed=seed,
                terminator=self._template(position).terminator,
                timeout_s=timeout_s,
            )
        cost = accounting(reply.usage, reply.timing)
        return _Picked(reply.index, reply.text, reply.probability, reply.decisions, cost)

    async def _by_score(self, position: Position, seed: int, clock: _Clock) -> _Picked:
        choices = self.choices(position)
        with self._engine_for(clock) as timeout_s:
            reply = await self._engine.score(
                self.prompt(position), choices, terminator=self._template(position).terminator, timeout_s=timeout_s
            )
        temperature = self.settings.temperature
        probabilities = softmax(reply.logprobs, temperature or 1.0)
        index = draw(probabilities, uniform(seed, 0)) if temperature else best(probabilities)
        decision = Decision.among(probabilities, index, choices.__getitem__)
        cost = accounting(reply.usage, reply.timing)
        return _Picked(index, choices[index], probabilities[index], (decision,), cost)

    async def _in_free_text(self, request: MoveRequest, clock: _Clock) -> MoveReply:
        policy = str(self.settings.legality)
        position, template = request.position, self._template(request.position)
        prompt = template.prompt(position)
        attempts: list[Attempt] = []
        for number in range(self.settings.legality.tries):
            seed = self._seed(request, number)
            params = self.settings.sampling(seed=seed, max_tokens=template.max_tokens, stop=template.stop)
            try:
                with self._engine_for(clock) as timeout_s:
                    reply = await self._engine.generate(prompt, params, timeout_s=timeout_s)
            except _OutOfTimeError as error:
                attempts.append(Attempt("", Failure.TIMEOUT, str(error), seed))
                break
            parsed = parse_answer(reply.text, position, reply.finish_reason, template.answer)
            cost = accounting(reply.usage, reply.timing)
            attempts.append(Attempt(reply.text, parsed.failure, parsed.detail, seed, cost))
            if parsed.failure is None:
                return MoveReply(parsed.move, tuple(attempts), policy)
            prompt = template.feedback(prompt, reply.text, parsed.failure, position)
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
    index: int
    text: str
    probability: float
    decisions: tuple[Decision, ...]
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


def accounting(usage: Usage, timing: Timing) -> Accounting:
    """The engine's accounting of one answer, as an attempt keeps it."""
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
