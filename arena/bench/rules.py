"""How long the rules take: legal moves, and playing one, in the middle of games."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from statistics import fmean, median, quantiles

from games import get_game
from games.base import Game

GAMES = ("chess", "janggi")

FIRST_PLY = 20
LAST_PLY = 60
"""The middle of a game of random moves: pieces are out, and most are still there."""

REPEATS = 3
"""Each position is measured so often, on a new object each time since positions remember; the best time counts."""


@dataclass(frozen=True, slots=True)
class RulesTiming:
    """Microseconds over `positions` middle-game positions; `moves` is the mean number of legal moves."""

    game: str
    positions: int
    moves: float
    legal_moves_us: float  # median
    legal_moves_p95_us: float
    play_us: float  # median


def measure(name: str, positions: int, seed: int) -> RulesTiming:
    """Times the rules called `name`. Raises UnknownGameError, ValueError for less than two positions."""
    game = get_game(name)
    timings = [_time(game, fen) for fen in middle_games(game, positions, seed)]
    counts, legal, play = zip(*timings, strict=True)
    return RulesTiming(
        game=name,
        positions=positions,
        moves=fmean(counts),
        legal_moves_us=1e6 * median(legal),
        legal_moves_p95_us=1e6 * quantiles(legal, n=20)[-1],
        play_us=1e6 * median(play),
    )


def middle_games(game: Game, count: int, seed: int) -> list[str]:
    """FENs of `count` positions, one from each game of seeded random moves that lasts long enough."""
    if count < 2:
        raise ValueError(f"{count} positions should be at least 2")
    choose = random.Random(f"{game.name}/{seed}")
    found: list[str] = []
    while len(found) < count:
        position, length = game.position(), choose.randint(FIRST_PLY, LAST_PLY)
        while len(position.moves) < length and position.outcome() is None:
            position = position.play(choose.choice(position.legal_moves()))
        if position.outcome() is None:
            found.append(position.fen)
    return found


def _time(game: Game, fen: str) -> tuple[int, float, float]:
    """The number of legal moves, and the seconds that finding them and playing one of them take."""
    legal_s = play_s = float("inf")
    for _ in range(REPEATS):
        position = game.position(fen)
        begun = time.perf_counter()
        moves = position.legal_moves()
        found = time.perf_counter()
        position.play(moves[len(moves) // 2])
        played = time.perf_counter()
        legal_s, play_s = min(legal_s, found - begun), min(play_s, played - found)
    return len(moves), legal_s, play_s
