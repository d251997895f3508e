import pytest

from arena.endings import Fault
from arena.tournament.results import Cluster, Decision, GameResult, clusters, decision_of, select, tally


@pytest.mark.parametrize(
    ("termination", "decision"),
    [
        ("checkmate", Decision.BOARD),
        ("threefold-repetition", Decision.BOARD),
        ("bikjang", Decision.BOARD),
        ("bikjang-points", Decision.POINTS),
        ("double-pass-points", Decision.POINTS),
        ("ply-limit", Decision.PLY_LIMIT),
        ("adjudication-resign", Decision.ADJUDICATION),
    ],
)
def test_terminations_are_counted_as(termination, decision):
    assert decision_of(termination) is decision


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.INFRASTRUCTURE])
def test_every_fault_of_a_player_is_a_forfeit(fault):
    assert decision_of(fault.value) is Decision.FORFEIT


def test_games_of_a_pair_make_one_cluster_and_loose_games_their_own(series, pairs):
    games = [*pairs("a", "b", (1, 0.5)), *series("b", "a", draws=2)]
    assert clusters(games) == (Cluster("a", "b", 2, 1.5), Cluster("b", "a", 1, 0.5), Cluster("b", "a", 1, 0.5))
    assert clusters(games)[0].score == 0.75


def test_a_pair_whose_twin_was_left_out_is_a_cluster_of_one(pairs):
    first, second = pairs("a", "b", (1, 1))
    twin = GameResult(second.white, second.black, second.score, second.pair, duplicate=True)
    assert clusters(select([first, twin], duplicates=False)) == (Cluster("a", "b", 1, 1.0),)


def test_a_pair_of_three_players_is_refused():
    with pytest.raises(ValueError, match="pair 7 has games of others than a and b"):
        clusters([GameResult("a", "b", 1.0, 7), GameResult("a", "c", 1.0, 7)])


def test_a_tally_keeps_points_forfeits_and_duplicates_apart(series):
    games = [
        *series("a", "b", wins=3),
        *series("b", "a", losses=2, decision=Decision.POINTS),
        *series("a", "b", wins=1, losses=2, decision=Decision.FORFEIT),
        *series("a", "c", draws=4, decision=Decision.PLY_LIMIT, duplicate=True),
        *series("c", "b", wins=5),
    ]
    found = tally(games, "a")
    assert (found.games, found.wins, found.draws, found.losses, found.points) == (12, 6, 4, 2, 8)
    assert (found.by_points, found.given, found.forfeited, found.undecided, found.duplicates) == (2, 1, 2, 4, 4)
    assert tally(games, "b").lost_by_points == 2


@pytest.mark.parametrize(("white", "score"), [("a", 0.7), ("b", 1.0)])
def test_impossible_games_are_refused(white, score):
    with pytest.raises(ValueError, match=r"not 0\.7|played itself"):
        GameResult(white, "b", score)
