"""Prompt templates: what an agent is told, as data with a content hash."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from string import Formatter
from typing import Any

from agents.base import Failure
from games.base import Game, Position
from inference.types import Message

RETRIED = (Failure.TRUNCATED, Failure.EMPTY, Failure.UNPARSABLE, Failure.ILLEGAL)
"""The failures an agent can be told about and try again."""

# Piece of the user message -> placeholders it must have, placeholders it may have.
_PIECES: dict[str, tuple[set[str], set[str]]] = {
    "start": ({"fen"}, {"fen"}),
    "history": (set(), set()),
    "move": ({"move"}, {"move"}),
    "empty": (set(), set()),
    "turn": (set(), {"side", "fen", "board", "legal_moves"}),
}


class PromptTemplateError(ValueError):
    """A template that cannot be used. The message names the template and the key."""


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """How a game is told to a model.

    The user message is `start` (only from a position other than the game's own), `history`, one `move` for
    each ply played or `empty` before the first, and `turn`. All that differs from ply to ply comes in `turn`,
    so the text up to the history's end only ever grows, and both players of a game share it.
    `hash` is the start of the sha256 of the template's text.
    """

    name: str
    game: str
    hash: str
    system: str
    start: str
    history: str
    move: str
    empty: str
    turn: str
    retry: Mapping[Failure, str]

    def messages(self, position: Position, game: Game) -> list[Message]:
        """The prompt for the side to move: a system message and a user message."""
        turn = self.turn.format(
            side=game.sides[position.side_to_move],
            fen=position.fen,
            board=position.text(),
            legal_moves=" ".join(position.legal_moves()),
        )
        empty = "" if position.moves else self.empty.format()
        return [Message("system", self.system), Message("user", self.told(position, game) + empty + turn)]

    def told(self, position: Position, game: Game) -> str:
        """The part of the user message that only grows: start position and moves so far."""
        standard = position.start_fen == game.position().start_fen
        start = "" if standard else self.start.format(fen=position.start_fen)
        moves = "".join(self.move.format(move=move) for move in position.moves)
        return start + self.history.format() + moves


def load_template(path: Path | str) -> PromptTemplate:
    """The template in a TOML file. Raises PromptTemplateError that names the file and its fault."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptTemplateError(f"cannot read prompt template {path}: {error}") from error
    return parse_template(text, str(path))


def parse_template(text: str, source: str) -> PromptTemplate:
    """The template written in `text`; `source` names it in errors. Raises PromptTemplateError.

    Keys: `name`, `game`, `system` (blank lines around it are dropped); in `[user]` the pieces of the user
    message; in `[retry]` one sentence for each failure that is tried again. All are required, others are
    refused.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PromptTemplateError(f"prompt template {source} is not valid TOML: {error}") from error
    user = _table(data, "user", source)
    retry = _table(data, "retry", source)
    top = {key: value for key, value in data.items() if key not in ("user", "retry")}
    texts = _texts(top, ("name", "game", "system"), "", source)
    pieces = _texts(user, tuple(_PIECES), "user.", source)
    sentences = _texts(retry, tuple(failure.value for failure in RETRIED), "retry.", source)
    for key, (required, allowed) in _PIECES.items():
        _check_placeholders(pieces[key], f"user.{key}", required, allowed, source)
    return PromptTemplate(
        name=texts["name"],
        game=texts["game"],
        system=texts["system"].strip(),
        **pieces,
        hash=sha256(text.encode()).hexdigest()[:16],
        retry={failure: sentences[failure.value] for failure in RETRIED},
    )


def _table(data: Mapping[str, Any], key: str, source: str) -> Mapping[str, Any]:
    table = data.get(key)
    if not isinstance(table, dict):
        raise PromptTemplateError(f"prompt template {source} needs a table [{key}]")
    return table


def _texts(table: Mapping[str, Any], keys: tuple[str, ...], prefix: str, source: str) -> dict[str, str]:
    """The entries `keys` of `table`, all of them texts that are not blank, and no others."""
    for key in table:
        if key not in keys:
            raise PromptTemplateError(
                f"prompt template {source}: unknown key {prefix}{key}; allowed are {', '.join(keys)}"
            )
    for key in keys:
        if not isinstance(table.get(key), str) or not table[key].strip():
            raise PromptTemplateError(f"prompt template {source} needs {prefix}{key}, a text that is not blank")
    return {key: table[key] for key in keys}


def _check_placeholders(text: str, key: str, required: set[str], allowed: set[str], source: str) -> None:
    try:
        fields = [parsed[1:] for parsed in Formatter().parse(text) if parsed[1] is not None]
    except ValueError as error:
        raise PromptTemplateError(f"prompt template {source}: {key}: {error} (write {{{{ for a brace)") from error
    for name, spec, conversion in fields:
        if name not in allowed or spec or conversion:
            known = ", ".join(f"{{{known}}}" for known in sorted(allowed)) or "none"
            raise PromptTemplateError(
                f"prompt template {source}: {key}: unknown placeholder {{{name}}}; allowed: {known}"
            )
    missing = required - {name for name, _, _ in fields}
    if missing:
        raise PromptTemplateError(f"prompt template {source}: {key} needs {{{missing.pop()}}}")
