"""Elo, normalised Elo and LOS. The vectors are those of fastchess's own tests."""

import math

import pytest

from arena.tournament.elo import Pentanomial, Trinomial, elo_to_score, head_to_head, score_to_elo


@pytest.mark.parametrize(("score", "elo"), [(0.5, 0), (0.75, 190.85), (0.9, 381.70), (0.25, -190.85)])
def test_elo_of_a_score_and_back(score, elo):
    assert score_to_elo(score) == pytest.approx(elo, abs=0.01)
    assert elo_to_score(score_to_elo(score)) == pytest.approx(score)


def test_a_score_outside_0_and_1_is_refused():
    with pytest.raises(ValueError, match=r"between 0 and 1, not 1\.5"):
        score_to_elo(1.5)


@pytest.mark.parametrize(
    ("counts", "elo", "normalised", "los"),
    [
        (Trinomial(136, 96, 111), (40.70, 30.43), (49.77, 36.77), 0.9960),
        (Trinomial(76, 89, 123), None, (-20.76, 40.13), 0.1553),
        (Trinomial(34, 356, 0), None, (-508.44, 34.48), 0),
        (Pentanomial(34, 54, 31, 32, 64, 75), (55.58, 27.65), (57.94, 28.28), 1),
        (Pentanomial(332, 433, 457, 41, 333, 334), (-8.64, 10.33), (-9.17, 10.96), 0.0505),
        (Pentanomial(7895, 8757, 5485, 200, 568, 9999), (-21.04, 2.95), (-19.01, 2.65), 0),
    ],
)
def test_published_vectors(counts, elo, normalised, los):
    if elo:
        assert (counts.elo.value, counts.elo.error) == pytest.approx(elo, abs=0.01)
    assert (counts.normalised_elo.value, counts.normalised_elo.error) == pytest.approx(normalised, abs=0.01)
    assert counts.los == pytest.approx(los, abs=1e-4)


def test_nearly_all_wins_have_no_upper_bound_and_all_wins_no_value():
    nearly, all_wins = Trinomial(18, 1, 1).elo, Trinomial(10, 0, 0).elo
    assert (nearly.value, nearly.high, nearly.error) == (pytest.approx(436.43, abs=0.01), None, None)
    assert str(nearly) == "+436.4 (at least +264.0)"
    assert (all_wins.value, all_wins.high) == (None, None)
    # At the bound, winning all ten games has a probability of 5 %.
    assert elo_to_score(all_wins.low) ** 10 == pytest.approx(0.05)
    assert str(Trinomial(0, 10, 0).elo) == "at most -182.7"


@pytest.mark.parametrize("counts", [Pentanomial(wd=1), Pentanomial(dd=7), Trinomial(0, 0, 3)])
def test_units_that_all_scored_the_same_are_no_certainty(counts):
    elo = counts.elo
    assert elo.low < elo.value < elo.high
    assert elo.error > 50
    assert counts.normalised_elo.value is None
    assert 0 < counts.los < 1


def test_five_wins_five_losses_ten_draws():
    assert str(Trinomial(5, 5, 10).elo) == "0.0 ± 111.3"


def test_pairs_from_lopsided_openings_say_more_than_their_games():
    # White wins every game: the games look random, the pairs show two equal players.
    games, pairs = Trinomial(50, 50, 0), Pentanomial(wl=48, wd=1, ld=1)
    assert pairs.elo.error < games.elo.error / 5


def test_no_games_have_no_score():
    with pytest.raises(ValueError, match="no score without games"):
        _ = Trinomial(0, 0, 0).elo


def test_head_to_head_counts_pairs_and_the_games_without_a_twin(series, pairs):
    games = [
        *pairs("a", "b", (1, 1), (1, 0), (0.5, 1), (0, 0), (0, 0.5), (0.5, 0.5)),
        *series("b", "a", wins=1),
        *series("a", "c", wins=9),
    ]
    found = head_to_head(games, "a", "b")
    assert found.pairs == Pentanomial(ll=1, ld=1, wl=1, dd=1, wd=1, ww=1)
    assert found.games == Trinomial(wins=4, losses=5, draws=4)
    assert found.unpaired == 1
    assert found.best is found.games
    assert head_to_head(games, "b", "a").pairs.elo.value == pytest.approx(-found.pairs.elo.value)
    assert math.isclose(head_to_head(games[:-10], "a", "b").best.score, 0.5)
