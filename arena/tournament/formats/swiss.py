"""A fixed number of rounds, each against somebody with about the same score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from arena.tournament.formats.base import Bye, Format, Match, Played, Stage, pairs_in

MOST_ROUNDS = 16
"""Enough for one winner among 65,536 players, and few enough for the search of a pairing to stay short."""


def max_rounds(players: int) -> int:
    """The most rounds in which everybody can surely be given an opponent that they have not met.

    Who has met at most half of the others leaves so many that a complete pairing exists (Dirac's theorem); beyond
    that the field can fall into odd groups who have met everyone outside.
    """
    return min((players + 1) // 2, MOST_ROUNDS)


def default_rounds(players: int) -> int:
    """As many as leave one player at most who won all matches."""
    return max(1, math.ceil(math.log2(players)))


@dataclass(slots=True)
class _Standing:
    """What pairing a player looks at."""

    seed: int
    points: float = 0.0
    met: set[int] = field(default_factory=set)
    had_bye: bool = False


@dataclass(frozen=True, slots=True)
class Swiss(Format):
    """Swiss by score groups, for matches of an even number of games.

    Within a group of equal points the upper half, by seeding, meets the lower half; who finds nobody goes down to
    the next group. Nobody meets twice; with an odd number of players, the last one without a bye yet sits out and
    gets all points of a match. This is the idea of FIDE's Dutch system, not the letter: most of that is about
    colours, which here are equal in every match.
    """

    players: tuple[str, ...]
    rounds: int
    games_per_match: int = 2

    def most_games(self) -> int:
        return self.rounds * (len(self.players) // 2) * self.games_per_match

    def openings_needed(self) -> int:
        return pairs_in(self.games_per_match)

    def next_stage(self, played: Sequence[Played]) -> Stage | None:
        if len(played) == self.rounds:
            return None
        table = sorted(self._standings(played), key=lambda standing: (-standing.points, standing.seed))
        couples = _pair(table)
        number = len(played) + 1
        before = sum(len(done.stage.matches) for done in played)
        matches = tuple(
            Match(
                number,
                self.players[first.seed],
                self.players[second.seed],
                self.games_per_match,
                (before + board) * pairs_in(self.games_per_match),
            )
            for board, (first, second) in enumerate(couples)
        )
        paired = {standing.seed for couple in couples for standing in couple}
        byes = tuple(Bye(number, player) for seed, player in enumerate(self.players) if seed not in paired)
        return Stage(matches, byes)

    def _standings(self, played: Sequence[Played]) -> list[_Standing]:
        table = [_Standing(seed) for seed in range(len(self.players))]
        by_name = dict(zip(self.players, table, strict=True))
        for done in played:
            for match, score in zip(done.stage.matches, done.scores, strict=True):
                first, second = by_name[match.first], by_name[match.second]
                first.points += score.first
                second.points += score.second
                first.met.add(second.seed)
                second.met.add(first.seed)
            for bye in done.stage.byes:
                by_name[bye.player].points += self.games_per_match
                by_name[bye.player].had_bye = True
        return table


Couples = list[tuple[_Standing, _Standing]]


def _pair(table: Sequence[_Standing]) -> Couples:
    """Pairs the players of `table`, best first. Raises ValueError if they cannot all be paired."""
    failed: set[frozenset[int]] = set()
    if len(table) % 2 == 0:
        if (couples := _pair_rest(list(table), failed)) is not None:
            return couples
    else:
        for out in reversed([standing for standing in table if not standing.had_bye]):
            rest = [standing for standing in table if standing is not out]
            if (couples := _pair_rest(rest, failed)) is not None:
                return couples
    raise ValueError(f"{len(table)} players cannot be paired any more without meeting someone twice")


def _pair_rest(table: list[_Standing], failed: set[frozenset[int]]) -> Couples | None:
    """The first pairing by the order of preference, found by trying; None if there is none. `failed` keeps the
    sets of players that were seen to have none."""
    if not table:
        return []
    if (key := frozenset(standing.seed for standing in table)) in failed:
        return None
    top, rest = table[0], table[1:]
    for opponent in _preferred(top, rest):
        couples = _pair_rest([standing for standing in rest if standing is not opponent], failed)
        if couples is not None:
            return [(top, opponent), *couples]
    failed.add(key)
    return None


def _preferred(top: _Standing, rest: Sequence[_Standing]) -> list[_Standing]:
    """Whom `top` may meet, best first: the lower half of its score group downwards, the upper half upwards from
    its middle, then the groups below."""
    group = [standing for standing in rest if standing.points == top.points]
    half = len(group) // 2  # top itself makes the upper half one longer
    ordered = [*group[half:], *reversed(group[:half]), *rest[len(group) :]]
    return [standing for standing in ordered if standing.seed not in top.met]
