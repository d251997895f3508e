"""Scores as engines tell them."""

import pytest

from agents.uci.score import MATE, mate_in, mate_score, read_score, score_text


@pytest.mark.parametrize(
    ("line", "score"),
    [
        ("info depth 9 seldepth 12 score cp 35 nodes 2000 pv e2e4 e7e5", 35),
        ("info depth 9 score cp -120 lowerbound nodes 2000", -120),
        ("info depth 9 score mate 3 pv d1h5", MATE - 3),
        ("info depth 9 score mate -2", 2 - MATE),
        ("info depth 0 score mate 0", -MATE),
        ("info depth 9 multipv 1 score cp 4", 4),
        ("info depth 9 multipv 2 score cp -7", None),
        ("info depth 9 multipv 12 score cp -7", None),
        ("info string score cp is odd", None),
        ("bestmove e2e4 ponder e7e5", None),
    ],
)
def test_scores_are_read_from_info_lines(line, score):
    assert read_score(line) == score


@pytest.mark.parametrize("moves", [1, 7, 240, -1, -7, -240, 0])
def test_mates_can_be_told_from_scores(moves):
    assert mate_in(mate_score(moves)) == moves


def test_centipawns_are_no_mates():
    assert mate_in(9_000) is None
    assert mate_in(-9_000) is None


def test_scores_as_people_write_them():
    assert [score_text(score) for score in (35, -120, 0, MATE - 5, 3 - MATE, MATE, -MATE)] == [
        "+0.35", "-1.20", "+0.00", "#5", "#-3", "won", "lost"
    ]  # fmt: skip
