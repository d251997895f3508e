"""Small tournaments to test against."""

from __future__ import annotations

import pytest

from arena.tournament.formats.base import make_schedule
from arena.tournament.results import GameResult


def _series(first, second, wins=0, draws=0, losses=0, **fields):
    scores = [1.0] * wins + [0.5] * draws + [0.0] * losses
    return [GameResult(first, second, score, **fields) for score in scores]


def _pairs(first, second, *scores, start=0):
    """Pairs of games; each of `scores` is the first player's two points, such as (1, 0.5)."""
    games = []
    for number, (one, two) in enumerate(scores, start=start):
        games += [GameResult(first, second, one, number), GameResult(second, first, 1 - two, number)]
    return games


def _play(tournament, score_of, openings=10, seed=1):
    """The finished schedule of a tournament in which game `index` scores `score_of(index)`, and its results."""
    results = {}
    while not (schedule := make_schedule(tournament, results, openings=range(openings), seed=seed)).finished:
        results.update({game.index: score_of(game.index) for game in schedule.games if game.index not in results})
    return schedule, results


@pytest.fixture
def series():
    return _series


@pytest.fixture
def pairs():
    return _pairs


@pytest.fixture(scope="session")
def play():
    return _play
