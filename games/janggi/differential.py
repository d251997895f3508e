"""Random games played beside pyffish, which is Fairy-Stockfish's own rules, comparing what both say at each ply.

    python -m games.janggi.differential --plies 20000

Uniformly random games hardly ever repeat, pass twice or give perpetual check, so the players have habits that lead
there, and most games start from few pieces. A call of pyffish takes milliseconds, so it is not asked what its other
answers imply: who has legal moves is not at an immediate end, who may not pass is in check (but for bikjang), and
nobody can claim an end within four plies of a capture. Needs the package `pyffish`, which belongs to the extra `dev`.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from games import get_game
from games.base import InvalidPositionError, Outcome
from games.janggi.fen import write_fen
from games.janggi.game import JanggiPosition
from games.janggi.geometry import CHO, EMPTY, HAN, MOVE_NAMES, MOVE_OF, PALACES, POINTS
from games.janggi.setups import OPENINGS

RULE_SETS = ("janggi", "janggitraditional", "janggimodern", "janggicasual")

LONGEST = 80
"""Plies after which a game is left for another."""

AFTER_THE_END = 4
"""Plies for which a game goes on after an end that leaves moves: what comes then is compared too."""


class DisagreementError(AssertionError):
    """The two sets of rules differ. The message has what is needed to see it again."""


@dataclass(frozen=True, slots=True)
class Habits:
    """How likely a player is to do something on purpose, where it can."""

    give_check: float
    go_back: float
    take_pass: float
    face_general: float

    @staticmethod
    def draw(choose: random.Random) -> Habits:
        kinds = (
            Habits(0.1, 0.1, 0.05, 0.1),
            Habits(0.0, 0.95, 0.03, 0.0),
            Habits(0.95, 0.95, 0.0, 0.0),
            Habits(0.5, 0.2, 0.0, 0.0),
            Habits(0.1, 0.3, 0.35, 0.1),
            Habits(0.1, 0.1, 0.1, 0.7),
        )
        return choose.choice(kinds)


def compare(rule_set: str, plies: int, seed: int, every: int = 1) -> Counter[str]:
    """Plays at least `plies` plies and counts what happened: `plies`, `games`, terminations, `check`, `bikjang`, ...

    Legal moves and ends are compared at each ply, FEN and check at each `every`-th and where a game ends. Raises
    DisagreementError at the first difference.
    """
    choose = random.Random(f"{rule_set}/{seed}")
    seen: Counter[str] = Counter()
    while seen["plies"] < plies:
        seen["games"] += 1
        for position in wander(rule_set, choose):
            seen["plies"] += bool(position.moves)
            _check(rule_set, position, seen, fully=not position.moves or seen["plies"] % every == 0)
    return seen


def wander(rule_set: str, choose: random.Random) -> Iterator[JanggiPosition]:
    """The positions of one random game, from its start on."""
    position, ended = _start(choose, rule_set), 0
    yield position
    habits = (Habits.draw(choose), Habits.draw(choose))
    while (moves := position.legal_moves()) and len(position.moves) < LONGEST and ended < AFTER_THE_END:
        position = position.play(_pick(position, moves, habits[len(position.moves) % 2], choose))
        ended += position.outcome() is not None
        yield position


def _pick(position: JanggiPosition, moves: tuple[str, ...], habits: Habits, choose: random.Random) -> str:
    """A legal move, by habit or at random."""
    pools: list[Sequence[str]] = []
    back = ""
    if choose.random() < habits.go_back and len(position.moves) > 1:
        origin, target = MOVE_OF[position.moves[-2]]
        back = MOVE_NAMES[target][origin]
    if choose.random() < habits.take_pass:
        pools.append([move for move in moves if position.is_pass(move)])
    if choose.random() < habits.give_check:
        pools.append([move for move in moves if position.play(move).in_check])
    if choose.random() < habits.face_general:
        pools.append([move for move in moves if position.play(move).is_bikjang])
    pools.append([move for move in moves if move == back])
    pool = next((pool for pool in pools if pool), moves)
    return back if back in pool else choose.choice(pool)


def _start(choose: random.Random, rule_set: str) -> JanggiPosition:
    """One of the sixteen start positions, or more often a few pieces thrown on the board, sometimes late in a game."""
    game = get_game(rule_set)
    while True:
        fen = choose.choice(list(OPENINGS.values())) if choose.random() < 0.25 else _thrown(choose)
        try:
            position = game.position(fen)
        except InvalidPositionError:
            continue  # a side in check that is not to move, mostly
        assert isinstance(position, JanggiPosition)
        return position


def _thrown(choose: random.Random) -> str:
    board = [EMPTY] * POINTS
    for general, guard in ("KA", "ka"):
        at = choose.sample(sorted(PALACES[general]), 3)
        board[at[0]] = general
        for point in at[1 : choose.randint(1, 3)]:
            board[point] = guard
    # a1 stays empty: Fairy-Stockfish takes the start of a game for an arrival there (README.md, "Where we differ").
    free = [point for point in range(1, POINTS) if board[point] == EMPTY]
    for point in choose.sample(free, choose.randint(1, choose.choice((4, 16)))):
        board[point] = choose.choice(CHO[2:] + HAN[2:])
    return write_fen("".join(board), choose.random() < 0.5, choose.choice((0, 0, 0, 92, 190)), choose.randint(1, 150))


def _check(rule_set: str, position: JanggiPosition, seen: Counter[str], *, fully: bool) -> None:
    """Compares one position, with its history, and counts what is special about it."""
    import pyffish

    game = (rule_set, position.start_fen, list(position.moves))
    moves, outcome = position.legal_moves(), position.outcome()
    _same(game, "legal moves", sorted(moves), sorted(pyffish.legal_moves(*game)))
    if fully or not moves:
        _same(game, "FEN", position.fen, pyffish.get_fen(*game))
        seen["FEN compared"] += 1
    if fully or not moves or position.is_bikjang:
        _same(game, "check", position.in_check, bool(pyffish.gives_check(*game)))
    if not moves:
        _same(game, "outcome", _value(position, outcome), _their_end(game))
    elif fully or outcome is not None or position.plies_since_capture >= 4:
        _same(game, "outcome", _value(position, outcome), _their_claim(game))
    seen["check"] += position.in_check
    seen["bikjang"] += position.is_bikjang
    seen["passed"] += bool(position.moves) and position.is_pass(position.moves[-1])
    seen["pass is the only move"] += len(moves) == 1 and position.is_pass(moves[0])
    seen["pass is legal in check"] += position.in_check and any(map(position.is_pass, moves))
    if outcome is not None:
        seen[outcome.termination] += 1


def _value(position: JanggiPosition, outcome: Outcome | None) -> int | None:
    """The outcome as the side to move sees it: 1, 0 or -1; None if the game goes on."""
    if outcome is None or outcome.winner is None:
        return None if outcome is None else 0
    return 1 if outcome.winner == position.side_to_move else -1


def _their_end(game: tuple[str, str, list[str]]) -> int:
    """The same as pyffish has it where there is no legal move: an end at once, or mate."""
    import pyffish

    immediate, value = pyffish.is_immediate_game_end(*game)
    return _sign(value if immediate else pyffish.game_result(*game))


def _their_claim(game: tuple[str, str, list[str]]) -> int | None:
    """The same as pyffish has it where there are legal moves: an end that could be claimed, if there is one."""
    import pyffish

    optional, value = pyffish.is_optional_game_end(*game)
    return _sign(value) if optional else None


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


def _same(game: tuple[str, str, list[str]], what: str, ours: object, theirs: object) -> None:
    if ours != theirs:
        rule_set, fen, moves = game
        raise DisagreementError(
            f"{rule_set}: {what} differ after {' '.join(moves) or 'no move'} from {fen}\n"
            f"ours:   {ours}\ntheirs: {theirs}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare our janggi with pyffish in random games.")
    parser.add_argument("--plies", type=int, default=20_000, help="of each rule set (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=1, help="compare FEN and check at each Nth ply only")
    parser.add_argument("--rules", choices=RULE_SETS, action="append", help="only these; repeatable")
    asked = parser.parse_args()
    for rule_set in asked.rules or RULE_SETS:
        seen = compare(rule_set, asked.plies, asked.seed, asked.every)
        print(f"{rule_set}: " + ", ".join(f"{what} {count}" for what, count in sorted(seen.items())), flush=True)


if __name__ == "__main__":
    main()
