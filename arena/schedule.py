"""Who plays whom, in which order, with which seed. Pure: the same input gives the same schedule, anywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from agents.seeds import derive_seed
from arena.openings import Opening
from arena.store.records import NewGame


class Pairing(NamedTuple):
    """Two seats at one board, by their index; `first` has the first move."""

    first: int
    second: int


def circle_round(seats: int, number: int) -> tuple[Pairing, ...]:
    """Round `number` (from 0; the cycle has `seats` - 1 rounds) of the circle method.

    Seat 0 stays, the others turn by one place a round, and the ends of the line meet: in one cycle everyone meets
    everyone exactly once. Raises ValueError unless `seats` is even and at least 2.
    """
    if seats < 2 or seats % 2:
        raise ValueError(f"the circle method needs an even number of seats of at least 2, not {seats}")
    turn = number % (seats - 1)
    line = [0, *(1 + (place - turn) % (seats - 1) for place in range(seats - 1))]
    return tuple(Pairing(line[place], line[-1 - place]) for place in range(seats // 2))


def unique_names(wanted: Sequence[str], *, numbered: Sequence[bool]) -> tuple[str, ...]:
    """Unique names from the `wanted` ones, in order.

    A name gets a number where `numbered` says so or where more than one seat wants it: `llm-1`, `llm-2`. A number
    whose name somebody chose outright is skipped.
    """
    often = Counter(wanted)
    with_number = [always or often[name] > 1 for name, always in zip(wanted, numbered, strict=True)]
    taken = {name for name, number in zip(wanted, with_number, strict=True) if not number}
    count: Counter[str] = Counter()
    names = []
    for base, number in zip(wanted, with_number, strict=True):
        name = base
        while number and (name == base or name in taken):
            count[base] += 1
            name = f"{base}-{count[base]}"
        taken.add(name)
        names.append(name)
    return tuple(names)


def make_schedule(
    names: Sequence[str],
    games: int,
    *,
    seed: int,
    rule_policies: Mapping[str, str],
    max_plies: int,
    start_fen: str | None = None,
    opening: Opening | None = None,
) -> tuple[NewGame, ...]:
    """The first `games` games between the agents `names`, an even number of them.

    Rounds come two by two: the same pairing with colours swapped, so that games of one opening balance. A game
    whose twin is in the schedule too has their common `pair` number; one that is left over has None.

    What is played are the games of `rule_policies` (rules by name), in turn from board to board and from round to
    round, and the same in both games of a pair. All begin with `opening` if there is one, else at `start_fen`.
    """
    boards, played = len(names) // 2, tuple(rule_policies)
    seats = []
    for index in range(games):
        round_number, board = divmod(index, boards)
        pairing = circle_round(len(names), round_number // 2)[board]
        swapped = round_number % 2 == 1
        # Most seats move on by one board a round: a game that did the same would follow them.
        turn = round_number // 2 if boards == 1 else round_number // 4
        game = played[(board + turn) % len(played)]
        seats.append((round_number // 2 * boards + board, Pairing(*reversed(pairing)) if swapped else pairing, game))
    complete = {pair for pair, count in Counter(pair for pair, _, _ in seats).items() if count == 2}
    return tuple(
        NewGame(
            index=index,
            white=names[pairing.first],
            black=names[pairing.second],
            game=game,
            seed=derive_seed(seed, "game", index),
            max_plies=max_plies,
            rule_policy=rule_policies[game],
            pair=pair if pair in complete else None,
            opening=opening.name if opening else None,
            start_fen=opening.start_fen if opening else start_fen,
            opening_moves=opening.moves if opening else (),
        )
        for index, (pair, pairing, game) in enumerate(seats)
    )


def certain_repeats(games: Sequence[NewGame], settings: Mapping[str, Mapping[str, Any] | None]) -> int:
    """How many of `games` must repeat an earlier one move for move.

    `settings` has, for each agent whose moves follow from the position alone, what its moves depend on, and None
    for every other agent.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    for game in games:
        white, black = settings[game.white], settings[game.black]
        if white is not None and black is not None:
            start = (game.game, game.start_fen or "", *game.opening_moves)
            seen[repr(sorted(white.items())), repr(sorted(black.items())), *start] += 1
    return sum(count - 1 for count in seen.values())
