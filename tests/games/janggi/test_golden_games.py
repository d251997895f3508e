"""Whole random games with their terminations, kept in `tests/golden/janggi_games.tsv`.

`python tests/games/janggi/test_golden_games.py` writes the file anew; what then differs is a change of the rules.
"""

import csv
import random
from pathlib import Path

import pytest

from games import get_game
from games.janggi.differential import RULE_SETS, wander

GOLDEN = Path(__file__).parents[2] / "golden" / "janggi_games.tsv"
FIELDS = ("rules", "start", "moves", "winner", "termination", "fen")


def finished_games(rules):
    """One random game for each way in which games under these rules end, as (position, outcome), first found first."""
    choose = random.Random(rules)
    found = {}
    for _ in range(300):
        for position in wander(rules, choose):
            if (outcome := position.outcome()) is not None:
                if position.moves:
                    found.setdefault(outcome.termination, (position, outcome))
                break
    return found.values()


def written(position, outcome):
    moves = " ".join(position.moves)
    values = (position.game, position.start_fen, moves, outcome.winner or "draw", outcome.termination, position.fen)
    return dict(zip(FIELDS, values, strict=True))


def golden():
    with GOLDEN.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.mark.parametrize("row", golden(), ids=lambda row: f"{row['rules']}: {row['termination']}")
def test_a_game_ends_as_it_did(row):
    moves = row["moves"].split()
    position = get_game(row["rules"]).position(row["start"], moves[:-1])
    assert position.outcome() is None
    position = position.play(moves[-1])
    assert written(position, position.outcome()) == row


def test_every_rule_set_and_ending_is_there():
    assert {row["rules"] for row in golden()} == set(RULE_SETS)
    by_points = {f"{end}-points" for end in ("bikjang", "double-pass", "move-limit", "repetition")}
    draws = {"bikjang", "double-pass", "move-limit", "repetition"}
    faults = {"checkmate", "perpetual-check", "repeated-move"}
    assert {row["termination"] for row in golden()} == by_points | draws | faults


if __name__ == "__main__":
    with GOLDEN.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        for rules in RULE_SETS:
            writer.writerows(written(*game) for game in finished_games(rules))
