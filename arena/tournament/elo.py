"""What a series of games between two players says about their difference.

Counts come in two kinds: `Trinomial` (games taken one by one) and `Pentanomial` (pairs of games from one opening
with colours swapped, the right one wherever games come in pairs: the two games of a pair are not independent).
Both are distributions of a score between 0 and 1, and every formula here is one of those. Sources: for Elo and
normalised Elo with their errors, M. Van den Bergh, "Comments on normalized Elo" (2020); the figures agree with
those of fastchess and fishtest.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist

from arena.tournament.results import GameResult

LOGIT = 400 / math.log(10)
"""Elo points of one unit of log odds."""

NORMALISED = 800 / math.log(10)
"""Normalised Elo of a score that is one standard deviation of a game off the middle."""

CONFIDENCE = 0.95


def score_to_elo(score: float) -> float:
    """Elo difference at which `score`, between 0 and 1, is expected: 190.85 for 0.75. Infinite at 0 and 1."""
    if not 0 <= score <= 1:
        raise ValueError(f"a score is between 0 and 1, not {score!r}")
    if score in (0.0, 1.0):
        return math.copysign(math.inf, score - 0.5)
    return LOGIT * math.log(score / (1 - score))


def elo_to_score(elo: float) -> float:
    """Score that a player expects who is `elo` points better."""
    return 1 / (1 + 10 ** (-elo / 400))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A difference with its 95 % interval. None stands for infinite: a player who won everything has no `value`
    and no `high`, only a `low` that holds with 95 % confidence."""

    value: float | None
    low: float | None
    high: float | None

    @property
    def error(self) -> float | None:
        """Half the width of the interval; None if it is open at an end."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def is_definition(self) -> bool:
        """Whether it is no finding: what the others are relative to."""
        return self.value is not None and self.low is None and self.high is None

    def __str__(self) -> str:
        if self.value is None:
            return _one_sided(self.low, self.high)
        if self.error is not None:
            return f"{_signed(self.value)} ± {self.error:.1f}"
        if self.is_definition:
            return _signed(self.value)
        return f"{_signed(self.value)} ({_one_sided(self.low, self.high)})"


def _one_sided(low: float | None, high: float | None) -> str:
    if low is not None:
        return f"at least {_signed(low)}"
    return "unknown" if high is None else f"at most {_signed(high)}"


def _signed(elo: float) -> str:
    """One place, with a sign; a zero has none."""
    return f"{elo:+.1f}" if round(elo, 1) else "0.0"


class Counts(ABC):
    """How often each score was reached: a distribution over equally spaced scores from 0 to 1."""

    games_per_unit: int

    @property
    @abstractmethod
    def counts(self) -> tuple[int, ...]:
        """Number of units (games or pairs) at each score, from the lowest score to the highest."""

    @property
    def units(self) -> int:
        return sum(self.counts)

    @property
    def scores(self) -> tuple[float, ...]:
        last = len(self.counts) - 1
        return tuple(place / last for place in range(last + 1))

    @property
    def score(self) -> float:
        """Mean score. Raises ValueError without games."""
        if not self.units:
            raise ValueError("there is no score without games")
        return sum(n * score for n, score in zip(self.counts, self.scores, strict=True)) / self.units

    @property
    def variance(self) -> float:
        """Variance of one unit's score about the mean."""
        mean = self.score
        return sum(n * (score - mean) ** 2 for n, score in zip(self.counts, self.scores, strict=True)) / self.units

    @property
    def elo(self) -> Estimate:
        """Elo difference."""
        score, (low, high) = self.score, self._interval()
        value = score_to_elo(score)
        return Estimate(
            value if math.isfinite(value) else None,
            score_to_elo(low) if low > 0 else None,
            score_to_elo(high) if high < 1 else None,
        )

    @property
    def normalised_elo(self) -> Estimate:
        """Elo difference in units of the games' own spread, which makes results of different draw rates and
        openings comparable. Without any spread there is none: all three figures are None."""
        spread = math.sqrt(self.games_per_unit * self.variance)
        if spread < 1e-9:
            return Estimate(None, None, None)
        error = _z() * math.sqrt(self.variance / self.units)
        value, low, high = (
            (at - 0.5) / spread * NORMALISED for at in (self.score, self.score - error, self.score + error)
        )
        return Estimate(value, low, high)

    @property
    def los(self) -> float:
        """Likelihood of superiority: the probability that the first player is the better one, between 0 and 1.

        Where all units have one score there is no spread to go by; then it is that of a coin after as many heads
        as there are units, with a uniform prior.
        """
        off = self.score - 0.5
        if self.variance > 0:
            return NormalDist().cdf(off / math.sqrt(self.variance / self.units))
        surprise = 0.5 ** (self.units + 1)
        return 0.5 if off == 0 else 1 - surprise if off > 0 else surprise

    def _interval(self) -> tuple[float, float]:
        """95 % interval of the mean score; an end at or beyond 0 or 1 is cut to it.

        By the normal approximation, as every match tool has it. Where all units have one score that has no width,
        and the interval is exact instead: another score is at most so likely that units without it are no
        surprise (as Clopper and Pearson have it), and is then at worst a 0 or a 1.
        """
        mean = self.score
        if self.variance > 0:
            error = _z() * math.sqrt(self.variance / self.units)
            return max(0.0, mean - error), min(1.0, mean + error)
        doubt = 1 - CONFIDENCE if mean in (0.0, 1.0) else (1 - CONFIDENCE) / 2
        other = 1 - doubt ** (1 / self.units)
        return mean - other * mean, mean + other * (1 - mean)


def _z() -> float:
    return NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


@dataclass(frozen=True, slots=True)
class Trinomial(Counts):
    """Games of the first player."""

    wins: int
    losses: int
    draws: int

    games_per_unit = 1

    @property
    def counts(self) -> tuple[int, ...]:
        return self.losses, self.draws, self.wins


@dataclass(frozen=True, slots=True)
class Pentanomial(Counts):
    """Pairs of the first player, by what it scored in the two games: `ld` is a loss and a draw."""

    ll: int = 0
    ld: int = 0
    wl: int = 0
    dd: int = 0
    wd: int = 0
    ww: int = 0

    games_per_unit = 2

    @property
    def counts(self) -> tuple[int, ...]:
        return self.ll, self.ld, self.wl + self.dd, self.wd, self.ww


@dataclass(frozen=True, slots=True)
class HeadToHead:
    """Two players' games against each other, all of them and the complete pairs. `unpaired` games are in
    `games` only."""

    games: Trinomial
    pairs: Pentanomial
    unpaired: int

    @property
    def best(self) -> Counts:
        """The counts to judge by: the pairs, unless some games have no twin."""
        return self.games if self.unpaired else self.pairs


def head_to_head(games: Iterable[GameResult], first: str, second: str) -> HeadToHead:
    """Counts of `first` over its games against `second`; other games are ignored."""
    own = [game for game in games if {game.white, game.black} == {first, second}]
    scores = Counter(game.score_of(first) for game in own)
    members: defaultdict[int, list[float]] = defaultdict(list)
    for game in own:
        if game.pair is not None:
            members[game.pair].append(game.score_of(first))
    kinds = Counter(_PAIRS[min(pair), max(pair)] for pair in members.values() if len(pair) == 2)
    return HeadToHead(
        Trinomial(wins=scores[1.0], losses=scores[0.0], draws=scores[0.5]),
        Pentanomial(**kinds),
        len(own) - 2 * kinds.total(),
    )


_PAIRS = {
    (0.0, 0.0): "ll",
    (0.0, 0.5): "ld",
    (0.0, 1.0): "wl",
    (0.5, 0.5): "dd",
    (0.5, 1.0): "wd",
    (1.0, 1.0): "ww",
}
"""The lower and the higher score of a pair, and what it is called."""
