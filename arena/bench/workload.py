"""The load of a chess arena, the same for any engine.

Prompts are token ids, so that every engine computes the same. Games are predetermined, seeded random legal moves, so
that every engine is sent the same prompts whatever it answers; or, to see what that hides, each goes on from what was
chosen.
Each game asks for one move at a time, and for the next when the answer has come.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import takewhile
from typing import Literal, get_args

from agents.prompts import PromptTemplate
from agents.seeds import derive_seed
from games import get_game
from games.base import Position
from inference.tokenizer import Tokenizer
from inference.types import Message, Text

PromptShape = Literal["history", "fen", "transcript"]
"""What a prompt holds besides the system prompt: the moves so far, which only grow, then a question; the board and the
legal moves, which change at every ply; or the moves as one growing answer, which the next move continues directly, so
that generated tokens are the prefix of the next request."""

AnswerShape = Literal["free", "choose"]
"""What is asked: five tokens, greedy, going on past the end of text; or one of the legal moves."""

MoveSource = Literal["fixed", "chosen"]
"""What is played after an answer: the predetermined move, or the move that was answered."""

PROMPT_SHAPES: tuple[PromptShape, ...] = get_args(PromptShape)
ANSWER_SHAPES: tuple[AnswerShape, ...] = get_args(AnswerShape)
MOVE_SOURCES: tuple[MoveSource, ...] = get_args(MoveSource)
FREE_TOKENS = 5
RETRIES = 20  # random games that end early before a load is refused


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked of an engine: `in_flight` games at once, of `plies` requests each. Raises ValueError."""

    prompt: PromptShape = "history"
    answer: AnswerShape = "choose"
    moves: MoveSource = "fixed"
    in_flight: int = 16
    plies: int = 40
    seed: int = 0

    def __post_init__(self) -> None:
        if self.moves == "chosen" and self.answer != "choose":
            raise ValueError(f"a game goes on from chosen moves only if the answer is 'choose', not {self.answer!r}")

    @property
    def requests(self) -> int:
        return self.in_flight * self.plies

    def __str__(self) -> str:
        chosen = " (chosen moves)" if self.moves == "chosen" else ""
        return f"{self.prompt}/{self.answer}{chosen}, {self.in_flight} in flight"


@dataclass(frozen=True, slots=True)
class Turn:
    """One request of the load: `prompt` as token ids, `choices` the legal moves."""

    game: int
    ply: int
    prompt: tuple[int, ...]
    choices: tuple[str, ...]
    seed: int


@dataclass(frozen=True, slots=True)
class Prompts:
    """Writes a position as the token ids of a prompt. `history` is the template that the agents use; the other shapes
    have its system prompt."""

    history: PromptTemplate
    tokenizer: Tokenizer
    shape: PromptShape

    def of(self, position: Position) -> tuple[int, ...]:
        if self.shape == "history":
            return self.tokenizer.encode_messages(self._messages(position))
        if self.shape == "fen":
            return self.tokenizer.encode_messages(self._asked(_board(position)))
        opened = self.tokenizer.render(self._asked("Play both sides of a game: one UCI move a line, White first."))
        return tuple(self.tokenizer.encode(opened + "".join(f"{move}\n" for move in position.moves)))

    def preamble(self) -> tuple[int, ...]:
        """What all prompts begin with, whatever the game."""
        unlike = ("a2a4", "a7a5", "a1a3", "a8a6")  # moves after which board and history differ from the first letter
        prompts = [self.of(get_game("chess").position(moves=moves)) for moves in ((), unlike)]
        return tuple(one for one, other in takewhile(lambda pair: pair[0] == pair[1], zip(*prompts, strict=False)))

    def _asked(self, text: str) -> list[Message]:
        return [self._messages(get_game("chess").position())[0], Message("user", text)]

    def _messages(self, position: Position) -> Sequence[Message]:
        prompt = self.history.prompt(position)
        assert not isinstance(prompt, Text)
        return [message for message in prompt if isinstance(message, Message)]


@dataclass(frozen=True, slots=True)
class Workload:
    """A load with its requests. `games[g]` are the turns of game g, in order; none if moves are chosen."""

    load: Load
    prompts: Prompts
    preamble: tuple[int, ...]
    games: tuple[tuple[Turn, ...], ...]

    def turns(self, game: int) -> Generator[Turn, str, None]:
        """The requests of one game: `send` the answer to get the next. A game of chosen moves that ends starts anew."""
        if self.load.moves == "fixed":
            for turn in self.games[game]:  # noqa: UP028 (the iterator of a tuple takes no answers)
                yield turn
            return
        start = position = get_game("chess").position()
        for ply in range(self.load.plies):
            if position.outcome() is not None:
                position = start
            answer = yield _turn(self.load, self.prompts, game, ply, position)
            position = position.play(answer)

    def first_turns(self) -> Workload:
        """The same games, of one request each."""
        return replace(self, load=replace(self.load, plies=1), games=tuple(turns[:1] for turns in self.games))

    def longest_prompt(self) -> int:
        """Tokens of the longest predetermined prompt."""
        return max(len(turn.prompt) for turns in self.games for turn in turns)

    def digest(self) -> str:
        """sha256 over all prompts and choices, predetermined ones only."""
        turns = [(turn.game, turn.ply, turn.prompt, turn.choices) for game in self.games for turn in game]
        return sha256(repr(turns).encode()).hexdigest()


def make_workload(history: PromptTemplate, tokenizer: Tokenizer, load: Load) -> Workload:
    """The requests of a load; a function of its arguments. Raises ValueError if no random game is that long."""
    prompts = Prompts(history, tokenizer, load.prompt)
    games: tuple[tuple[Turn, ...], ...] = ()
    if load.moves == "fixed":
        games = tuple(
            tuple(
                _turn(load, prompts, game, ply, position)
                for ply, position in enumerate(_positions(load.seed, game, load.plies))
            )
            for game in range(load.in_flight)
        )
    return Workload(load, prompts, prompts.preamble(), games)


def _turn(load: Load, prompts: Prompts, game: int, ply: int, position: Position) -> Turn:
    return Turn(game, ply, prompts.of(position), position.legal_moves(), derive_seed(load.seed, game, ply))


def _positions(seed: int, index: int, plies: int) -> list[Position]:
    """The positions of a random game before each of its plies, none of them over. It is drawn anew from the next seed
    where random moves end it early."""
    for retry in range(RETRIES):
        rng = random.Random(derive_seed(seed, index, retry, "game"))
        position = get_game("chess").position()
        positions: list[Position] = []
        while position.outcome() is None and len(positions) < plies:
            positions.append(position)
            position = position.play(rng.choice(position.legal_moves()))
        if len(positions) == plies:
            return positions
    raise ValueError(f"no random game of {plies} plies was found: ask for fewer")


def _board(position: Position) -> str:
    side = get_game("chess").sides[position.side_to_move]
    return (
        f"Position (FEN): {position.fen}\n{position.text()}\n"
        f"Legal moves: {' '.join(position.legal_moves())}\n{side} to move. Answer with one UCI move."
    )
