"""The table of a run: points, and ratings with their error bars."""

from __future__ import annotations

from dataclasses import dataclass

from arena.errors import StoreError
from arena.store.database import Database
from arena.store.watching import FinishedGame, finished_games
from arena.tournament.ratings import rate
from arena.tournament.results import Decision, GameResult, decision_of, select, tally

SCORES = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}


@dataclass(frozen=True, slots=True)
class Row:
    """A player in the table. `elo` is the estimate in words: `+32 ± 40`, `at least +183`."""

    place: int
    player: str
    elo: str
    points: float
    games: int
    wins: int
    draws: int
    losses: int
    forfeited: int


@dataclass(frozen=True, slots=True)
class Standings:
    """The pools of players who can be compared, each best first. `counted` games are in it; `forfeits` were found
    among all, whether they count or not."""

    pools: tuple[tuple[Row, ...], ...]
    counted: int
    forfeits: int


def standings(db: Database, run_id: int, *, with_forfeits: bool) -> Standings:
    """The table of a run as it stands. Raises StoreError for a record whose pairs do not fit together."""
    players, finished = finished_games(db, run_id)
    games = [_result(game) for game in finished if game.white != game.black]
    counted = select(games, forfeits=with_forfeits)
    try:
        pools = rate(players, counted)
    except ValueError as error:
        raise StoreError(f"run {run_id} cannot be rated from the record: {error}") from error
    tables = []
    for pool in pools:
        rows = []
        for place, rating in enumerate(pool.ratings, start=1):
            counts = tally(counted, rating.player)
            elo = str(rating.elo) if counts.games else "not rated"
            rows.append(
                Row(
                    place,
                    rating.player,
                    "0, the scale's origin" if rating.fixed and counts.games else elo,
                    counts.points,
                    counts.games,
                    counts.wins,
                    counts.draws,
                    counts.losses,
                    counts.forfeited,
                )
            )
        tables.append(tuple(rows))
    forfeits = sum(game.decision is Decision.FORFEIT for game in games)
    return Standings(tuple(tables), len(counted), forfeits)


def _result(game: FinishedGame) -> GameResult:
    return GameResult(
        game.white, game.black, SCORES[game.result], game.pair, decision_of(game.termination), game.duplicate
    )
