"""What every format answers, and what its matches become: games in a fixed order.

A *match* is a series between two players; its games come in pairs, both of a pair from one opening, colours swapped.
A format is asked for one *stage* after the other: matches that depend on earlier stages only, so that the games of a
stage can be played in any order, at once, and interrupted anywhere, and the next stage is still the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents.seeds import derive_seed


@dataclass(frozen=True, slots=True)
class Match:
    """`games` games between two players in round `round` (from 1); `first` begins with the first move.

    The k-th pair of games is from opening number `opening` + k, counted round the list.
    """

    round: int
    first: str
    second: str
    games: int
    opening: int = 0


@dataclass(frozen=True, slots=True)
class Bye:
    """A player who sits out a round."""

    round: int
    player: str


@dataclass(frozen=True, slots=True)
class Stage:
    """Matches that can be played at the same time."""

    matches: tuple[Match, ...]
    byes: tuple[Bye, ...] = ()


@dataclass(frozen=True, slots=True)
class Score:
    """Points of the two players of a match in the `games` that got a result."""

    first: float
    second: float
    games: int


@dataclass(frozen=True, slots=True)
class Played:
    """A stage with the scores of its matches, in their order."""

    stage: Stage
    scores: tuple[Score, ...]


def pairs_in(games: int) -> int:
    """How many openings a match of `games` games uses; the last is for one game only if their number is odd."""
    return (games + 1) // 2


class Format(ABC):
    """A way to make a tournament of `players`, whose order is their seeding. Holds no state."""

    players: Sequence[str]

    @abstractmethod
    def next_stage(self, played: Sequence[Played]) -> Stage | None:
        """The stage after those `played`, or None: it is over. A function of them alone."""

    @abstractmethod
    def most_games(self) -> int:
        """How many games it takes, or may take at most where that depends on results."""

    @abstractmethod
    def openings_needed(self) -> int:
        """How long the list of openings must be for no two players to meet twice in one opening."""


@dataclass(frozen=True, slots=True)
class ScheduledGame:
    """A game of the schedule. `index`, `match` and `pair` count from 0 within the tournament, `round` from 1; a game
    that has no twin has no `pair`. `opening` is a place in the list of openings."""

    index: int
    round: int
    match: int
    white: str
    black: str
    opening: int
    seed: int
    pair: int | None


@dataclass(frozen=True, slots=True)
class Schedule:
    """The `games` that are known so far, the stages that are `played`, and the one that is `current`: None when no
    more games are needed.

    As results come in, the list of games grows at its end and never changes before it.
    """

    games: tuple[ScheduledGame, ...]
    played: tuple[Played, ...]
    current: Stage | None

    @property
    def finished(self) -> bool:
        return self.current is None


def make_schedule(
    tournament: Format, results: Mapping[int, float | None], *, openings: Sequence[int], seed: int
) -> Schedule:
    """The schedule after `results`: White's score by game index, None for a game that will never have one.

    `openings` is the order in which the list of openings is used, such as (0, 1, 2). Seeds of games follow from
    `seed`. The answer has no new games until all that it listed have their results, so it need not be asked
    before.
    """
    games: list[ScheduledGame] = []
    played: list[Played] = []
    while (stage := tournament.next_stage(played)) is not None:
        new = _games_of(stage, games, openings, seed)
        games += new
        if any(game.index not in results for game in new):
            return Schedule(tuple(games), tuple(played), stage)
        played.append(Played(stage, _scores(stage, new, results)))
    return Schedule(tuple(games), tuple(played), None)


def _games_of(stage: Stage, before: Sequence[ScheduledGame], openings: Sequence[int], seed: int) -> list[ScheduledGame]:
    last = before[-1] if before else None
    pair = sum(game.pair is not None for game in before) // 2
    games: list[ScheduledGame] = []
    for number, match in enumerate(stage.matches, start=last.match + 1 if last else 0):
        for turn in range(match.games):
            swapped = turn % 2 == 1
            index = len(before) + len(games)
            games.append(
                ScheduledGame(
                    index=index,
                    round=match.round,
                    match=number,
                    white=match.second if swapped else match.first,
                    black=match.first if swapped else match.second,
                    opening=openings[(match.opening + turn // 2) % len(openings)],
                    seed=derive_seed(seed, "game", index),
                    pair=pair if swapped or turn + 1 < match.games else None,
                )
            )
            pair += swapped
    return games


def _scores(stage: Stage, games: Sequence[ScheduledGame], results: Mapping[int, float | None]) -> tuple[Score, ...]:
    offset = games[0].match if games else 0
    points: list[list[float]] = [[] for _ in stage.matches]  # of `first`, game by game
    for game in games:
        match, result = game.match - offset, results[game.index]
        if result is not None:
            points[match].append(result if game.white == stage.matches[match].first else 1 - result)
    return tuple(Score(sum(own), len(own) - sum(own), len(own)) for own in points)
