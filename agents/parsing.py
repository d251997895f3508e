"""From an answer in free text to a move: one pure function, strict on purpose."""

from __future__ import annotations

from dataclasses import dataclass

from agents.base import Failure
from games.base import IllegalMoveError, Position
from inference.types import FinishReason


@dataclass(frozen=True, slots=True)
class Parsed:
    """A legal canonical `move`, or the `failure` with a `detail` that says what was wrong with the answer."""

    move: str | None = None
    failure: Failure | None = None
    detail: str = ""


def parse_answer(text: str, position: Position, finish: FinishReason) -> Parsed:
    """Read `text`, a whole answer whose generation ended by `finish`, as one move in `position`.

    The answer must be exactly one move in canonical or native notation; whitespace around it and one full
    stop after it are let pass, nothing else. Text is never searched for something that looks like a move: a
    model that weighs `e2e4` and rejects it would then be made to play it.

    EMPTY is a blank answer. An answer that was cut off and is not a legal move is TRUNCATED whatever it looks
    like (`e7e8` may have lacked its `q`); otherwise a move that is not allowed is ILLEGAL, the rest
    UNPARSABLE.
    """
    answer = text.strip()
    if not answer:
        return Parsed(failure=Failure.EMPTY, detail="the answer is blank")
    try:
        return Parsed(move=position.parse(answer.removesuffix(".")))
    except ValueError as error:
        if finish is FinishReason.LENGTH:
            return Parsed(failure=Failure.TRUNCATED, detail=f"cut off at the token limit: {error}")
        failure = Failure.ILLEGAL if isinstance(error, IllegalMoveError) else Failure.UNPARSABLE
        return Parsed(failure=failure, detail=str(error))
