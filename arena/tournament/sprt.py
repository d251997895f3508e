"""Sequential test of two hypotheses on the difference between two players: stop as soon as one is clear.

The generalised sequential probability ratio test (GSPRT): the log-likelihood ratio compares the most likely
distributions of scores under the two hypotheses. Sources: M. Van den Bergh, "Comparing the approximations for the
generalized log likelihood ratio of a multinomial distribution" (equations 1.2 and 1.3, logistic Elo) and "Comments
on normalized Elo" (section 4.1, normalised Elo). The figures agree with those of fastchess and fishtest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from arena.tournament.elo import NORMALISED, Counts, elo_to_score

UNSEEN = 1e-3
"""What a score counts as that never occurred: its logarithm must exist."""

LIMITS = {"normalised": 200.0, "logistic": 2000.0}
"""Beyond these bounds the computation breaks down; differences as large need no sequential test."""

Verdict = Literal["H0", "H1"]
Distribution = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Sprt:
    """H0: the difference is `elo0`; H1: it is `elo1`, which is greater. `alpha` is the probability to accept H1
    when H0 holds, `beta` that to accept H0 when H1 holds. Raises ValueError for bounds that make no test."""

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05
    model: Literal["normalised", "logistic"] = "normalised"

    def __post_init__(self) -> None:
        if not self.elo0 < self.elo1:
            raise ValueError(f"elo0 {self.elo0:g} must be less than elo1 {self.elo1:g}")
        limit = LIMITS[self.model]
        for name, elo in (("elo0", self.elo0), ("elo1", self.elo1)):
            if abs(elo) > limit:
                raise ValueError(f"{name} {elo:g} must be between {-limit:g} and {limit:g} in {self.model} Elo")
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < value < 0.5:
                raise ValueError(f"{name} {value:g} must be between 0 and 0.5")

    @property
    def bounds(self) -> tuple[float, float]:
        """The log-likelihood ratio below which H0 is accepted, and that above which H1 is (Wald)."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def llr(self, counts: Counts) -> float:
        """Log-likelihood ratio of H1 to H0; 0 without games."""
        if not counts.units:
            return 0.0
        weights = [n or UNSEEN for n in counts.counts]
        total = sum(weights)
        seen = tuple(weight / total for weight in weights)
        if self.model == "logistic":
            under = [_closest_with_mean(seen, counts.scores, elo_to_score(elo)) for elo in (self.elo0, self.elo1)]
        else:
            unit = math.sqrt(counts.games_per_unit) / NORMALISED
            under = [_closest_with_ratio(seen, counts.scores, elo * unit) for elo in (self.elo0, self.elo1)]
        h0, h1 = under
        return total * sum(p * math.log(p1 / p0) for p, p0, p1 in zip(seen, h0, h1, strict=True))

    def verdict(self, counts: Counts) -> Verdict | None:
        """The hypothesis that is accepted, or None: play on."""
        lower, upper = self.bounds
        llr = self.llr(counts)
        return "H1" if llr >= upper else "H0" if llr <= lower else None


def _closest_with_mean(seen: Distribution, scores: Sequence[float], mean: float) -> Distribution:
    """The most likely distribution among those whose mean score is `mean`, given the frequencies `seen`."""
    return _tilted(seen, [score - mean for score in scores])


def _closest_with_ratio(seen: Distribution, scores: Sequence[float], ratio: float) -> Distribution:
    """The most likely distribution among those whose mean is `ratio` standard deviations above 0.5.

    The constraint is linearised about the last answer, from the uniform distribution on; it settles in a few
    rounds, and ten are the limit in fishtest too.
    """
    guess: Distribution = tuple(1 / len(scores) for _ in scores)
    for _ in range(10):
        mean = sum(p * score for p, score in zip(guess, scores, strict=True))
        sigma = math.sqrt(sum(p * (score - mean) ** 2 for p, score in zip(guess, scores, strict=True)))
        slopes = [score - 0.5 - ratio * sigma * (1 + ((score - mean) / sigma) ** 2) / 2 for score in scores]
        last, guess = guess, _tilted(seen, slopes)
        if max(abs(a - b) for a, b in zip(last, guess, strict=True)) < 1e-4:
            break
    return guess


def _tilted(seen: Distribution, slopes: Sequence[float]) -> Distribution:
    """`seen` bent as little as makes the mean of `slopes` 0: each p becomes p / (1 + theta * slope)."""
    theta = _root(
        lambda x: sum(p * slope / (1 + x * slope) for p, slope in zip(seen, slopes, strict=True)),
        -1 / max(slopes),
        -1 / min(slopes),
    )
    return tuple(p / (1 + theta * slope) for p, slope in zip(seen, slopes, strict=True))


def _root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function crosses 0 between `low` and `high`, neither of which it is asked at."""
    for _ in range(50):  # halvings: to 1e-15 of the width
        middle = (low + high) / 2
        if falling(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2
