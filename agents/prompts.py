"""Prompts: what an agent is told in a position, and how its answer is to be read. `agents.prompt_files` reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Literal

import jinja2

from agents.base import Failure
from agents.history import Notation, movetext, pairs, written_moves
from games import get_game
from games.base import Position
from inference.types import Message, Text

AnswerForm = Literal["move", "word", "json"]
"""What an answer in free text is: exactly one move; a text whose first word is the move; a JSON object with `move`."""

RETRIED = (Failure.TRUNCATED, Failure.EMPTY, Failure.UNPARSABLE, Failure.ILLEGAL)
"""The failures an agent can be told about and try again."""

VARIABLES: dict[str, Callable[[Position, Notation], Any]] = {
    "side": lambda position, notation: get_game(position.game).sides[position.side_to_move],
    "fen": lambda position, notation: position.fen,
    "start": lambda position, notation: (
        "" if position.start_fen == get_game(position.game).position().start_fen else position.start_fen
    ),
    "moves": written_moves,
    "movetext": movetext,
    "pairs": pairs,
    "board": lambda position, notation: position.text(),
    "legal": lambda position, notation: [written_move(position, move, notation) for move in position.legal_moves()],
}
"""What a template may tell about a position, besides the facts of its game."""


class PromptError(ValueError):
    """A template that cannot be used. The message names the template and the key."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a prompt: a compiled Jinja template, and the names that it uses."""

    template: jinja2.Template
    names: frozenset[str]

    def render(self, facts: Mapping[str, str], position: Position, notation: Notation, **more: str) -> str:
        """The text for `position`; only what the piece names is worked out."""
        known = {name: VARIABLES[name](position, notation) for name in self.names & VARIABLES.keys()}
        return self.template.render(facts, **known, **more)


@dataclass(frozen=True, slots=True)
class Example:
    """A position by its moves from the start, a good move in it, and why."""

    moves: tuple[str, ...]
    move: str
    reason: str


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """How a game is told to a model, and in which form it answers.

    The pieces are either `text`, a plain text that the model continues, or `system` and `user`, and perhaps
    `assistant`: the beginning of the assistant's turn, which the model continues; `reopened` is that of the next try.
    `before` is what the model writes in front of a move, a part of its answer; `terminator` what may follow it. `hash`
    is over all that shapes a prompt.
    """

    name: str
    game: str
    summary: str
    hash: str
    pieces: Mapping[str, Piece]
    retry: Mapping[Failure, Piece]
    facts: Mapping[str, str]
    reopened: Piece | None = None
    known_examples: tuple[Example, ...] = ()
    notation: Notation = "canonical"
    answer: AnswerForm = "move"
    max_tokens: int = 16
    stop: tuple[str, ...] = ()
    before: str = ""
    terminator: str | None = None
    examples: int = 0
    own_system: str | None = None
    persona: str | None = None
    _shown: list[Message] = field(default_factory=list, compare=False)

    @property
    def is_chat(self) -> bool:
        """Whether the prompt is a conversation, so that failures can be told."""
        return "text" not in self.pieces

    @property
    def can_constrain(self) -> bool:
        """Whether an answer is just a move, so that decoding can be held to the legal ones."""
        return self.answer != "json"

    def customised(
        self, *, system: str | None = None, persona: str | None = None, examples: int | None = None
    ) -> PromptTemplate:
        """The template with a `system` prompt in place of its own, a `persona` behind it, and so many `examples`.

        Raises PromptError for what it has no place for.
        """
        own = {"system": system, "persona": persona, "examples": examples}
        given = {key: value for key, value in own.items() if value is not None}
        if not given:
            return self
        if not self.is_chat:
            raise PromptError(f"{next(iter(given))} has no effect with prompt={self.name}, which is no chat")
        if examples and "assistant" in self.pieces:
            raise PromptError(f"examples has no effect with prompt={self.name}, whose answers are one growing turn")
        if examples is not None and not 0 <= examples <= len(self.known_examples):
            raise PromptError(f"examples must be from 0 to {len(self.known_examples)} for {self.game}, not {examples}")
        return replace(
            self,
            own_system=system,
            persona=persona,
            examples=self.examples if examples is None else examples,
            hash=digest(self.hash, repr(sorted(given.items()))),
            _shown=[],
        )

    def prompt(self, position: Position) -> list[Message] | Text:
        """The prompt for the side to move. Raises ValueError for a position of another game."""
        if position.game != self.game:
            raise ValueError(f"template {self.name!r} is for {self.game}, not {position.game}")
        if not self.is_chat:
            return Text(self._render("text", position))
        opened = [Message("assistant", self._render("assistant", position))] if "assistant" in self.pieces else []
        return [*self._opening(), Message("user", self._render("user", position)), *opened]

    def feedback(
        self, prompt: list[Message] | Text, said: str, failure: Failure, position: Position
    ) -> list[Message] | Text:
        """The prompt of the next try, after the model `said` what failed.

        Feedback goes after everything said so far: the next try finds all of it in the prefix cache. Where the first
        word is the answer, what the model said after it is left out. A plain text has no place for feedback: the next
        try is another draw.
        """
        if isinstance(prompt, Text):
            return prompt
        if self.answer == "word":
            said = said[: len(said) - len(said.lstrip())] + (said.split(maxsplit=1) or [""])[0]
        told = self.retry[failure].render(self.facts, position, self.notation, said=said.strip())
        if prompt[-1].role == "assistant":
            *prompt, opened = prompt
            said = opened.content + said
        again = self.reopened and self.reopened.render(self.facts, position, self.notation)
        opening = [Message("assistant", again)] if again else []
        return [*prompt, Message("assistant", said), Message("user", told), *opening]

    def choice(self, position: Position, move: str) -> str:
        """What the model writes to play the legal `move`."""
        return self.before + written_move(position, move, self.notation)

    def _opening(self) -> list[Message]:
        """What does not depend on the position: system prompt and examples. Rendered once."""
        if not self._shown:
            start = get_game(self.game).position()
            system = self.own_system if self.own_system is not None else self._render("system", start)
            persona = f"\n\n{self.persona}" if self.persona else ""
            self._shown.append(Message("system", system + persona))
            for example in self.known_examples[: self.examples]:
                position = get_game(self.game).position(None, example.moves)
                self._shown.append(Message("user", self._render("user", position)))
                self._shown.append(Message("assistant", self._answer(example, position)))
        return self._shown

    def _answer(self, example: Example, position: Position) -> str:
        move = written_move(position, example.move, self.notation)
        return f'{{"reason": "{example.reason}", "move": "{move}"}}' if self.answer == "json" else move

    def _render(self, piece: str, position: Position) -> str:
        return self.pieces[piece].render(self.facts, position, self.notation)


def written_move(position: Position, move: str, notation: Notation) -> str:
    """A legal `move` in `notation`."""
    return position.san(move) if notation == "native" else move


def digest(*texts: str) -> str:
    """A content hash: the start of the sha256 of `texts`, kept apart."""
    return sha256("\0".join(texts).encode()).hexdigest()[:16]
