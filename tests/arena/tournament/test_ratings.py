import math
from itertools import pairwise

import numpy as np
import pytest

from arena.tournament.bradley_terry import fit
from arena.tournament.elo import elo_to_score
from arena.tournament.ratings import Anchor, rate
from arena.tournament.results import Decision, GameResult, clusters, select


def table(pool):
    return {rating.player: rating.elo for rating in pool.ratings}


def chain(series):
    """Three players, each of whom scores 75 % against the next."""
    return series("a", "b", 21, 3, 6) + series("b", "c", 21, 3, 6)


def test_a_chain_of_75_per_cent_is_191_elo_a_step(series):
    (pool,) = rate("abc", chain(series))
    assert pool.players == ("a", "b", "c")
    assert [rating.elo.value for rating in pool.ratings] == pytest.approx([190.85, 0, -190.85], abs=0.01)
    assert all(rating.elo.low < rating.elo.value < rating.elo.high for rating in pool.ratings)


def test_order_of_games_and_colours_do_not_matter(series):
    games = chain(series)
    swapped = [GameResult(game.black, game.white, 1 - game.score) for game in reversed(games)]
    values = [[rating.elo.value for rating in rate("abc", some)[0].ratings] for some in (games, swapped)]
    assert values[0] == pytest.approx(values[1])


def test_the_anchor_has_its_stated_value_and_no_interval(series):
    (pool,) = rate("abc", chain(series), Anchor("c", 1500))
    rated = table(pool)
    assert pool.anchor == Anchor("c", 1500)
    assert (rated["c"].value, rated["c"].low, rated["c"].high) == (1500, None, None)
    assert rated["b"].value == pytest.approx(1690.85, abs=0.01)
    assert rated["a"].value == pytest.approx(1881.7, abs=0.01)
    # The error is that of the difference to the anchor, so it grows along the chain.
    assert rated["a"].error > rated["b"].error
    assert [rating.player for rating in pool.ratings if rating.fixed] == ["c"]


def test_an_unknown_anchor_is_named(series):
    with pytest.raises(ValueError, match="anchor 'z' is not one of the players: a, b, c"):
        rate("abc", chain(series), Anchor("z"))


def test_a_player_who_won_everything_has_a_lower_bound(series):
    games = chain(series) + series("king", "a", wins=10)
    (pool,) = rate(["a", "b", "c", "king"], games)
    king, a = table(pool)["king"], table(pool)["a"]
    assert pool.players[0] == "king"
    assert (king.value, king.high) == (None, None)
    assert elo_to_score(king.low - a.value) ** 10 == pytest.approx(0.05)
    assert str(king).startswith("at least +")


def test_a_player_who_lost_everything_has_an_upper_bound_and_moves_nobody(series):
    games = chain(series)
    (alone,), (pool,) = rate("abc", games), rate("abcd", games + series("b", "d", wins=10))
    assert (table(pool)["d"].value, table(pool)["d"].low) == (None, None)
    assert table(pool)["d"].high < table(pool)["b"].value
    assert table(pool)["a"].value == pytest.approx(table(alone)["a"].value)


def test_pairs_bound_a_sweep_less_than_single_games(series, pairs):
    base = chain(series)
    single = rate("abcd", base + series("d", "a", wins=8))[0]
    paired = rate("abcd", base + pairs("d", "a", *[(1, 1)] * 4))[0]
    assert table(paired)["d"].low < table(single)["d"].low


def test_bounds_reach_over_a_player_in_between(series):
    games = chain(series) + series("x", "a", wins=6) + series("y", "x", wins=6)
    rated = table(rate("abcxy", games)[0])
    assert rated["y"].low > rated["x"].low > rated["a"].value


def test_a_group_that_swept_the_rest_is_bounded_together(series):
    games = chain(series) + series("x", "y", 6, 0, 2) + series("x", "a", wins=8) + series("y", "b", wins=8)
    rated = table(rate("abcxy", games)[0])
    assert rated["x"].value is None
    assert rated["x"].low - rated["y"].low == pytest.approx(190.85, abs=0.01)


def test_players_without_order_between_them_are_unknown_to_each_other(series):
    # a and b are the core; c beat both, and d too, which nobody else met.
    games = series("a", "b", 5, 0, 5) + series("c", "a", wins=5) + series("c", "d", wins=5)
    rated = table(rate("abcd", games)[0])
    assert str(rated["d"]) == "unknown"


def test_an_anchor_that_lost_everything_cannot_carry_the_scale(series):
    (pool,) = rate("abcd", chain(series) + series("c", "d", wins=5), Anchor("d", 1000))
    assert pool.anchor is None
    assert sum(rating.elo.value for rating in pool.ratings if rating.elo.value is not None) == pytest.approx(0)


def test_pools_that_never_met_are_rated_apart(series):
    games = chain(series) + series("x", "y", 3, 2, 1)
    first, second, third = rate(["x", "a", "b", "c", "y", "idle"], games)
    assert set(first.players) == {"a", "b", "c"}
    assert second.players == ("x", "y")
    assert third.players == ("idle",)
    assert str(table(third)["idle"]) == "unknown"


def test_a_match_won_without_loss_pins_the_scale_to_one_of_the_two(series):
    (pool,) = rate("ab", series("a", "b", wins=10))
    assert [str(rating.elo) for rating in pool.ratings] == ["0.0", "at most -182.7"]


def test_players_who_only_drew_are_not_shown_equal(series):
    few, many = (table(rate("ab", series("a", "b", draws=count))[0])["a"] for count in (4, 40))
    assert few.value == many.value == pytest.approx(0)
    assert few.error > 5 * many.error > 5


def test_pairs_of_a_lopsided_opening_are_narrower_than_loose_games(series, pairs):
    paired = rate("ab", pairs("a", "b", *[(1, 0)] * 20, (1, 1), (0, 0)))[0]
    loose = rate("ab", series("a", "b", wins=22, losses=22))[0]
    assert table(paired)["a"].error < table(loose)["a"].error * 0.6


def test_forfeits_and_duplicates_change_the_table_only_where_they_are_counted(series):
    games = [
        *series("a", "b", 5, 2, 5),
        *series("b", "a", 3, decision=Decision.FORFEIT),
        *series("a", "b", 3, duplicate=True),
    ]
    values = {
        (duplicates, forfeits): table(rate("ab", select(games, duplicates=duplicates, forfeits=forfeits))[0])["a"].value
        for duplicates in (True, False)
        for forfeits in (True, False)
    }
    assert values[True, True] == values[False, False] == pytest.approx(0)
    assert values[True, False] > 20
    assert values[False, True] < -20


def test_games_of_strangers_are_refused(series):
    with pytest.raises(ValueError, match="games of z, who are not among the players"):
        rate("ab", series("a", "z", wins=1))


def test_a_fit_without_finite_strengths_is_refused(series):
    with pytest.raises(ValueError, match="no finite strengths"):
        fit("ab", clusters(series("a", "b", wins=5)))


@pytest.mark.timeout(120)
def test_intervals_cover_the_truth_as_often_as_they_claim():
    """500 tournaments of four players of known strength, whose openings favour one colour, pairs sharing theirs."""
    rng = np.random.default_rng(20)
    players = "abcd"
    seats = [(one, other) for one in range(4) for other in range(one)] * 5
    covered = []
    for _ in range(500):
        truth = rng.normal(0, 100, 4)
        gaps = np.array([truth[one] - truth[other] for one, other in seats])
        bias = rng.normal(0, 60, len(seats))
        games = []
        for turn, sign in enumerate((1, -1)):
            score = 1 / (1 + 10 ** (-(gaps + sign * bias) / 400))  # of the first, who has White in the first game
            drawn = 0.6 * np.minimum(score, 1 - score)
            luck = rng.random(len(seats))
            points = np.where(luck < score - drawn / 2, 1.0, np.where(luck < score + drawn / 2, 0.5, 0.0))
            for pair, (one, other) in enumerate(seats):
                names = players[one], players[other]
                games.append(
                    GameResult(*names, points[pair], pair)
                    if turn == 0
                    else GameResult(*names[::-1], 1 - points[pair], pair)
                )
        (pool,) = rate(players, games)
        mean = truth.mean()
        for player, elo in table(pool).items():
            if elo.low is not None and elo.high is not None:
                covered.append(elo.low <= truth[players.index(player)] - mean <= elo.high)
    assert len(covered) > 1990
    assert 0.93 < np.mean(covered) < 0.97


def test_sixty_players_far_apart_are_rated(series):
    players = [f"p{number}" for number in range(60)]
    games = [game for one, other in pairwise(players) for game in series(one, other, 30, 0, 2)]
    (pool,) = rate(players, games)
    step = 400 * math.log10(15)
    values = [rating.elo.value for rating in pool.ratings]
    assert np.diff(values) == pytest.approx(np.full(59, -step), rel=1e-3)
