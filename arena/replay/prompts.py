"""What was new in the prompt of each move: rendered again, from the templates that the record names.

A prompt is mostly what the model has been told before. Only templates and moves are recorded, and they are enough: a
template's hash says whether the file that is here now is the one that was played with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from agents.prompts import PromptError, PromptTemplate
from agents.registry import recorded_template
from arena.replay.viewmodel import PromptPart, Replay, replay_of
from arena.resources import data_path
from arena.store.records import IMPORTED, OPENING
from games.base import Position, Side
from inference.types import Message, Text

if TYPE_CHECKING:
    from arena.store.queries import GameDetail


@dataclass(frozen=True, slots=True)
class Prompts:
    """The templates of a game by side, and for those that are not to be had any more, why."""

    templates: Mapping[Side, PromptTemplate]
    missing: Mapping[Side, str] = field(default_factory=dict)

    def new_parts(self, detail: GameDetail, positions: Sequence[Position]) -> list[tuple[PromptPart, ...]]:
        """For each recorded move, what its prompt had that the one before from the same template had not; `positions`
        are those that the moves were made in. Empty for a move that no prompt asked for."""
        before: dict[str, list[Message]] = {}
        parts: list[tuple[PromptPart, ...]] = []
        for move, position in zip(detail.moves, positions, strict=True):
            template = self.templates.get(position.side_to_move)
            if template is None or move.policy in (OPENING, IMPORTED):
                parts.append(())
                continue
            prompt = _messages(template.prompt(position))
            parts.append(tuple(_added(before.get(template.hash, []), prompt)))
            before[template.hash] = prompt
        return parts


def recorded_replay(detail: GameDetail) -> Replay:
    """The replay of a recorded game with its prompts, where their templates can still be read. Raises StoreError."""
    return replay_of(detail, prompts_of(detail))


def prompts_of(detail: GameDetail) -> Prompts:
    """Reads the templates that `detail` names."""
    from agents.prompt_files import PromptLibrary

    library = PromptLibrary(data_path("prompts"))
    templates: dict[Side, PromptTemplate] = {}
    missing: dict[Side, str] = {}
    sides: tuple[tuple[Side, Mapping[str, Any], str | None], ...] = (
        ("first", detail.white_settings, detail.white_template),
        ("second", detail.black_settings, detail.black_template),
    )
    for side, settings, recorded in sides:
        if recorded is None or "prompt" not in settings:
            continue
        try:
            template = recorded_template(settings, detail.game, library)
        except PromptError as error:
            missing[side] = f"template {settings['prompt']} cannot be read: {error}"
            continue
        if template.hash == recorded:
            templates[side] = template
        else:
            missing[side] = f"template {settings['prompt']} has changed since"
    return Prompts(templates, missing)


def _messages(prompt: list[Message] | Text) -> list[Message]:
    return [Message("user", prompt.content)] if isinstance(prompt, Text) else prompt


def _added(before: list[Message], now: list[Message]) -> list[PromptPart]:
    """What of `now` goes beyond the beginning that it shares with `before`."""
    shared = 0
    while shared < len(before) and shared < len(now) and before[shared] == now[shared]:
        shared += 1
    added = [PromptPart(message.role, message.content) for message in now[shared:]]
    if added and shared < len(before) and before[shared].role == added[0].role:
        known = _shared_words(before[shared].content, added[0].text)
        added[0] = PromptPart(added[0].role, added[0].text[known:])
    return [part for part in added if part.text]


def _shared_words(first: str, second: str) -> int:
    """How many characters both begin with, a word of `second` that is not whole among them left out."""
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
    if second[shared : shared + 1].strip():
        while shared and not second[shared - 1].isspace():
            shared -= 1
    return shared
