"""Who can be compared with whom: the graph of points taken."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from arena.tournament.results import Cluster

Relation = NDArray[np.bool_]
"""Square: whether the row's player stands in the relation to the column's."""


def took_points(players: Sequence[str], units: Sequence[Cluster]) -> Relation:
    """Who took a point or half a point from whom."""
    seat = {player: number for number, player in enumerate(players)}
    took = np.zeros((len(players), len(players)), dtype=np.bool_)
    by_first = {(unit.first, unit.second) for unit in units if unit.points > 0}
    by_second = {(unit.second, unit.first) for unit in units if unit.points < unit.games}
    for taker, giver in by_first | by_second:
        took[seat[taker], seat[giver]] = True
    return took


def reachable(edges: Relation) -> Relation:
    """Who reaches whom in any number of steps; everybody themselves."""
    reach = edges | np.eye(len(edges), dtype=np.bool_)
    for _ in range(len(edges).bit_length()):  # each doubles the number of steps
        reach = (reach.astype(np.float32) @ reach.astype(np.float32)) > 0
    return reach


def classes(players: Sequence[str], alike: Relation) -> list[list[str]]:
    """The classes of an equivalence, in the order of their first members."""
    found: dict[bytes, list[str]] = {}
    for player, row in zip(players, alike, strict=True):
        found.setdefault(row.tobytes(), []).append(player)
    return list(found.values())
