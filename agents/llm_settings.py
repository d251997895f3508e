"""How an agent uses its language model: what holds it to the rules, and how its answers are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from inference.types import SamplingParams

DEFAULT_PROMPT = "transcript"
"""The prompt template of agents that are told nothing else: `arena bench prompts` compares them."""


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
    from the probabilities of the whole moves. Unless it `may_pass`, it picks a pass only where there is nothing else: a
    model that cannot play soon passes, and two passes end a game. `max_tokens` (None: what the prompt template says),
    `top_k` and `top_p` shape free text only; `temperature` 0 is greedy everywhere. `seed` makes an agent draw otherwise
    than its equals.
    Raises InvalidRequestError (a ValueError) for values out of range.
    """

    temperature: float = 1.0
    legality: Legality = Legality()
    select: Literal["walk", "score"] = "walk"
    may_pass: bool = False
    max_tokens: int | None = None
    top_k: int = 0
    top_p: float = 1.0
    seed: int | None = None

    def __post_init__(self) -> None:
        self.sampling(seed=0, max_tokens=16)

    def sampling(self, *, seed: int, max_tokens: int, stop: tuple[str, ...] = ()) -> SamplingParams:
        """The parameters of one try in free text; `max_tokens` and `stop` are the template's."""
        return SamplingParams(
            max_tokens=max_tokens if self.max_tokens is None else self.max_tokens,
            temperature=self.temperature,
            top_k=self.top_k,
            top_p=self.top_p,
            stop=stop,
            seed=seed,
        )

    def in_force(self) -> dict[str, str | int | float]:
        """The settings that have an effect, as plain values."""
        always: dict[str, str | int | float] = {"temperature": self.temperature, "legality": str(self.legality)}
        if self.seed is not None:
            always["seed"] = self.seed
        if self.legality.kind == "constrained":
            return always | {"select": self.select, "pass": self.may_pass}
        own = {} if self.max_tokens is None else {"max_tokens": self.max_tokens}
        return always | own | {"top_k": self.top_k, "top_p": self.top_p}
