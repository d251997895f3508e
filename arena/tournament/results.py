"""Finished games as the statistics see them, and what they are counted as."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache


class Decision(StrEnum):
    """What decided a game, as far as a table keeps it apart."""

    BOARD = "board"  # mate, and the draws of the rules
    POINTS = "points"  # janggi: by the points on the board
    PLY_LIMIT = "ply-limit"
    ADJUDICATION = "adjudication"
    FORFEIT = "forfeit"  # no move, an illegal one, too slow, or crashed: nothing that a board shows


FORFEITS = frozenset({"time", "crash"})
"""Terminations that are forfeits without being called so; the others begin with `forfeit-`."""


@cache
def decision_of(termination: str) -> Decision:
    """What a termination of the record counts as: `forfeit-illegal` is a forfeit, `points` a win by points."""
    if termination in FORFEITS or termination.startswith("forfeit-"):
        return Decision.FORFEIT
    if termination.startswith("adjudicat"):
        return Decision.ADJUDICATION
    if termination.startswith("ply-limit"):
        return Decision.PLY_LIMIT
    return Decision.POINTS if "points" in termination.split("-") else Decision.BOARD


@dataclass(frozen=True, slots=True)
class GameResult:
    """A game that counts. `score` is White's: 1, 0.5 or 0; the two games of one opening share a `pair` number,
    which no other game has; `duplicate` marks one whose moves repeat an earlier game's."""

    white: str
    black: str
    score: float
    pair: int | None = None
    decision: Decision = Decision.BOARD
    duplicate: bool = False

    def __post_init__(self) -> None:
        if self.score not in (0.0, 0.5, 1.0):
            raise ValueError(f"a game scores 0, 0.5 or 1 for White, not {self.score!r}")
        if self.white == self.black:
            raise ValueError(f"{self.white!r} cannot have played itself")

    def score_of(self, player: str) -> float:
        """Points of `player`, who must be one of the two: ValueError else."""
        if player not in (self.white, self.black):
            raise ValueError(f"{player!r} did not play {self.white} - {self.black}")
        return self.score if player == self.white else 1 - self.score


def select(games: Iterable[GameResult], *, duplicates: bool = True, forfeits: bool = True) -> tuple[GameResult, ...]:
    """The games without those that repeat another, or without those that were forfeited: four readings of one
    tournament. A repetition says nothing new; a forfeit says nothing about play."""
    return tuple(
        game
        for game in games
        if (duplicates or not game.duplicate) and (forfeits or game.decision is not Decision.FORFEIT)
    )


@dataclass(frozen=True, slots=True)
class Cluster:
    """Games that are not independent of each other: a pair, or one game alone. `points` are those of `first`."""

    first: str
    second: str
    games: int
    points: float

    @property
    def score(self) -> float:
        """Points of `first` a game, from 0 to 1."""
        return self.points / self.games


def clusters(games: Iterable[GameResult]) -> tuple[Cluster, ...]:
    """The units of independence among `games`, which may be any part of a tournament: the games of a pair that
    are there make one cluster, every other game its own. Raises ValueError if a pair is not one of two players.
    """
    alone: list[Sequence[GameResult]] = []
    paired: defaultdict[int, list[GameResult]] = defaultdict(list)
    for game in games:
        if game.pair is None:
            alone.append((game,))
        else:
            paired[game.pair].append(game)
    return tuple(_cluster(group) for group in (*paired.values(), *alone))


def _cluster(games: Sequence[GameResult]) -> Cluster:
    first, second = games[0].white, games[0].black
    points = 0.0
    for game in games:  # plain comparisons: a table of a large tournament spends its time here
        if game.white == first and game.black == second:
            points += game.score
        elif game.white == second and game.black == first:
            points += 1 - game.score
        else:
            raise ValueError(f"pair {games[0].pair} has games of others than {first} and {second}")
    return Cluster(first, second, len(games), points)


@dataclass(frozen=True, slots=True)
class Tally:
    """A player's games. `by_points` are the wins by points among `wins`, `forfeited` the forfeits among `losses`,
    `given` those of opponents among `wins`, `duplicates` the repeated among all."""

    games: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    by_points: int = 0
    lost_by_points: int = 0
    given: int = 0
    forfeited: int = 0
    undecided: int = 0  # ended by the ply limit or adjudication
    duplicates: int = 0

    @property
    def points(self) -> float:
        return self.wins + self.draws / 2


def tally(games: Iterable[GameResult], player: str) -> Tally:
    """The counts of `player` over those of `games` that it played."""
    own = [game for game in games if player in (game.white, game.black)]
    won = [game for game in own if game.score == (game.white == player)]
    lost = [game for game in own if game.score == (game.black == player)]
    return Tally(
        games=len(own),
        wins=len(won),
        draws=len(own) - len(won) - len(lost),
        losses=len(lost),
        by_points=_count(won, Decision.POINTS),
        lost_by_points=_count(lost, Decision.POINTS),
        given=_count(won, Decision.FORFEIT),
        forfeited=_count(lost, Decision.FORFEIT),
        undecided=_count(own, Decision.PLY_LIMIT) + _count(own, Decision.ADJUDICATION),
        duplicates=sum(game.duplicate for game in own),
    )


def _count(games: Iterable[GameResult], decision: Decision) -> int:
    return sum(game.decision is decision for game in games)
