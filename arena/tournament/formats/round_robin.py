"""Everybody meets everybody."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from arena.tournament.formats.base import Bye, Format, Match, Played, Stage, pairs_in


def berger_round(seats: int, number: int) -> tuple[tuple[int, int], ...]:
    """Round `number` (from 0) of the Berger table for `seats` seats, an even number: pairs of seats from 0, the
    first has White.

    The last seat stays in its place and alternates colours. Over the `seats` - 1 rounds everyone meets everyone
    once, with as many Whites as Blacks but for one. Raises ValueError for an odd number of seats.
    """
    if seats < 2 or seats % 2:
        raise ValueError(f"a Berger table has an even number of seats of at least 2, not {seats}")
    turning = seats - 1
    middle = number * (seats // 2) % turning
    last = (middle, turning) if number % 2 == 0 else (turning, middle)
    others = (((middle + away) % turning, (middle - away) % turning) for away in range(1, seats // 2))
    return (last, *others)


@dataclass(frozen=True, slots=True)
class RoundRobin(Format):
    """Berger tables; in every second cycle with colours swapped. One stage for all.

    With an odd number of players one sits out each round. Each pair of games has an opening of its own as far as
    the list reaches; beyond it, openings come again, but never for the same two players.
    """

    players: tuple[str, ...]
    games_per_match: int = 2
    cycles: int = 1

    def most_games(self) -> int:
        return math.comb(len(self.players), 2) * self.games_per_match * self.cycles

    def openings_needed(self) -> int:
        return self.cycles * pairs_in(self.games_per_match)

    def next_stage(self, played: Sequence[Played]) -> Stage | None:
        if played:
            return None
        seats = len(self.players) + len(self.players) % 2
        matches, byes = [], []
        for cycle in range(self.cycles):
            meeting = 0
            for number in range(seats - 1):
                round_number = cycle * (seats - 1) + number + 1
                for first, second in berger_round(seats, number):
                    if max(first, second) == len(self.players):  # the empty seat
                        byes.append(Bye(round_number, self.players[min(first, second)]))
                        continue
                    names = self.players[first], self.players[second]
                    white, black = reversed(names) if cycle % 2 else names
                    # The openings of two players lie next to each other: a list as long as those repeats none.
                    opening = (meeting * self.cycles + cycle) * pairs_in(self.games_per_match)
                    matches.append(Match(round_number, white, black, self.games_per_match, opening))
                    meeting += 1
        return Stage(tuple(matches), tuple(byes))
