"""The table of a run as a page shows it: that of `arena tournament standings`, pool by pool."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from arena.store.database import Database
from arena.tournament.standings import Standing, standings_of_any


@dataclass(frozen=True, slots=True)
class Row:
    """A player in the table. `elo` is the estimate in words: `+32.1 ± 40.0`, `at least +183.2`."""

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
class Table:
    """The pools of players who can be compared. `counted` games are in it; `forfeits` were found among all, whether
    they count or not. `scale` says what Elo is relative to."""

    pools: tuple[tuple[Row, ...], ...]
    counted: int
    forfeits: int
    scale: str


def table(db: Database, run_id: int, *, with_forfeits: bool) -> Table:
    """The table of a run as it stands. Raises StoreError for a record whose pairs do not fit together."""
    found = standings_of_any(db, run_id)

    def pool(line: Standing) -> int:
        return line.pool if with_forfeits else line.pool_on_board

    pools = [
        tuple(_row(place, line, with_forfeits) for place, line in enumerate(lines, start=1))
        for _, lines in groupby(sorted(found.table, key=pool), key=pool)
    ]
    scale = "0 being the mean of those with a finite rating"
    if found.anchored and found.anchor is not None:
        scale = f"{found.anchor.player} being {found.anchor.elo:g} by definition"
    counted = found.games if with_forfeits else found.games - found.forfeits
    return Table(tuple(pools), counted, found.forfeits, scale)


def _row(place: int, line: Standing, with_forfeits: bool) -> Row:
    given, forfeited = (0, 0) if with_forfeits else (line.tally.given, line.tally.forfeited)
    games = line.tally.games - given - forfeited
    elo = line.elo if with_forfeits else line.elo_on_board
    return Row(
        place,
        line.player,
        f"{elo}{', by definition' * elo.is_definition}" if games else "not rated",
        line.points - given,
        games,
        line.tally.wins - given,
        line.tally.draws,
        line.tally.losses - forfeited,
        line.tally.forfeited - forfeited,
    )
