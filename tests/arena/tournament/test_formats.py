"""Schedules: who meets whom how often, with which colours, from which openings, and that an interruption changes
nothing."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.seeds import derive_seed
from arena.tournament.formats.base import make_schedule
from arena.tournament.formats.gauntlet import Gauntlet
from arena.tournament.formats.knockout import Knockout, bracket
from arena.tournament.formats.round_robin import RoundRobin, berger_round
from arena.tournament.formats.sequential import Sequential
from arena.tournament.formats.swiss import Swiss, default_rounds, max_rounds
from arena.tournament.sprt import Sprt

COUNTS = st.integers(2, 9)
GAMES = st.integers(1, 5)
SEEDS = st.integers(0, 2**32)


def names(count):
    return tuple(f"p{number}" for number in range(1, count + 1))


def scores(seed, *, draws=True):
    """Results that follow from the index of a game alone, as those of deterministic players."""
    return lambda index: (derive_seed(seed, index) % 3) / 2 if draws else float(derive_seed(seed, index) % 2)


@st.composite
def formats(draw):
    count, games = draw(COUNTS), draw(GAMES)
    players, even = names(count), 2 * draw(st.integers(1, 2))
    kinds = [
        RoundRobin(players, games, draw(st.integers(1, 2))),
        Gauntlet(players, games, draw(st.integers(1, count - 1))),
        Swiss(players, draw(st.integers(1, max_rounds(count))), even),
        Knockout(players, even, draw(st.integers(0, 2))),
        Sequential(("p1", "p2"), Sprt(0, 150), draw(st.integers(1, 30)), draw(st.integers(1, 6))),
    ]
    return draw(st.sampled_from(kinds))


def meetings(games):
    return Counter(frozenset((game.white, game.black)) for game in games)


@settings(max_examples=40, deadline=None)
@given(formats(), SEEDS, st.randoms(use_true_random=False))
def test_an_interrupted_schedule_equals_the_uninterrupted_one(play, tournament, seed, rng):
    score_of = scores(seed)
    whole, _ = play(tournament, score_of, seed=seed)
    results = {}
    while not (schedule := make_schedule(tournament, results, openings=range(10), seed=seed)).finished:
        assert schedule.games == whole.games[: len(schedule.games)]
        open_games = [game.index for game in schedule.games if game.index not in results]
        for index in rng.sample(open_games, rng.randint(1, len(open_games))):
            results[index] = score_of(index)
    assert schedule == whole


@settings(max_examples=40, deadline=None)
@given(formats(), SEEDS)
def test_every_schedule_is_sound(play, tournament, seed):
    schedule, _ = play(tournament, scores(seed), seed=seed)
    games = schedule.games
    assert [game.index for game in games] == list(range(len(games)))
    assert len(games) <= tournament.most_games()
    assert len({game.seed for game in games}) == len(games)
    assert all(game.white != game.black for game in games)
    pairs = {}
    for game in games:
        if game.pair is not None:
            pairs.setdefault(game.pair, []).append(game)
    assert sorted(pairs) == list(range(len(pairs)))
    for one, other in pairs.values():
        assert (one.white, one.black, one.opening) == (other.black, other.white, other.opening)


@settings(max_examples=40, deadline=None)
@given(formats().filter(lambda one: not isinstance(one, Sequential)), SEEDS, st.integers(0, 5))
def test_no_two_players_meet_twice_from_one_opening(play, tournament, seed, more):
    count = tournament.openings_needed() + more
    schedule, _ = play(tournament, scores(seed), openings=count, seed=seed)
    assert {game.opening for game in schedule.games} <= set(range(count))
    seen = Counter((game.white, game.black, game.opening) for game in schedule.games)
    assert max(seen.values()) == 1


@pytest.mark.parametrize(
    ("seats", "rounds"),
    [
        (4, ["1-4 2-3", "4-3 1-2", "2-4 3-1"]),
        (6, ["1-6 2-5 3-4", "6-4 5-3 1-2", "2-6 3-1 4-5", "6-5 1-4 2-3", "3-6 4-2 5-1"]),
    ],
)
def test_rounds_are_those_of_the_published_berger_tables(seats, rounds):
    found = [" ".join(f"{w + 1}-{b + 1}" for w, b in berger_round(seats, number)) for number in range(seats - 1)]
    assert found == rounds


def test_a_berger_table_needs_an_even_number_of_seats():
    with pytest.raises(ValueError, match="even number of seats of at least 2, not 5"):
        berger_round(5, 0)


@settings(max_examples=40, deadline=None)
@given(COUNTS, GAMES, st.integers(1, 2))
def test_in_a_round_robin_all_meet_equally_often_with_balanced_colours(play, count, games, cycles):
    players = names(count)
    tournament = RoundRobin(players, games, cycles)
    schedule, _ = play(tournament, scores(1))
    assert meetings(schedule.games) == {frozenset(pair): games * cycles for pair in combinations(players, 2)}
    assert len(schedule.games) == tournament.most_games()
    whites, blacks = (Counter(getattr(game, side) for game in schedule.games) for side in ("white", "black"))
    even = games % 2 == 0 or cycles == 2 or count % 2
    assert all(abs(whites[player] - blacks[player]) <= (0 if even else 1) for player in players)
    byes = Counter(bye.player for stage in schedule.played for bye in stage.stage.byes)
    assert byes == (dict.fromkeys(players, cycles) if count % 2 else {})
    for number in {game.round for game in schedule.games}:
        pairs = meetings(game for game in schedule.games if game.round == number)
        assert max(Counter(player for pair in pairs for player in pair).values()) == 1


def test_every_pair_of_a_round_robin_has_its_own_opening_while_the_list_lasts(play):
    schedule, _ = play(RoundRobin(names(5), 4), scores(1), openings=20)
    assert Counter(game.opening for game in schedule.games) == dict.fromkeys(range(20), 2)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 9), GAMES, st.data())
def test_in_a_gauntlet_challengers_meet_all_others_from_the_same_openings(play, count, games, data):
    challengers = data.draw(st.integers(1, count - 1))
    players = names(count)
    schedule, _ = play(Gauntlet(players, games, challengers), scores(1))
    expected = {frozenset((one, other)): games for one in players[:challengers] for other in players[challengers:]}
    assert meetings(schedule.games) == expected
    for pair in expected:
        own = [game.opening for game in schedule.games if {game.white, game.black} == pair]
        assert own == [turn // 2 for turn in range(games)]
    for challenger in players[:challengers]:
        whites = sum(game.white == challenger for game in schedule.games)
        blacks = sum(game.black == challenger for game in schedule.games)
        assert abs(whites - blacks) <= games % 2


@settings(max_examples=80, deadline=None)
@given(st.integers(2, 17), st.data(), SEEDS)
def test_in_a_swiss_nobody_meets_twice_or_sits_out_twice(play, count, data, seed):
    rounds = data.draw(st.integers(1, max_rounds(count)))
    tournament = Swiss(names(count), rounds)
    schedule, _ = play(tournament, scores(seed))
    assert len(schedule.played) == rounds
    assert len(schedule.games) == tournament.most_games()
    assert set(meetings(schedule.games).values()) == {2}
    byes = Counter(bye.player for done in schedule.played for bye in done.stage.byes)
    assert len(byes) == (rounds if count % 2 else 0)
    assert set(byes.values()) <= {1}
    for done in schedule.played:
        busy = [player for match in done.stage.matches for player in (match.first, match.second)]
        assert sorted([*busy, *(bye.player for bye in done.stage.byes)]) == sorted(tournament.players)


def test_a_swiss_pairs_upper_half_with_lower_half_then_winners_with_winners(play):
    # The first of each match wins both games.
    schedule, _ = play(Swiss(names(8), 3), lambda index: float(index % 2 == 0))
    rounds = [[(match.first, match.second) for match in done.stage.matches] for done in schedule.played]
    assert rounds[0] == [("p1", "p5"), ("p2", "p6"), ("p3", "p7"), ("p4", "p8")]
    assert rounds[1] == [("p1", "p3"), ("p2", "p4"), ("p5", "p7"), ("p6", "p8")]
    assert rounds[2][0] == ("p1", "p2")


def test_a_bye_goes_to_the_last_who_had_none_and_counts_as_a_won_match(play):
    schedule, _ = play(Swiss(names(5), 3), lambda index: float(index % 2 == 0))
    assert next(bye.player for done in schedule.played for bye in done.stage.byes) == "p5"
    # With the points of a won match, p5 meets a winner next.
    second = [(match.first, match.second) for match in schedule.played[1].stage.matches]
    assert ("p1", "p2") in second or ("p1", "p5") in second


@pytest.mark.parametrize(
    ("count", "least", "most"), [(2, 1, 1), (3, 2, 2), (6, 3, 3), (7, 3, 4), (16, 4, 8), (99, 7, 16)]
)
def test_rounds_of_a_swiss(count, least, most):
    assert (default_rounds(count), max_rounds(count)) == (least, most)


def test_a_bracket_keeps_the_best_seeds_apart():
    assert bracket("12345678") == ("1", "8", "4", "5", "2", "7", "3", "6")
    assert bracket("123456") == ("1", None, "4", "5", "2", None, "3", "6")


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 13), st.integers(0, 2), SEEDS)
def test_in_a_knockout_one_stays_and_losers_never_play_again(play, count, tiebreaks, seed):
    tournament = Knockout(names(count), 2, tiebreaks)
    schedule, _ = play(tournament, scores(seed))
    (winner,) = tournament.standing(schedule.played)
    matches = meetings(schedule.games)
    assert len(matches) == count - 1
    assert max(matches.values()) <= 2 + 2 * tiebreaks
    last = {player: game.round for game in schedule.games for player in (game.white, game.black)}
    final = max(last.values())
    finalists = {player for player, number in last.items() if number == final}
    assert winner in finalists
    assert len(finalists) == 2


def test_a_tied_match_goes_on_until_decided_and_then_the_better_seed_goes_on(play):
    tournament = Knockout(names(4), 2, tiebreak_pairs=2)
    drawn, _ = play(tournament, lambda index: 0.5)
    assert tournament.standing(drawn.played) == ("p1",)
    assert meetings(drawn.games) == {frozenset(pair): 6 for pair in (("p1", "p4"), ("p2", "p3"), ("p1", "p2"))}
    # p4 (second in the first match) wins its first tie-break pair: games 4 and 5.
    upset, _ = play(tournament, lambda index: {4: 0.0, 5: 1.0}.get(index, 0.5))
    assert meetings(upset.games)[frozenset(("p1", "p4"))] == 4
    assert "p4" in {upset.games[-1].white, upset.games[-1].black}


def test_a_game_that_never_got_a_result_counts_for_neither(play):
    tournament = Knockout(names(2), 2, tiebreak_pairs=0)
    schedule, _ = play(tournament, lambda index: None if index == 0 else 1.0)
    assert schedule.played[0].scores[0].games == 1
    assert tournament.standing(schedule.played) == ("p2",)


def test_a_sequential_match_stops_at_the_decision_and_counts_pair_by_pair(play):
    tournament = Sequential(("a", "b"), Sprt(0, 100), max_pairs=500, batch=7)
    schedule, _ = play(tournament, lambda index: float(index % 2 == 0))  # a wins every game
    verdict, seen = tournament.verdict(schedule.played)
    assert verdict == "H1"
    assert seen.ww == seen.units
    assert tournament.test.verdict(seen) == "H1"
    assert tournament.test.verdict(type(seen)(ww=seen.ww - 1)) is None
    assert len(schedule.games) % 14 == 0
    assert 2 * seen.units <= len(schedule.games) < 2 * seen.units + 14


def test_a_sequential_match_without_decision_ends_at_its_limit(play):
    tournament = Sequential(("a", "b"), Sprt(0, 1), max_pairs=9, batch=4)
    schedule, _ = play(tournament, lambda index: 0.5)
    assert tournament.verdict(schedule.played)[0] is None
    assert len(schedule.games) == tournament.most_games() == 18
    assert [game.opening for game in schedule.games[::2]] == list(range(9))


def test_seeds_differ_between_tournaments_and_not_between_runs(play):
    first, again, other = (play(RoundRobin(names(3)), scores(1), seed=seed)[0] for seed in (1, 1, 2))
    assert first == again
    assert not {game.seed for game in first.games} & {game.seed for game in other.games}
