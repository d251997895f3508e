"""How a game of janggi ends: as Fairy-Stockfish has it, which a game's history decides as well as its last position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from games.base import Outcome, Side
from games.janggi.geometry import CHO
from games.janggi.movegen import Move, facing
from games.janggi.rules import HAN_BONUS, PIECE_POINTS, RuleSet


class Ply(NamedTuple):
    """A position in the history, and the move that led to it (None at the start)."""

    board: str
    check: bool  # of the side to move
    move: Move | None = None
    captured: bool = False

    @property
    def passed(self) -> bool:
        return self.move is not None and self.move[0] == self.move[1]


def count_points(board: str) -> dict[Side, float]:
    """The points of both sides, Han's bonus among them."""
    totals: dict[Side, float] = {"first": 0.0, "second": HAN_BONUS}
    for piece in board:
        if piece.upper() in PIECE_POINTS:
            totals["first" if piece in CHO else "second"] += PIECE_POINTS[piece.upper()]
    return totals


def leader(board: str) -> Side:
    """The side that is ahead on points; the bonus leaves no tie."""
    points = count_points(board)
    return "first" if points["first"] > points["second"] else "second"


def immediate_end(line: Sequence[Ply], rules: RuleSet) -> Outcome | None:
    """The end that leaves no legal moves: bikjang accepted, or both sides having passed."""
    last = line[-1]
    if not last.passed:
        return None
    if rules.bikjang and facing(last.board) is not None:
        return _by_points(last.board, "bikjang", rules)
    if len(line) > 1 and line[-2].passed:
        return _by_points(last.board, "double-pass", rules)
    return None


def drawn_out_end(line: Sequence[Ply], clock: int, to_move: Side, rules: RuleSet) -> Outcome | None:
    """The end of a game that goes nowhere: too long without a capture, or repeating itself.

    `line` begins at the last capture, or at the start: no position before can come again. The order of the tests is
    part of the rules.
    """
    if clock >= rules.quiet_plies:
        return _by_points(line[-1].board, "move-limit", rules)
    opponent: Side = "second" if to_move == "first" else "first"
    back = line[::-1]  # back[n] is the position n plies ago; who moves is the same where n is even
    if rules.repeated_move_loses and _has_moved_to_and_fro(back):
        return Outcome(to_move, "repeated-move")
    occurrences = 1
    for ago in range(4, len(back), 2):
        occurrences += back[ago].board == back[0].board
        if occurrences == rules.occurrences:
            checked = all(ply.check for ply in back[0 : ago + 1 : 2])
            checking = all(ply.check for ply in back[1:ago:2])
            if checked != checking:
                return Outcome(to_move if checked else opponent, "perpetual-check")
            return _by_points(back[0].board, "repetition", rules)
    return None


def _has_moved_to_and_fro(back: Sequence[Ply]) -> bool:
    """Whether the side that has just moved brought one piece to a point and then twice away and back.

    One pass before the last move does not break the series. A capture on arrival does, and so does a check that
    the side had to answer; generals and guards may move to and fro.
    """
    moves = [ply.move for ply in back[::2]]
    passed = len(back) > 2 and back[2].passed
    if passed:
        del moves[1]
    if len(moves) < 5 or back[0].passed:
        return False
    last, *earlier, arrival = moves[:5]
    if last is None or arrival is None or back[0].board[last[1]] in "KAka":
        return False
    there_and_back = [last[::-1], last, last[::-1]]
    arrived = 10 if passed else 8
    in_check = any(ply.check for ply in back[1 : arrived + 2 : 2])
    return earlier == there_and_back and arrival[1] == last[1] and not back[arrived].captured and not in_check


def _by_points(board: str, termination: str, rules: RuleSet) -> Outcome:
    if rules.points:
        return Outcome(leader(board), f"{termination}-points")
    return Outcome(None, termination)
