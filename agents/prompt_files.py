"""Prompt templates as files: TOML around Jinja, checked when they are read.

A template (`NAME.toml`) is told about a game by the game's facts (`games/GAME.toml` beside it), so that one template
serves every game. `data/prompts/README.md` describes both.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import jinja2.meta
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.history import Notation, pairs
from agents.prompts import (
    RETRIED,
    VARIABLES,
    AnswerForm,
    Example,
    Piece,
    PromptError,
    PromptTemplate,
    digest,
    written_move,
)
from agents.suggest import unknown
from games import get_game
from games.base import IllegalMoveError

_JINJA = ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Choice(_Strict):
    before: str = ""


class _Retry(_Strict):
    truncated: str = Field(min_length=1)
    empty: str = Field(min_length=1)
    unparsable: str = Field(min_length=1)
    illegal: str = Field(min_length=1)
    assistant: str | None = None


class _TemplateFile(_Strict):
    summary: str = ""
    system: str | None = None
    user: str | None = None
    assistant: str | None = None
    text: str | None = None
    notation: Notation = "canonical"
    answer: AnswerForm = "move"
    max_tokens: int = Field(default=16, ge=1)
    stop: list[str] = Field(default=[])
    terminator: str | None = None
    examples: int = Field(default=0, ge=0)
    choice: _Choice = _Choice()
    retry: _Retry | None = None


class _ExampleEntry(_Strict):
    moves: str
    move: str
    reason: str


class _InNotation(_Strict):
    canonical: str
    native: str


class _FactsFile(_Strict):
    title: str
    example: str
    lines: list[str]
    rules: str
    advice: str
    notation: _InNotation
    examples: list[_ExampleEntry] = Field(default=[])


class PromptLibrary:
    """The templates in a folder. Each is read once for each game."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._load = cache(self._read)

    def names(self) -> tuple[str, ...]:
        """The templates of the folder, in order of the alphabet."""
        return tuple(sorted(path.stem for path in self.folder.glob("*.toml")))

    def load(self, name: str, game: str) -> PromptTemplate:
        """The template called `name`, or in the file `name` if that ends in `.toml`, for `game`. Raises PromptError."""
        return self._load(name, game)

    def _read(self, name: str, game: str) -> PromptTemplate:
        path = Path(name).expanduser() if name.endswith(".toml") else self.folder / f"{name}.toml"
        if not name.endswith(".toml") and name not in self.names():
            raise PromptError(f"{unknown('prompt', name, self.names())}; a file of your own ends in .toml")
        return parse_template(_text_of(path), self._facts_text(game), game, str(path), name=path.stem)

    def _facts_text(self, game: str) -> str:
        """The facts about `game`: a rule set of its own name may share those of the game it begins with."""
        files = sorted((self.folder / "games").glob("*.toml"), key=lambda path: -len(path.stem))
        for path in files:
            if game.startswith(path.stem):
                return _text_of(path)
        raise PromptError(f"there are no facts about {game} in {self.folder / 'games'}")


def parse_template(text: str, facts_text: str, game: str, source: str, *, name: str) -> PromptTemplate:
    """The template written in `text` for `game`; `source` names it in errors. Raises PromptError."""
    written = _checked(_TemplateFile, text, source)
    known = _checked(_FactsFile, facts_text, f"facts about {game}")
    facts = _facts(known, game, written.notation)
    sources = {
        key: value for key in ("system", "user", "assistant", "text") if (value := getattr(written, key)) is not None
    }
    _check_shape(written, sources, source)
    pieces = {key: _piece(value.strip("\n"), f"{source}: {key}", facts) for key, value in sources.items()}
    retry = {
        failure: _piece(getattr(written.retry, failure.value), f"{source}: retry.{failure.value}", facts, "said")
        for failure in (RETRIED if written.retry else ())
    }
    again = written.retry.assistant if written.retry else None
    template = PromptTemplate(
        name=name,
        game=game,
        summary=written.summary,
        hash=digest(text, facts_text),
        pieces=pieces,
        retry=retry,
        reopened=None if again is None else _piece(again, f"{source}: retry.assistant", facts),
        facts=facts,
        known_examples=tuple(Example(tuple(e.moves.split()), e.move, e.reason) for e in known.examples),
        notation=written.notation,
        answer=written.answer,
        max_tokens=written.max_tokens,
        stop=tuple(written.stop),
        before=written.choice.before,
        terminator=written.terminator,
        examples=written.examples,
    )
    _try_out(template, source)
    return template


def _facts(known: _FactsFile, game: str, notation: Notation) -> dict[str, str]:
    """What templates name, its moves written in `notation`. Raises PromptError for moves that are not legal."""
    rules = get_game(game)
    try:
        return {
            "title": known.title,
            "example": written_move(rules.position(), known.example, notation),
            "lines": "\n".join(pairs(rules.position(None, line.split()), notation) for line in known.lines),
            "rules": known.rules.strip(),
            "notation": getattr(known.notation, notation).strip(),
            "advice": known.advice.strip(),
        }
    except IllegalMoveError as error:
        raise PromptError(f"facts about {game}: {error}") from error


def _check_shape(written: _TemplateFile, sources: Mapping[str, str], source: str) -> None:
    if "text" in sources:
        if len(sources) > 1:
            raise PromptError(
                f"prompt template {source}: text stands alone, without {', '.join(sources.keys() - {'text'})}"
            )
        if written.examples:
            raise PromptError(f"prompt template {source}: examples need a chat, not text")
        return
    for key in ("system", "user"):
        if not sources.get(key, "").strip():
            raise PromptError(f"prompt template {source} needs {key}, a text that is not blank, or text instead")
    if written.retry is None:
        raise PromptError(f"prompt template {source} needs a table [retry] with {', '.join(RETRIED)}")
    if written.retry.assistant is not None and "assistant" not in sources:
        raise PromptError(f"prompt template {source}: retry.assistant goes with assistant, and with nothing else")
    if written.examples and "assistant" in sources:
        raise PromptError(f"prompt template {source}: examples do not go with assistant, which is one growing turn")


def _checked(model: type[Any], text: str, source: str) -> Any:
    try:
        return model.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise PromptError(f"prompt template {source} is not valid TOML: {error}") from error
    except ValidationError as error:
        # A misspelt key is also a missing one: the first says more.
        fault = min(error.errors(), key=lambda fault: fault["type"] != "extra_forbidden")
        key = ".".join(map(str, fault["loc"]))
        if fault["type"] == "extra_forbidden":
            raise PromptError(f"prompt template {source}: {unknown('key', key, _keys(model))}") from error
        raise PromptError(f"prompt template {source}: {key}: {fault['msg'].lower()}") from error


def _keys(model: type[BaseModel]) -> list[str]:
    """The keys of a file, those of its tables behind the table's name."""
    tables: dict[str, type[BaseModel]] = {"choice": _Choice, "retry": _Retry} if model is _TemplateFile else {}
    return [*model.model_fields, *(f"{table}.{key}" for table in tables for key in tables[table].model_fields)]


def _piece(text: str, where: str, facts: Mapping[str, str], *more: str) -> Piece:
    try:
        names = frozenset(jinja2.meta.find_undeclared_variables(_JINJA.parse(text)))
        template = _JINJA.from_string(text)
    except jinja2.TemplateError as error:
        raise PromptError(f"prompt template {where}: {error}") from error
    allowed = sorted([*VARIABLES, *facts, *more])
    for name in sorted(names - set(allowed)):
        raise PromptError(f"prompt template {where}: {unknown('name', name, allowed)}")
    return Piece(template, names)


def _try_out(template: PromptTemplate, source: str) -> None:
    """Renders everything once, so that what cannot be rendered is known before the first game."""
    position = get_game(template.game).position()
    try:
        prompt = template.prompt(position)
        for failure in template.retry:
            template.feedback(prompt, "", failure, position)
        if template.examples:
            template.customised(examples=template.examples)
    except PromptError as error:
        raise PromptError(f"prompt template {source}: {error}") from error
    except jinja2.TemplateError as error:
        raise PromptError(f"prompt template {source} cannot be rendered: {error}") from error


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"cannot read prompt template {path}: {error}") from error
