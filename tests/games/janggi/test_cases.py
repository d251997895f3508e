"""Positions with what Fairy-Stockfish says of them: how many lines of moves there are, and how games end."""

import csv
from pathlib import Path

import pytest

from games import get_game
from games.perft import perft

CASES = Path(__file__).parents[2] / "cases"


def rows(name):
    with (CASES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


DEEP = 500_000
"""Lines of moves beyond which counting takes seconds."""

PERFT, PERFT_DEEP = {}, {}
for row in rows("janggi_perft.tsv"):
    table = PERFT if int(row["nodes"]) <= DEEP else PERFT_DEEP
    table.setdefault((row["variant"], row["fen"]), {})[int(row["depth"])] = int(row["nodes"])


def test_no_case_is_missing():
    assert (sum(map(len, PERFT.values())), sum(map(len, PERFT_DEEP.values()))) == (279, 4)
    assert PERFT_DEEP.keys() <= PERFT.keys()
    assert len(rows("janggi_results.tsv")) == 89


@pytest.mark.parametrize(("variant", "fen"), PERFT)
def test_perft(variant, fen):
    position = get_game(variant).position(fen)
    expected = PERFT[variant, fen]
    assert {depth: perft(position, depth) for depth in expected} == expected


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "fen"), PERFT_DEEP)
def test_perft_deep(variant, fen):
    position = get_game(variant).position(fen)
    expected = PERFT_DEEP[variant, fen]
    assert {depth: perft(position, depth) for depth in expected} == expected


@pytest.mark.parametrize("row", rows("janggi_results.tsv"), ids=lambda row: f"{row['variant']}: {row['note']}")
def test_result(row):
    position = get_game(row["variant"]).position(row["fen"], row["moves"].split())
    assert len(position.legal_moves()) == int(row["legal_moves"])
    assert position.in_check == (row["side_to_move_in_check"] == "1")
    assert position.fen == row["fen_after"]
    outcome = position.outcome()
    if row["immediate_end"] == "1":
        assert not position.legal_moves()
        expected = int(row["immediate_result_for_side_to_move"])
    elif row["optional_end"] == "1":
        expected = int(row["optional_result_for_side_to_move"])
    elif not position.legal_moves():
        assert outcome.termination == "checkmate"
        expected = -32000
    else:
        assert outcome is None
        return
    winner = {0: None, 32000: "mover", -32000: "opponent"}[expected]
    mover = position.side_to_move
    assert {None: None, mover: "mover"}.get(outcome.winner, "opponent") == winner
