"""Who loses a match is out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arena.tournament.formats.base import Bye, Format, Match, Played, Stage, pairs_in


def bracket(players: Sequence[str]) -> tuple[str | None, ...]:
    """The first round, neighbours meeting each other: 1 - 8, 4 - 5, 2 - 7, 3 - 6 of eight seeds.

    The better half can only meet each other in later rounds. Where the players are no power of two, the best seeds
    meet nobody (None) in the first round.
    """
    order = [1]
    while len(order) < len(players):
        order = [seed for above in order for seed in (above, 2 * len(order) + 1 - above)]
    return tuple(players[seed - 1] if seed <= len(players) else None for seed in order)


@dataclass(frozen=True, slots=True)
class Knockout(Format):
    """Matches of `games_per_match` games, an even number.

    A tied match goes on with up to `tiebreak_pairs` more pairs, each from a new opening, until one of them has
    decided it; if none has, the better seed goes on. A stage is a round, or one more pair for all tied matches.
    """

    players: tuple[str, ...]
    games_per_match: int = 2
    tiebreak_pairs: int = 2

    def most_games(self) -> int:
        return (len(self.players) - 1) * (self.games_per_match + 2 * self.tiebreak_pairs)

    def openings_needed(self) -> int:
        return pairs_in(self.games_per_match) + self.tiebreak_pairs

    def next_stage(self, played: Sequence[Played]) -> Stage | None:
        return self._walk(played)[0]

    def standing(self, played: Sequence[Played]) -> tuple[str, ...]:
        """Who is still in, in the order of the bracket: the winner alone when it is over."""
        return self._walk(played)[1]

    def _walk(self, played: Sequence[Played]) -> tuple[Stage | None, tuple[str, ...]]:
        """The next stage, and who is still in before it."""
        left = iter(played)
        alive = bracket(self.players)
        number, before = 1, 0  # the round, and the matches of earlier rounds
        while len(alive) > 1:
            couples = list(zip(alive[::2], alive[1::2], strict=True))
            meetings = [(first, second) for first, second in couples if first and second]
            leads = [0.0] * len(meetings)
            for extra in range(self.tiebreak_pairs + 1):
                tied = [place for place, lead in enumerate(leads) if lead == 0]
                if not tied:
                    break
                done = next(left, None)
                if done is None:
                    matches = tuple(self._match(number, before + place, *meetings[place], extra) for place in tied)
                    byes = tuple(Bye(number, name) for couple in couples if None in couple for name in couple if name)
                    return Stage(matches, byes if extra == 0 else ()), tuple(name for name in alive if name)
                for place, score in zip(tied, done.scores, strict=True):
                    leads[place] += score.first - score.second
            winners = iter(
                first if lead >= 0 else second for (first, second), lead in zip(meetings, leads, strict=True)
            )
            alive = tuple(next(winners) if first and second else first or second for first, second in couples)
            number, before = number + 1, before + len(meetings)
        return None, tuple(name for name in alive if name)

    def _match(self, number: int, match: int, one: str, other: str, extra: int) -> Match:
        """Match number `match` of the tournament, or its `extra`-th additional pair. The better seed is `first`."""
        first, second = sorted((one, other), key=self.players.index)
        opening = match * self.openings_needed()
        if extra == 0:
            return Match(number, first, second, self.games_per_match, opening)
        return Match(number, first, second, 2, opening + pairs_in(self.games_per_match) + extra - 1)
