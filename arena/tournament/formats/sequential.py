"""Two players until a sequential test has decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from arena.tournament.elo import Pentanomial
from arena.tournament.formats.base import Format, Match, Played, Score, Stage
from arena.tournament.sprt import Sprt, Verdict


@dataclass(frozen=True, slots=True)
class Sequential(Format):
    """Pairs of games between two players, until `test` accepts a hypothesis or `max_pairs` are played.

    A stage is a `batch` of pairs, so that many can be played at the same time. The test still looks after every
    single pair, in their order: those that a batch holds beyond the decision are played and not counted. The
    openings are used one after the other, and again from the start when the list ends.
    """

    players: tuple[str, str]
    test: Sprt
    max_pairs: int
    batch: int = 16

    def most_games(self) -> int:
        return 2 * self.max_pairs

    def openings_needed(self) -> int:
        return 1

    def next_stage(self, played: Sequence[Played]) -> Stage | None:
        begun = sum(len(done.stage.matches) for done in played)
        size = min(self.batch, self.max_pairs - begun)
        if size <= 0 or self.verdict(played)[0] is not None:
            return None
        first, second = self.players
        return Stage(tuple(Match(len(played) + 1, first, second, 2, begun + pair) for pair in range(size)))

    def verdict(self, played: Sequence[Played]) -> tuple[Verdict | None, Pentanomial]:
        """What the test accepted, if anything, and the first player's pairs that it saw until then."""
        # Had an earlier stage brought the decision, there would be no later one.
        seen = Counter(_kind(score) for done in played[:-1] for score in done.scores if score.games == 2)
        for score in played[-1].scores if played else ():
            if score.games == 2:
                seen[_kind(score)] += 1
                if verdict := self.test.verdict(Pentanomial(**seen)):
                    return verdict, Pentanomial(**seen)
        return None, Pentanomial(**seen)


def _kind(pair: Score) -> str:
    """What the pair counts as; the test does not tell a win and a loss from two draws."""
    return ("ll", "ld", "wl", "wd", "ww")[int(2 * pair.first)]
