"""A few against all the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arena.tournament.formats.base import Format, Match, Played, Stage, pairs_in


@dataclass(frozen=True, slots=True)
class Gauntlet(Format):
    """Each of the first `challengers` players meets each of the others, from the same openings for all.

    Challengers do not meet each other. Who begins alternates from opponent to opponent. One stage for all.
    """

    players: tuple[str, ...]
    games_per_match: int = 2
    challengers: int = 1

    def most_games(self) -> int:
        return self.challengers * (len(self.players) - self.challengers) * self.games_per_match

    def openings_needed(self) -> int:
        return pairs_in(self.games_per_match)

    def next_stage(self, played: Sequence[Played]) -> Stage | None:
        if played:
            return None
        matches = []
        for place, opponent in enumerate(self.players[self.challengers :]):
            for number, challenger in enumerate(self.players[: self.challengers]):
                first, second = (opponent, challenger) if (place + number) % 2 else (challenger, opponent)
                matches.append(Match(1, first, second, self.games_per_match))
        return Stage(tuple(matches))
