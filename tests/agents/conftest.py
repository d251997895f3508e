"""A scripted engine, the shipped template, and requests for a move."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agents.base import MoveRequest
from agents.prompt_files import PromptLibrary
from agents.prompts import PromptTemplate
from games import get_game
from inference.types import (
    ChoiceReply,
    FinishReason,
    Message,
    Prompt,
    Reply,
    SamplingParams,
    ScoreReply,
    Text,
    Timing,
    Usage,
)

USAGE = Usage(prompt_tokens=1000, cached_tokens=960, forwarded_tokens=45, generated_tokens=4, passes=5, batch_size=16)
TIMING = Timing(queue_ms=1.0, prefill_ms=2.0, decode_ms=3.0, total_ms=6.0, ttft_ms=2.5)

Answer = str | tuple[str, FinishReason] | Exception


@dataclass
class Call:
    """One call to the fake engine."""

    prompt: tuple[Message, ...] | Text
    params: SamplingParams | None = None
    choices: tuple[str, ...] = ()
    temperature: float | None = None
    seed: int | None = None
    terminator: str | None = None
    timeout_s: float | None = None


def _kept(prompt: Prompt) -> tuple[Message, ...] | Text:
    return prompt if isinstance(prompt, Text) else tuple(prompt)


@dataclass
class FakeClock:
    """Stands in for the clock of agents.llm; it moves when the fake engine is called."""

    now: float = 1000.0


@dataclass
class FakeEngine:
    """Answers `generate` from a list of texts, picks the last choice, and keeps every call.

    Each call takes `takes_s` on `clock`. An exception in `answers` or in `error` is raised; `hang` never answers.
    """

    answers: list[Answer] = field(default_factory=list)
    logprobs: Callable[[Sequence[str]], list[float]] = lambda choices: [0.0] * len(choices)
    error: Exception | None = None
    hang: bool = False
    clock: FakeClock = field(default_factory=FakeClock)
    takes_s: float = 0.0
    called: asyncio.Event = field(default_factory=asyncio.Event)
    calls: list[Call] = field(default_factory=list)

    async def _called(self, call: Call) -> None:
        self.calls.append(call)
        self.called.set()
        self.clock.now += self.takes_s
        if self.hang:
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error

    async def generate(self, prompt: Prompt, params: SamplingParams, *, timeout_s: float | None = None) -> Reply:
        await self._called(Call(_kept(prompt), params=params, seed=params.seed, timeout_s=timeout_s))
        answer = self.answers.pop(0) if self.answers else "nothing"
        if isinstance(answer, Exception):
            raise answer
        text, reason = answer if isinstance(answer, tuple) else (answer, FinishReason.STOP)
        return Reply(text, (1, 2, 3), reason, params.seed or 0, USAGE, TIMING)

    async def choose(
        self,
        prompt: Prompt,
        choices: Sequence[str],
        *,
        temperature: float = 1.0,
        seed: int | None = None,
        terminator: str | None = None,
        timeout_s: float | None = None,
    ) -> ChoiceReply:
        await self._called(
            Call(
                _kept(prompt),
                choices=tuple(choices),
                temperature=temperature,
                seed=seed,
                terminator=terminator,
                timeout_s=timeout_s,
            )
        )
        index = len(choices) - 1
        return ChoiceReply(
            choices[index], (1,), FinishReason.CHOICE, seed or 0, USAGE, TIMING, index=index, probability=0.25
        )

    async def score(
        self,
        prompt: Prompt,
        choices: Sequence[str],
        *,
        terminator: str | None = None,
        timeout_s: float | None = None,
    ) -> ScoreReply:
        await self._called(Call(_kept(prompt), choices=tuple(choices), terminator=terminator, timeout_s=timeout_s))
        logprobs = self.logprobs(choices)
        return ScoreReply(tuple(logprobs), (0.0,) * len(choices), USAGE, TIMING)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    engine = FakeEngine()
    monkeypatch.setattr("agents.llm.monotonic", lambda: engine.clock.now)
    return engine


@pytest.fixture(scope="session")
def prompts() -> PromptLibrary:
    return PromptLibrary(Path(__file__).parents[2] / "data" / "prompts")


@pytest.fixture(scope="session")
def template(prompts: PromptLibrary) -> PromptTemplate:
    return prompts.load("uci-history", "chess")


@pytest.fixture
def ask() -> Callable[..., MoveRequest]:
    """Makes a request: `ask("e2e4", "e7e5", seed=3)` is for White's second move."""

    def make(*moves: str, fen: str | None = None, seed: int = 7, deadline_s: float | None = None) -> MoveRequest:
        position = get_game("chess").position(fen, moves)
        return MoveRequest(position, game_id=1, ply=len(moves) + 1, seed=seed, deadline_s=deadline_s)

    return make
