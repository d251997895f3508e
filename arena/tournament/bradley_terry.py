"""Strengths of many players from all of their games at once (Bradley and Terry, 1952).

A player of strength s expects the score 1 / (1 + exp(t - s)) against one of strength t; a draw is half a win and
half a loss. Strengths are natural log odds, with mean 0; `arena.tournament.elo.LOGIT` makes Elo points of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arena.tournament.pools import reachable, took_points
from arena.tournament.results import Cluster

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

MAX_STEPS = 100


@dataclass(frozen=True, slots=True)
class Fit:
    """Strengths of the `players` in their order, and the covariance of their errors."""

    players: tuple[str, ...]
    strengths: Vector
    covariance: Matrix

    def variance(self, player: int, reference: int | None) -> float:
        """Variance of the error of a strength: relative to the mean, or to that of another player."""
        c = self.covariance
        if reference is None:
            return float(c[player, player])
        return float(c[player, player] + c[reference, reference] - 2 * c[player, reference])


def fit(players: Sequence[str], clusters: Sequence[Cluster]) -> Fit:
    """The strengths that make the `clusters` most likely, and how far they can be off.

    The errors do not trust the model: they are what the scores of the clusters show (the sandwich estimator, with a
    pair as the unit; Huber 1967, Liang and Zeger 1986). To that comes one more game or pair per player of the
    spread that the model expects, for the doubt that few games leave: players who only ever drew have not been
    shown equal. Raises ValueError where no finite strengths fit: each player must have taken something from each
    other one, over however many in between.
    """
    if not reachable(took_points(players, clusters)).all():
        raise ValueError("no finite strengths fit: some players took nothing from all the others")
    seat = {player: number for number, player in enumerate(players)}
    first = np.array([seat[cluster.first] for cluster in clusters], dtype=np.intp)
    second = np.array([seat[cluster.second] for cluster in clusters], dtype=np.intp)
    games = np.array([cluster.games for cluster in clusters], dtype=np.float64)
    points = np.array([cluster.points for cluster in clusters], dtype=np.float64)
    size = len(players)
    strengths = _most_likely(size, first, second, games, points)

    expected = _expected(strengths, first, second)
    spread = expected * (1 - expected)
    met = np.bincount(first, minlength=size) + np.bincount(second, minlength=size)
    seen = (points - games * expected) ** 2
    doubt = games**2 * spread / np.minimum(met[first], met[second])
    bread = _inverse(_laplacian(size, first, second, games * spread))
    meat = _laplacian(size, first, second, seen + doubt)
    return Fit(tuple(players), strengths, bread @ meat @ bread)


def _most_likely(size: int, first: NDArray[np.intp], second: NDArray[np.intp], games: Vector, points: Vector) -> Vector:
    """Newton's method on the log likelihood, which is concave; a step that overshoots is halved."""

    def likelihood(strengths: Vector) -> float:
        gap = strengths[first] - strengths[second]
        return float(np.sum(points * gap - games * np.logaddexp(0, gap)))

    strengths = np.zeros(size)
    for _ in range(MAX_STEPS):
        expected = _expected(strengths, first, second)
        surplus = points - games * expected
        slope = np.bincount(first, surplus, size) - np.bincount(second, surplus, size)
        step = _inverse(_laplacian(size, first, second, games * expected * (1 - expected))) @ slope
        if np.max(np.abs(step)) < 1e-8:
            return strengths
        before = likelihood(strengths)
        while likelihood(strengths + step) < before and np.max(np.abs(step)) > 1e-8:
            step /= 2
        strengths = strengths + step
    raise ArithmeticError(f"the strengths of {size} players did not settle in {MAX_STEPS} steps")


def _expected(strengths: Vector, first: NDArray[np.intp], second: NDArray[np.intp]) -> Vector:
    expected: Vector = 1 / (1 + np.exp(strengths[second] - strengths[first]))
    return expected


def _laplacian(size: int, first: NDArray[np.intp], second: NDArray[np.intp], weights: Vector) -> Matrix:
    """Sum of weight * d d', where d is 1 at the first player and -1 at the second."""
    matrix = np.zeros((size, size))
    np.add.at(matrix, (first, second), -weights)
    np.add.at(matrix, (second, first), -weights)
    matrix[np.diag_indices(size)] = -matrix.sum(axis=1)
    return matrix


def _inverse(laplacian: Matrix) -> Matrix:
    """The inverse on vectors of sum 0: only differences of strengths mean anything."""
    size = len(laplacian)
    even = np.full((size, size), 1 / size)
    # Scaled, so that the constant vector does not drown the others where players are far apart.
    scale = max(float(np.trace(laplacian)) / size, 1e-300)
    inverse: Matrix = np.linalg.inv(laplacian + scale * even) - even / scale
    return inverse
