"""A rehearsal: every agent of a tournament plays one ply, and the judge looks at one position."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from agents.base import MoveRequest, PlayerLeft
from agents.seeds import derive_seed
from arena.lineup import Roster
from arena.printable import message_of
from arena.tournament.adjudication import JUDGE_FAILURES, JUDGE_LIMIT_S, Assessor
from arena.tournament.lineup import TournamentLineup
from arena.tournament.plan import Plan
from arena.turn import Failed, Played, take_turn
from games import get_game
from games.base import Position

TRIAL_LIMIT_S = 60.0
"""How long a first ply may take where the spec sets no limit for a move."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What a player did in its first position: its `move` in native notation, or the `failure`."""

    player: str
    move: str | None
    failure: str
    total_ms: float


async def try_all(plan: Plan, lineup: TournamentLineup) -> tuple[Trial, ...]:
    """The trials in the order of the agents, the judge last. Starts `lineup`, and closes it. Raises ArenaError for what
    cannot start at all."""
    opening = plan.openings[plan.order[0]]
    position = get_game(plan.spec.game).position(opening.start_fen, opening.moves)
    try:
        await lineup.start()
        players = [name for name, agent in lineup.agents.items() if not agent.is_person]
        trials = [await _try(name, lineup, position, plan.spec.seed) for name in players]
        if lineup.adjudicator is not None and lineup.adjudicator.judge is not None:
            trials.append(await _try_judge(lineup.adjudicator.judge, position))
        return tuple(trials)
    finally:
        await lineup.close()


async def _try(name: str, lineup: Roster, position: Position, seed: int) -> Trial:
    conditions = lineup.conditions
    ply = len(position.moves) + 1
    limit_s = conditions.move_timeout or TRIAL_LIMIT_S
    clock = conditions.clocks.clock({}) if conditions.clocks else None
    request = MoveRequest(position, 0, ply, derive_seed(seed, ply), limit_s, clock)
    begun = time.perf_counter()
    try:
        turn = await take_turn(lineup.agents[name], name, request, limit_s)
    except PlayerLeft as left:
        return Trial(name, None, message_of(left), _ms_since(begun))
    if isinstance(turn, Played):
        return Trial(name, position.san(turn.move), "", turn.total_ms)
    failure = f"{turn.fault}: {turn.detail}" if isinstance(turn, Failed) else "it resigns"
    return Trial(name, None, failure, _ms_since(begun))


async def _try_judge(judge: Assessor, position: Position) -> Trial:
    begun = time.perf_counter()
    try:
        async with asyncio.timeout(JUDGE_LIMIT_S):
            _, score = await judge.assess(position)
    except JUDGE_FAILURES as error:
        return Trial("the judge", None, message_of(error) or type(error).__name__, _ms_since(begun))
    return Trial("the judge", f"score {score:+d}", "", _ms_since(begun))


def _ms_since(begun: float) -> float:
    return (time.perf_counter() - begun) * 1000
