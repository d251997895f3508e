"""What the benchmark needs of another engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from arena.bench.workload import FREE_TOKENS, Load, Turn

CHOICE_TOKENS = 8
"""Most tokens of a chosen move, end of turn included."""


class PeerError(Exception):
    """A peer cannot be measured. The message says what happened."""


class PeerMissingError(PeerError):
    """It is not here. The message says how to get it."""


class PeerUnableError(PeerError):
    """It has no means to answer what this load asks."""


@dataclass(frozen=True, slots=True)
class Question:
    """One request: `prompt` as token ids, `choices` None for free text, greedy and past the end of text. `slot` is
    the game, for peers that keep a cache for each."""

    slot: int
    prompt: tuple[int, ...]
    max_tokens: int
    choices: tuple[str, ...] | None = None

    @classmethod
    def of(cls, turn: Turn, load: Load) -> Question:
        if load.answer == "free":
            return cls(turn.game, turn.prompt, FREE_TOKENS)
        return cls(turn.game, turn.prompt, CHOICE_TOKENS, turn.choices)


@dataclass(frozen=True, slots=True)
class PeerAnswer:
    """`computed_tokens` of the prompt, not found in a cache, and `ttft_ms` (milliseconds), if the peer tells them."""

    text: str
    computed_tokens: int | None = None
    ttft_ms: float | None = None


@dataclass(frozen=True, slots=True)
class PeerSettings:
    """What peers are started with. `model` is a folder in Hugging Face format, or None if there is none; `slots` are
    the most requests at once, each of at most `context` tokens; `memory_mb` (MiB) is more than a peer may hold."""

    model_name: str
    model: Path | None
    threads: int
    slots: int
    context: int
    memory_mb: int

    def folder(self) -> Path:
        """Raises PeerMissingError if the model is no folder."""
        if self.model is None:
            raise PeerMissingError(f"it needs a folder in Hugging Face format, and {self.model_name!r} is none")
        return self.model


class Peer(ABC):
    """Another engine. Owns the process that it runs in, from `start` to `close`.

    Every method raises PeerError: a peer that fails is part of the result.
    """

    name: str
    settings: str = ""  # in words: weights, options, what is worth knowing beside a figure
    version: str = ""  # known once started

    def check(self) -> None:
        """Cheap, before anything starts. Raises PeerMissingError."""
        return

    async def prepare(self) -> None:
        """What is done once on a machine, and does not count as starting."""
        return

    @abstractmethod
    async def start(self) -> None:
        """Ready for questions when it returns."""

    @abstractmethod
    async def ask(self, question: Question) -> PeerAnswer:
        """One answer. Questions are asked concurrently, one of each slot at a time."""

    @abstractmethod
    async def reset(self) -> None:
        """Forget all prompts."""

    @abstractmethod
    async def close(self) -> None:
        """End it, whatever state it is in. Never raises."""

    @property
    def peak_mb(self) -> float | None:
        """Most memory that its processes held together, MiB; pages that they share count for each."""
        return None
