"""The table of a tournament: a rating with honest error bars for every player.

A rating is a Bradley-Terry strength in Elo points with a 95 % interval whose unit of independence is the pair
(`bradley_terry.fit`). Players who never met, even over others in between, share no scale: each *pool* is rated by
itself. Within a pool, players who took nothing, or everything, from all the rest are infinitely far away as far as
the games can tell: they get a bound instead of a rating.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from arena.tournament.bradley_terry import fit
from arena.tournament.elo import CONFIDENCE, LOGIT, Estimate
from arena.tournament.pools import classes, reachable, took_points
from arena.tournament.results import Cluster, GameResult, clusters


@dataclass(frozen=True, slots=True)
class Anchor:
    """The player that a scale hangs on, and its stated Elo."""

    player: str
    elo: float = 0.0


@dataclass(frozen=True, slots=True)
class Rating:
    """A player's Elo. Where `fixed`, it has no interval: the scale is defined by it."""

    player: str
    elo: Estimate
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Pool:
    """Players who can be compared, best first. Their scale hangs on the `anchor`; without one, 0 is the mean of the
    players that have a finite rating."""

    ratings: tuple[Rating, ...]
    anchor: Anchor | None = None

    @property
    def players(self) -> tuple[str, ...]:
        return tuple(rating.player for rating in self.ratings)


def rate(players: Sequence[str], games: Iterable[GameResult], anchor: Anchor | None = None) -> tuple[Pool, ...]:
    """The pools among `players`, the largest first, rated from `games`.

    An anchor in a pool that holds it only by a bound cannot carry the scale: `Pool.anchor` is then None. Raises
    ValueError for an anchor or a game whose players are not among `players`.
    """
    if anchor is not None and anchor.player not in players:
        raise ValueError(f"the anchor {anchor.player!r} is not one of the players: {', '.join(players)}")
    units = clusters(games)
    if strangers := {name for unit in units for name in (unit.first, unit.second)} - set(players):
        raise ValueError(f"games of {', '.join(sorted(strangers))}, who are not among the players")
    took = took_points(players, units)
    together = reachable(took | took.T)
    pools = [
        _rate_pool(members, [unit for unit in units if unit.first in members], anchor)
        for members in classes(players, together)
    ]
    return tuple(sorted(pools, key=lambda pool: -len(pool.ratings)))


def _rate_pool(players: Sequence[str], units: Sequence[Cluster], anchor: Anchor | None) -> Pool:
    """Rates the largest group within which everything is finite, and places the others above and below it."""
    if not units:
        return Pool(tuple(Rating(player, Estimate(None, None, None)) for player in players))
    reach = reachable(took_points(players, units))
    order = sorted(classes(players, reach & reach.T), key=lambda group: -reach[players.index(group[0])].sum())
    core = max(order, key=len)
    mine = anchor if anchor is not None and anchor.player in core else None
    ratings = _rate_core(core, _between(units, core, core), mine)
    placed = {rating.player: rating.elo.value or 0.0 for rating in ratings}
    for groups, sign in ((reversed(order[: order.index(core)]), 1), (order[order.index(core) + 1 :], -1)):
        known = dict(placed)
        for group in groups:
            bounds = _bounds(group, units, known, sign)
            known |= bounds
            ratings += [_bounded(player, bounds.get(player), sign) for player in group]
    place = {player: -number for number, group in enumerate(order) for player in group}
    middle = place[core[0]]

    def rank(rating: Rating) -> tuple[int, float]:
        """Those above the core, the core, those below: a bound from above may be higher than what it is below."""
        at = place[rating.player]
        return (at > middle) - (at < middle), _known(rating)

    return Pool(tuple(sorted(ratings, key=rank, reverse=True)), mine)


def _rate_core(players: Sequence[str], units: Sequence[Cluster], anchor: Anchor | None) -> list[Rating]:
    if len(players) == 1:
        value = anchor.elo if anchor else 0.0
        return [Rating(players[0], Estimate(value, None, None), fixed=True)]
    result = fit(players, units)
    reference = players.index(anchor.player) if anchor else None
    shift = anchor.elo - LOGIT * float(result.strengths[reference]) if anchor and reference is not None else 0.0
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    ratings = []
    for seat, player in enumerate(players):
        value = LOGIT * float(result.strengths[seat]) + shift
        if seat == reference:
            ratings.append(Rating(player, Estimate(value, None, None), fixed=True))
            continue
        error = z * LOGIT * math.sqrt(result.variance(seat, reference))
        ratings.append(Rating(player, Estimate(value, value - error, value + error)))
    return ratings


def _bounds(group: Sequence[str], units: Sequence[Cluster], known: dict[str, float], sign: int) -> dict[str, float]:
    """The weakest (`sign` 1) or strongest (-1) Elo of the players of `group` at which it is no surprise that they
    won, or lost, everything against the `known` ones; empty if they never met.

    A pair counts as one trial, since its second game may say nothing new. Within the group, strengths are as its
    own games have them; what is known of the others is taken as it stands.
    """
    met = [unit for unit in units if (unit.first in group) != (unit.second in group)]
    gaps = []
    inner = {
        rating.player: rating.elo.value or 0.0 for rating in _rate_core(group, _between(units, group, group), None)
    }
    for unit in met:
        own, other = (unit.first, unit.second) if unit.first in group else (unit.second, unit.first)
        if other in known:
            gaps.append(sign * (inner[own] - known[other]) / LOGIT)
    if not gaps:
        return {}
    low, high = -100.0 - max(gaps), 100.0 - min(gaps)
    while low < (offset := (low + high) / 2) < high:
        if -sum(np.logaddexp(0, -(offset + gap)) for gap in gaps) < math.log(1 - CONFIDENCE):
            low = offset
        else:
            high = offset
    return {player: inner[player] + sign * offset * LOGIT for player in group}


def _bounded(player: str, bound: float | None, sign: int) -> Rating:
    return Rating(player, Estimate(None, bound, None) if sign > 0 else Estimate(None, None, bound))


def _known(rating: Rating) -> float:
    estimate = rating.elo
    known = [value for value in (estimate.value, estimate.low, estimate.high) if value is not None]
    return known[0] if known else -math.inf


def _between(units: Iterable[Cluster], some: Sequence[str], others: Sequence[str]) -> list[Cluster]:
    return [unit for unit in units if unit.first in some and unit.second in others]
