"""The benchmark of the rules: its positions and the shape of its figures, never a speed."""

import json

import pytest

from arena.bench.rules import FIRST_PLY, LAST_PLY, measure, middle_games
from games import get_game


@pytest.mark.parametrize("name", ["chess", "janggi"])
def test_positions_are_seeded_and_from_the_middle_of_games(name):
    game = get_game(name)
    fens = middle_games(game, 5, seed=3)
    assert fens == middle_games(game, 5, seed=3) != middle_games(game, 5, seed=4)
    for fen in fens:
        position = game.position(fen)
        number = int(fen.split()[-1])
        ply = 2 * (number - 1) + (position.side_to_move == "second")
        assert FIRST_PLY <= ply <= LAST_PLY
        assert position.outcome() is None


def test_figures_are_of_the_positions_asked_for():
    timing = measure("janggi", 4, seed=0)
    assert (timing.game, timing.positions) == ("janggi", 4)
    assert 0 < timing.legal_moves_us <= timing.legal_moves_p95_us
    counts = [len(get_game("janggi").position(fen).legal_moves()) for fen in middle_games(get_game("janggi"), 4, 0)]
    assert timing.moves == sum(counts) / 4


def test_the_command_shows_games_beside_each_other(arena):
    code, out, _ = arena("bench", "rules", "--positions", "2")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[1:3]] == ["chess", "janggi"]
    told = json.loads(arena("bench", "rules", "--positions", "2", "--game", "janggimodern", "--json")[1])
    assert [timing["game"] for timing in told["games"]] == ["janggimodern"]
    assert arena("bench", "rules", "--game", "go")[2].startswith("arena: --game: unknown game 'go'")


def test_one_position_is_too_few():
    with pytest.raises(ValueError, match="1 positions should be at least 2"):
        middle_games(get_game("chess"), 1, seed=0)
