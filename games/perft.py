"""Perft: how many lines of legal moves lead from a position to a depth. The measure of a move generator."""

from __future__ import annotations

from games.base import Position


def perft(position: Position, depth: int) -> int:
    """Lines of exactly `depth` plies (depth 0: the one empty line).

    Only the rules' own lack of moves ends a line (mate, and at janggi an accepted bikjang or a double pass); draws that
    leave moves, such as repetition, do not. The last ply is counted without being played. Raises ValueError for a
    negative depth.
    """
    if depth < 0:
        raise ValueError(f"depth {depth} should be 0 or more")
    if depth == 0:
        return 1
    moves = position.legal_moves()
    return len(moves) if depth == 1 else sum(perft(position.play(move), depth - 1) for move in moves)


def divide(position: Position, depth: int) -> dict[str, int]:
    """The same for each first move, in the order of `legal_moves`. Raises ValueError for a depth below 1."""
    if depth < 1:
        raise ValueError(f"depth {depth} should be 1 or more, to have a first move")
    return {move: perft(position.play(move), depth - 1) for move in position.legal_moves()}
