"""A tournament in the record: what is stored of it, and how it is read again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pydantic import ValidationError

from arena.endings import MAX_REPLAYS, REPLAYED
from arena.errors import UsageError
from arena.openings import Opening, opening_order
from arena.store.records import NewGame
from arena.store.stages import Try
from arena.tournament.faults import sentence
from arena.tournament.formats.base import ScheduledGame
from arena.tournament.plan import Plan, format_of
from arena.tournament.spec import TournamentSpec
from games import get_game

KIND = "tournament"
"""What the stored configuration of such a run calls itself."""

WHITE_SCORES = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}


def stored_plan(plan: Plan) -> dict[str, Any]:
    """The plan as JSON values. Its openings are whole, since the file that they come from may change."""
    openings = [asdict(opening) for opening in plan.openings]
    return {"kind": KIND, "spec": plan.spec.model_dump(mode="json"), "openings": openings}


def plan_from(config: Mapping[str, Any]) -> Plan:
    """The plan that a run was stored with. Raises UsageError if this version cannot read it."""
    if config.get("kind") != KIND:
        raise UsageError("the run is no tournament")
    try:
        spec = TournamentSpec.model_validate(config["spec"])
    except ValidationError as error:
        said = sentence(error, TournamentSpec)
        raise UsageError(f"the tournament's stored spec does not fit this version: {said}") from error
    openings = tuple(Opening(**{**opening, "moves": tuple(opening["moves"])}) for opening in config["openings"])
    order = opening_order(len(openings), spec.openings.order, spec.seed, spec.openings.start)
    return Plan(spec, format_of(spec), openings, order)


def new_games(plan: Plan, games: Sequence[ScheduledGame]) -> list[NewGame]:
    """Games of the plan's schedule as they go into the record."""
    spec, rule_policy = plan.spec, get_game(plan.spec.game).rule_policy
    return [
        NewGame(
            index=game.index,
            white=game.white,
            black=game.black,
            game=spec.game,
            seed=game.seed,
            max_plies=spec.max_plies,
            rule_policy=rule_policy,
            pair=game.pair,
            opening=plan.openings[game.opening].name,
            start_fen=plan.openings[game.opening].start_fen,
            opening_moves=plan.openings[game.opening].moves,
            round=game.round,
        )
        for game in games
    ]


def scores(tries: Iterable[Try]) -> dict[int, float | None]:
    """White's score by the index of each game that has its end: None if it will never have one, since it was void as
    often as games are played again."""
    found: dict[int, float | None] = {}
    for last in tries:
        if last.result is None:
            continue
        if not last.void:
            found[last.schedule_index] = WHITE_SCORES[last.result]
        elif last.replay >= MAX_REPLAYS or last.termination not in REPLAYED:
            found[last.schedule_index] = None
    return found
