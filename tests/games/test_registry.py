"""The registry of games."""

from __future__ import annotations

import subprocess
import sys

import pytest

from games import game_names, get_game
from games.base import UnknownGameError


@pytest.mark.parametrize("name", game_names())
def test_every_registered_game_starts_and_knows_its_name(name: str) -> None:
    game = get_game(name)
    position = game.position()
    assert game.name == position.game == name
    assert position.side_to_move == "first"
    assert position.outcome() is None
    assert game.position(position.start_fen).legal_moves() == position.legal_moves()
    assert set(game.sides) == {"first", "second"}


def test_rule_policy_of_chess_names_its_draws() -> None:
    policy = get_game("chess").rule_policy
    assert "threefold-repetition" in policy
    assert "fifty-moves" in policy


def test_an_unknown_game_is_named_with_those_that_exist() -> None:
    with pytest.raises(UnknownGameError, match=r"unknown game 'checkers'; there is .*chess"):
        get_game("checkers")


def test_rules_are_imported_when_a_game_is_asked_for() -> None:
    code = (
        "import sys, games; assert 'chess' not in sys.modules; games.get_game('chess'); assert 'chess' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
