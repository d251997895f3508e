"""The sequential test. The vectors are those of fastchess's own tests."""

import math
import random

import pytest

from arena.tournament.elo import Pentanomial, Trinomial
from arena.tournament.sprt import Sprt


@pytest.mark.parametrize(
    ("model", "elo0", "elo1", "counts", "llr"),
    [
        ("normalised", 0, 2, Trinomial(36433, 36027, 68692), 0.92),
        ("normalised", -1.75, 0.25, Trinomial(10871, 10650, 20431), 2.30),
        ("normalised", 0, 10, Trinomial(4250, 0, 0), 120.56),
        ("logistic", 0.5, 2.5, Trinomial(21404, 21184, 40708), -1.57),
        ("logistic", 0, 2, Trinomial(57433, 57030, 106593), -2.59),
        ("normalised", 0, 2, Pentanomial(365, 16618, 36029, 200, 16974, 390), 2.25),
        ("normalised", -1.75, 0.25, Pentanomial(127, 4883, 10311, 401, 5150, 104), 3.01),
        ("normalised", 0, 5, Pentanomial(ww=5550), 111.82),
        ("logistic", 0.5, 2.5, Pentanomial(223, 9863, 20279, 1000, 10037, 246), -3.07),
        ("logistic", 0, 2, Pentanomial(871, 26175, 55003, 980, 26678, 821), -4.98),
    ],
)
def test_published_vectors(model, elo0, elo1, counts, llr):
    assert Sprt(elo0, elo1, model=model).llr(counts) == pytest.approx(llr, abs=0.006, rel=3e-4)


def test_bounds_of_five_per_cent():
    assert Sprt(0, 5).bounds == pytest.approx((-2.944, 2.944), abs=1e-3)


def test_nothing_is_accepted_without_games():
    assert Sprt(0, 5).llr(Trinomial(0, 0, 0)) == 0
    assert Sprt(0, 5).verdict(Trinomial(0, 0, 0)) is None


@pytest.mark.parametrize("model", ["normalised", "logistic"])
@pytest.mark.parametrize("counts", [Pentanomial(ww=1), Pentanomial(ll=1), Pentanomial(wl=1), Trinomial(3, 0, 1)])
def test_few_games_have_a_finite_ratio(model, counts):
    assert math.isfinite(Sprt(-200, 200, model=model).llr(counts))
    assert math.isfinite(Sprt(199, 200, model=model).llr(counts))


@pytest.mark.parametrize("model", ["normalised", "logistic"])
def test_clear_results_are_accepted_on_their_side(model):
    test = Sprt(0, 50, model=model)
    assert test.verdict(Pentanomial(1, 5, 20, 10, 40, 60)) == "H1"
    assert test.verdict(Pentanomial(60, 40, 20, 10, 5, 1)) == "H0"
    assert test.verdict(Pentanomial(1, 1, 1, 1, 1, 1)) is None


@pytest.mark.parametrize(("strength", "wrong"), [(0.5, "H1"), (0.565, "H0")])
def test_error_rates_are_about_those_asked_for(strength, wrong):
    # Trinomial games without draws: the score 0.565 is 45.4 logistic Elo.
    test, rng, verdicts = Sprt(0, 45.4, alpha=0.1, beta=0.1, model="logistic"), random.Random(7), []
    for _ in range(80):
        wins = losses = 0
        while (verdict := test.verdict(Trinomial(wins, losses, 0))) is None:
            new = sum(rng.random() < strength for _ in range(20))
            wins, losses = wins + new, losses + 20 - new
        verdicts.append(verdict)
    assert 0 < verdicts.count(wrong) / len(verdicts) < 0.18


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"elo0": 5, "elo1": 5}, "elo0 5 must be less than elo1 5"),
        ({"elo0": 0, "elo1": 5, "alpha": 0.5}, "alpha 0.5 must be between 0 and 0.5"),
        ({"elo0": 0, "elo1": 5, "beta": 0}, "beta 0 must be"),
        ({"elo0": 0, "elo1": 300}, "elo1 300 must be between -200 and 200 in normalised Elo"),
        ({"elo0": -5000, "elo1": 0, "model": "logistic"}, "elo0 -5000 must be between -2000 and 2000 in logistic Elo"),
    ],
)
def test_bounds_that_make_no_test_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        Sprt(**fields)
