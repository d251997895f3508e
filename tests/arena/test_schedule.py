"""Pairings, colours, seeds and names of a schedule."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.seeds import derive_seed
from arena.schedule import certain_repeats, circle_round, make_schedule, unique_names

even = st.integers(1, 12).map(lambda half: 2 * half)


def schedule(agents, games, seed=1, **fields):
    names = [f"a{number}" for number in range(agents)]
    return make_schedule(names, games, **{"seed": seed, "rule_policies": {"chess": "r"}, "max_plies": 9, **fields})


@given(even)
def test_in_one_cycle_everyone_meets_everyone_once(seats):
    met = Counter(frozenset(pairing) for number in range(seats - 1) for pairing in circle_round(seats, number))
    assert set(met.values()) == {1}
    assert len(met) == seats * (seats - 1) // 2


@given(even, st.integers(0, 100))
def test_in_a_round_everyone_plays_once(seats, number):
    assert sorted(seat for pairing in circle_round(seats, number) for seat in pairing) == list(range(seats))


@pytest.mark.parametrize("seats", [0, 1, 3])
def test_an_odd_number_of_seats_is_refused(seats):
    with pytest.raises(ValueError, match=str(seats)):
        circle_round(seats, 0)


def test_the_first_two_rounds_are_one_pairing_with_both_colours():
    games = schedule(4, 4)
    assert [(game.white, game.black, game.pair) for game in games] == [
        ("a0", "a3", 0),
        ("a1", "a2", 1),
        ("a3", "a0", 0),
        ("a2", "a1", 1),
    ]


@given(even, st.integers(1, 200))
def test_a_pair_is_two_games_with_colours_swapped_and_other_games_have_none(agents, count):
    pairs: dict[int, list] = {}
    for game in schedule(agents, count):
        if game.pair is not None:
            pairs.setdefault(game.pair, []).append(game)
    for first, second in pairs.values():
        assert (first.white, first.black) == (second.black, second.white)


@given(even, st.integers(1, 10))
def test_in_whole_pairs_of_rounds_everyone_has_both_colours_equally_often(agents, double_rounds):
    games = schedule(agents, agents * double_rounds)
    assert Counter(game.white for game in games) == Counter(game.black for game in games)
    assert all(game.pair is not None for game in games)


def test_one_round_alone_has_no_pairs():
    assert [game.pair for game in schedule(16, 8)] == [None] * 8


@given(even, st.integers(1, 60), st.integers(1, 60))
def test_more_games_only_lengthen_the_schedule(agents, count, more):
    def played(games):
        return [(game.index, game.white, game.black, game.seed) for game in games]

    assert played(schedule(agents, count + more))[:count] == played(schedule(agents, count))


def test_each_game_has_its_own_seed_from_the_runs():
    games = schedule(4, 6, seed=7)
    assert [game.seed for game in games] == [derive_seed(7, "game", index) for index in range(6)]
    assert len({game.seed for game in games}) == 6
    assert {game.seed for game in games}.isdisjoint(game.seed for game in schedule(4, 6, seed=8))


def test_names_of_one_kind_are_numbered():
    assert unique_names(["llm", "random", "llm"], numbered=[True] * 3) == ("llm-1", "random-1", "llm-2")


def test_a_chosen_name_gets_a_number_only_when_it_is_wanted_twice():
    assert unique_names(["Sharp", "Dice", "Sharp"], numbered=[False] * 3) == ("Sharp-1", "Dice", "Sharp-2")


def test_numbers_avoid_names_that_were_chosen():
    assert unique_names(["llm", "llm-1", "llm"], numbered=[True, False, True]) == ("llm-2", "llm-1", "llm-3")


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "a-1", "a-2", "a-1-1", "b-1"]), st.booleans()), min_size=1))
def test_names_are_always_unique(wanted):
    names = unique_names([name for name, _ in wanted], numbered=[number for _, number in wanted])
    assert len(set(names)) == len(wanted)


def test_games_between_equal_determined_agents_repeat():
    games = schedule(4, 4)
    greedy = {"temperature": 0}
    assert certain_repeats(games, dict.fromkeys(("a0", "a1", "a2", "a3"), greedy)) == 3


def test_different_settings_or_colours_or_chance_do_not_repeat():
    games = schedule(2, 2)
    assert certain_repeats(games, {"a0": {"temperature": 0}, "a1": {"temperature": 0, "prompt": "x"}}) == 0
    assert certain_repeats(games, {"a0": None, "a1": {"temperature": 0}}) == 0
