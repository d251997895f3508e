"""From an answer in free text to a move: one pure function, strict on purpose."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from agents.base import Failure
from agents.prompts import AnswerForm
from games.base import IllegalMoveError, Position
from inference.types import FinishReason

_MOVE_NUMBER = re.compile(r"\A[0-9]+\.(?:\.\.)?\s*")
_PUNCTUATION = re.compile(r"[.,]\Z")


@dataclass(frozen=True, slots=True)
class Parsed:
    """A legal canonical `move`, or the `failure` with a `detail` that says what was wrong with the answer."""

    move: str | None = None
    failure: Failure | None = None
    detail: str = ""


def parse_answer(text: str, position: Position, finish: FinishReason, form: AnswerForm = "move") -> Parsed:
    """Read `text`, a whole answer whose generation ended by `finish`, as one move in `position`.

    What has to be a move in canonical or native notation, exactly, is by `form`
    - `move`: the answer; whitespace around it and one full stop after it are let pass, nothing else;
    - `word`: its first word, where the answer is a text that goes on with the opponent's move; the number of a move in
      front of it (`3.`, `3...`) and one full stop or comma after it are let pass, as in the record of a game;
    - `json`: the text `move` of the one JSON object that the answer is.
    Text is never searched for something that looks like a move: a model that weighs `e2e4` and rejects it would then
    be made to play it.

    EMPTY is a blank answer. An answer that was cut off and is not a legal move is TRUNCATED whatever it looks
    like (`e7e8` may have lacked its `q`); otherwise a move that is not allowed is ILLEGAL, the rest
    UNPARSABLE.
    """
    answer = text.strip()
    if not answer:
        return Parsed(failure=Failure.EMPTY, detail="the answer is blank")
    cut_off = finish is FinishReason.LENGTH
    try:
        if form == "json":
            answer = _move_of_object(answer)
        elif form == "word":
            word, *rest = _MOVE_NUMBER.sub("", answer).split(maxsplit=1) or [""]
            answer = _PUNCTUATION.sub("", word)
            cut_off = cut_off and not rest
        else:
            answer = answer.removesuffix(".")
        return Parsed(move=position.parse(answer))
    except ValueError as error:
        if cut_off:
            return Parsed(failure=Failure.TRUNCATED, detail=f"cut off at the token limit: {error}")
        failure = Failure.ILLEGAL if isinstance(error, IllegalMoveError) else Failure.UNPARSABLE
        return Parsed(failure=failure, detail=str(error))


def _move_of_object(answer: str) -> str:
    """The text `move` of a JSON object. Raises ValueError for anything else."""
    try:
        value = json.loads(answer, object_pairs_hook=_object)
    except RecursionError as error:
        raise ValueError("the answer is nested too deeply to be read") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"the answer is not one JSON object: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"the answer is a JSON {type(value).__name__}, not an object")
    move = value.get("move")
    if not isinstance(move, str):
        raise ValueError('the JSON object has no text under "move"')
    return move


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object whose names are all different: of two moves nobody could say which is meant."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("the JSON object says something twice")
    return value
