import pytest

from arena.errors import UsageError
from arena.tournament.formats.gauntlet import Gauntlet
from arena.tournament.formats.knockout import Knockout
from arena.tournament.formats.round_robin import RoundRobin
from arena.tournament.formats.sequential import Sequential
from arena.tournament.formats.swiss import Swiss
from arena.tournament.plan import format_of, make_plan
from arena.tournament.spec import TournamentSpec
from arena.tournament.sprt import Sprt

NAMES = ("a", "b", "c", "d")


def spec_of(count=4, **fields):
    agents = [{"name": name, "spec": "random"} for name in NAMES[:count]]
    return TournamentSpec.model_validate({"name": "test", "format": "round-robin", "agents": agents} | fields)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (spec_of(games_per_pair=3), RoundRobin(NAMES, 3)),
        (spec_of(format="double-round-robin"), RoundRobin(NAMES, 2, cycles=2)),
        (spec_of(format="gauntlet", challengers=2), Gauntlet(NAMES, 2, 2)),
        (spec_of(format="swiss"), Swiss(NAMES, 2, 2)),
        (spec_of(format="knockout", tiebreak_pairs=0), Knockout(NAMES, 2, 0)),
        (
            spec_of(2, format="sprt", sprt={"elo0": 0, "elo1": 9, "max_games": 100, "batch": 20}),
            Sequential(("a", "b"), Sprt(0, 9), 50, 10),
        ),
    ],
)
def test_formats_are_made_as_the_spec_says(spec, expected):
    assert format_of(spec) == expected


def test_a_plan_schedules_openings_in_their_order():
    plan = make_plan(spec_of(openings={"order": "sequential", "start": 5}))
    assert [game.opening for game in plan.schedule({}).games] == [5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10]


def test_a_list_too_short_for_two_agents_is_refused_before_the_first_game():
    with pytest.raises(UsageError, match="16 openings are too few: format round-robin with 34 games per pair takes 17"):
        make_plan(spec_of(game="janggi", games_per_pair=34))
    assert len(make_plan(spec_of(game="janggi", games_per_pair=32)).schedule({}).games) == 6 * 32


def test_the_start_position_alone_is_what_was_asked_for():
    plan = make_plan(spec_of(openings="start", games_per_pair=10))
    assert {game.opening for game in plan.schedule({}).games} == {0}


def test_plans_of_the_same_games_have_the_same_hash():
    assert make_plan(spec_of(concurrency=1)).content_hash == make_plan(spec_of(concurrency=2)).content_hash
    assert make_plan(spec_of(openings="start")).content_hash != make_plan(spec_of()).content_hash
