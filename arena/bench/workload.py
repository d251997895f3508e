"""The load of a chess arena, the same for any engine.

Games are predetermined, so that every engine is sent identical prompts whatever it answers: seeded random legal moves.
Each game asks for one move at a time, and for the next when the answer has come.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal, get_args

from agents.prompt_files import PromptLibrary
from agents.seeds import derive_seed
from games import get_game
from games.base import Position
from inference.types import Prompt

PromptShape = Literal["history", "fen"]
"""What a prompt holds besides the system prompt: the moves so far, which only grow; or the board and the legal moves,
which change at every ply."""

TEMPLATES: dict[PromptShape, str] = {"history": "uci-history", "fen": "fen-legal"}
"""The prompt template of each shape."""

AnswerShape = Literal["free", "choose"]
"""What is asked: five tokens, greedy, going on past the end of text; or one of the legal moves."""

PROMPT_SHAPES: tuple[PromptShape, ...] = get_args(PromptShape)
ANSWER_SHAPES: tuple[AnswerShape, ...] = get_args(AnswerShape)
FREE_TOKENS = 5


@dataclass(frozen=True, slots=True)
class Turn:
    """One request of the load."""

    game: int
    ply: int
    prompt: Prompt
    choices: tuple[str, ...]
    seed: int


@dataclass(frozen=True, slots=True)
class Workload:
    """`games[g]` are the turns of game g, in order. All games run at once: their number is what is in flight."""

    prompt: PromptShape
    answer: AnswerShape
    seed: int
    games: tuple[tuple[Turn, ...], ...]

    @property
    def requests(self) -> int:
        return sum(map(len, self.games))


def make_workload(
    prompts: PromptLibrary,
    *,
    prompt: PromptShape = "history",
    answer: AnswerShape = "choose",
    in_flight: int = 16,
    plies: int = 40,
    seed: int = 0,
) -> Workload:
    """A load of `in_flight` games of `plies` plies; a function of its arguments. Games are drawn anew from the next
    seed where random moves end one early."""
    template = prompts.load(TEMPLATES[prompt], "chess")
    games = tuple(
        tuple(
            Turn(
                game=index,
                ply=ply,
                prompt=template.prompt(position),
                choices=position.legal_moves(),
                seed=derive_seed(seed, index, ply),
            )
            for ply, position in enumerate(_positions(seed, index, plies))
        )
        for index in range(in_flight)
    )
    return Workload(prompt, answer, seed, games)


def _positions(seed: int, index: int, plies: int) -> list[Position]:
    """The positions of a random game before each of its plies, none of them over."""
    for retry in range(1000):
        rng = random.Random(derive_seed(seed, index, retry, "game"))
        position = get_game("chess").position()
        positions: list[Position] = []
        while position.outcome() is None and len(positions) < plies:
            positions.append(position)
            position = position.play(rng.choice(position.legal_moves()))
        if len(positions) == plies:
            return positions
    raise ValueError(f"no random game of {plies} plies was found: ask for fewer")
