"""What each prompt template costs a move, and how often a free answer to it is a legal move at once.

The model plays both sides of a few games. At every ply it is asked twice: held to the legal moves, which gives the
move that is played and what a move costs; and in free text, which gives the share of answers that are legal at first
try. A template whose answer is more than a move is asked in free text only, and a random move is played.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.base import Accounting, MoveReply, MoveRequest
from agents.llm import ChoiceEngine, LLMAgent
from agents.llm_settings import Legality, LLMSettings
from agents.prompts import PromptTemplate
from agents.random import random_move
from agents.seeds import derive_seed
from games import get_game

RANDOM_PLIES = 2
"""Plies at the beginning of each game that are drawn at random, so that no two games are the same."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Averages over the `moves` asked for under one policy. `cached_share` is cached over prompted tokens."""

    moves: int
    prompt_tokens: float
    forwarded_tokens: float
    passes: float
    cached_share: float

    @classmethod
    def of(cls, replies: Sequence[MoveReply]) -> Cost | None:
        """None for no replies."""
        if not replies:
            return None
        total = sum((reply.accounting for reply in replies), Accounting())
        return cls(
            moves=len(replies),
            prompt_tokens=total.prompt_tokens / len(replies),
            forwarded_tokens=total.forwarded_tokens / len(replies),
            passes=total.forward_passes / len(replies),
            cached_share=total.cached_tokens / total.prompt_tokens if total.prompt_tokens else 0.0,
        )


@dataclass(frozen=True, slots=True)
class PromptFigures:
    """One template: its cost held to the legal moves (None if it cannot be) and in free text, where `legal_first` of
    the answers were legal moves."""

    template: str
    game: str
    constrained: Cost | None
    free: Cost
    legal_first: int

    @property
    def legal_share(self) -> float:
        return self.legal_first / self.free.moves


@dataclass(slots=True)
class _Replies:
    constrained: list[MoveReply] = field(default_factory=list)
    free: list[MoveReply] = field(default_factory=list)


async def measure_prompt(
    engine: ChoiceEngine,
    template: PromptTemplate,
    *,
    games: int,
    plies: int,
    temperature: float = 1.0,
    seed: int = 0,
) -> PromptFigures:
    """Plays `games` games at once, `plies` plies each; a function of its arguments. The prefix that all games share is
    computed before. Games that end early are shorter."""
    templates = {template.game: template}
    free = LLMAgent("free", engine, templates, LLMSettings(temperature=temperature, legality=Legality("free")))
    held = LLMAgent("held", engine, templates, LLMSettings(temperature=temperature)) if template.can_constrain else None
    replies = _Replies()
    await free.start()
    async with asyncio.TaskGroup() as group:
        for game in range(games):
            group.create_task(_play(template.game, free, held, replies, plies, derive_seed(seed, game)))
    return PromptFigures(
        template=template.name,
        game=template.game,
        constrained=Cost.of(replies.constrained),
        free=_certain(Cost.of(replies.free)),
        legal_first=sum(reply.move is not None for reply in replies.free),
    )


async def _play(game: str, free: LLMAgent, held: LLMAgent | None, replies: _Replies, plies: int, seed: int) -> None:
    position = get_game(game).position()
    for ply in range(RANDOM_PLIES + plies):
        if position.outcome() is not None:
            return
        request = MoveRequest(position, game_id=0, ply=ply + 1, seed=derive_seed(seed, ply))
        position = position.play(await _move(request, free, held, replies, asked=ply >= RANDOM_PLIES))


async def _move(request: MoveRequest, free: LLMAgent, held: LLMAgent | None, replies: _Replies, *, asked: bool) -> str:
    if not asked:
        return random_move(request)
    move = None
    if held is not None:
        reply = await held.choose_move(request)
        replies.constrained.append(reply)
        move = reply.move
    replies.free.append(await free.choose_move(request))
    return move or random_move(request)


def _certain(cost: Cost | None) -> Cost:
    assert cost is not None  # every game asks for its first ply
    return cost
