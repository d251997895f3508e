"""From a spec to a schedule: the format, the openings and their order, all known before the first game."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from arena.openings import (
    Opening,
    check_enough,
    opening_order,
    openings_hash,
    own_openings,
    read_openings,
    start_position,
)
from arena.tournament.formats.base import Format, Schedule, make_schedule
from arena.tournament.formats.gauntlet import Gauntlet
from arena.tournament.formats.knockout import Knockout
from arena.tournament.formats.round_robin import RoundRobin
from arena.tournament.formats.sequential import Sequential
from arena.tournament.formats.swiss import Swiss, default_rounds
from arena.tournament.spec import TournamentSpec, spec_hash
from games import get_game

TIEBREAK_PAIRS = 2


@dataclass(frozen=True, slots=True)
class Plan:
    """A tournament that can begin. `order` is the order in which the `openings` are used."""

    spec: TournamentSpec
    format: Format
    openings: tuple[Opening, ...]
    order: tuple[int, ...]

    def schedule(self, results: Mapping[int, float | None]) -> Schedule:
        """The games that are known after `results`: White's score by game index, None for a game that will never
        have one. The same whatever order the results came in, and wherever it was interrupted."""
        return make_schedule(self.format, results, openings=self.order, seed=self.spec.seed)

    def at_once(self, games: int) -> Plan:
        """The same with so many games at once."""
        return replace(self, spec=self.spec.model_copy(update={"concurrency": games}))

    @property
    def content_hash(self) -> str:
        """The same for two specs that ask for the same games."""
        return spec_hash(self.spec, openings_hash(self.openings))


def make_plan(spec: TournamentSpec) -> Plan:
    """Reads and checks the openings. Raises UsageError if no tournament can start from them."""
    openings = openings_of(spec)
    tournament = format_of(spec)
    if spec.openings.list != "start":
        check_enough(openings, tournament.openings_needed(), f"format {spec.format} with {_matches(spec)}")
    choice = spec.openings
    order = opening_order(len(openings), choice.order, spec.seed, choice.start)
    return Plan(spec, tournament, openings, order)


def openings_of(spec: TournamentSpec) -> tuple[Opening, ...]:
    """The openings that `spec` names. Raises UsageError."""
    game = get_game(spec.game)
    if spec.openings.list == "start":
        return start_position(game)
    if spec.openings.list == "own":
        return own_openings(game)
    return read_openings(Path(spec.openings.list), game, spec.openings.plies)


def format_of(spec: TournamentSpec) -> Format:
    """The format that `spec` describes."""
    players, games = spec.players, spec.games_per_pair
    match spec.format:
        case "round-robin":
            return RoundRobin(players, games)
        case "double-round-robin":
            return RoundRobin(players, games, cycles=2)
        case "gauntlet":
            return Gauntlet(players, games, spec.challengers or 1)
        case "swiss":
            return Swiss(players, spec.rounds or default_rounds(len(players)), games)
        case "knockout":
            return Knockout(players, games, TIEBREAK_PAIRS if spec.tiebreak_pairs is None else spec.tiebreak_pairs)
        case "sprt":
            if spec.sprt is None:
                raise ValueError("format sprt without bounds")
            first, second = players
            bounds = spec.sprt
            return Sequential((first, second), bounds.test(), bounds.max_games // 2, bounds.batch // 2)


def _matches(spec: TournamentSpec) -> str:
    return f"{spec.games_per_pair} games per pair" if spec.games_per_pair > 1 else "1 game per pair"
