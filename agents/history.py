"""The moves of a game as prompts write them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Literal

from games import get_game
from games.base import Position

Notation = Literal["canonical", "native"]
"""How moves are written: UCI and its like, or the game's own notation (SAN for chess)."""

REMEMBERED = 1024
"""Games whose native notation is kept, so that a ply costs one move and not the whole game again."""


class NativeMoves:
    """Native notation of whole games. Owns a memory of games so far, the least recently used of which goes first."""

    def __init__(self, size: int = REMEMBERED) -> None:
        self._size = size
        self._known: OrderedDict[tuple[str, str, tuple[str, ...]], tuple[Position, tuple[str, ...]]] = OrderedDict()

    def of(self, position: Position) -> tuple[str, ...]:
        """The moves that led to `position`, each in native notation."""
        moves = position.moves
        length = len(moves)
        while length and (position.game, position.start_fen, moves[:length]) not in self._known:
            length -= 1
        if length:
            at, written = self._known.pop((position.game, position.start_fen, moves[:length]))
        else:
            at, written = get_game(position.game).position(position.start_fen), ()
        for move in moves[length:]:
            written = (*written, at.san(move))
            at = at.play(move)
        self._known[position.game, position.start_fen, moves] = (at, written)
        if len(self._known) > self._size:
            self._known.popitem(last=False)
        return written


_NATIVE = NativeMoves()


def written_moves(position: Position, notation: Notation) -> tuple[str, ...]:
    """The moves that led to `position`."""
    return _NATIVE.of(position) if notation == "native" else position.moves


def movetext(position: Position, notation: Notation) -> str:
    """The moves with their numbers, up to where the next one is due: `1. e4 e5 2. Nf3`, `1. e4 e5 2.`, `12...`."""
    moves = written_moves(position, notation)
    last = position.start_fen.split()[-1]
    number = int(last) if last.isdecimal() else 1
    second_begins = _second_begins(position)
    words: list[str] = [f"{number}..."] if second_begins else []
    for ply, move in enumerate([*moves, ""], start=second_begins):
        if ply % 2 == 0:
            words.append(f"{number + ply // 2}.")
        words.append(move)
    return " ".join(words[:-1])


def pairs(position: Position, notation: Notation) -> str:
    """The moves, with a comma after each of the second side's: `e4 e5, Nf3`, `e4 e5,`, nothing."""
    moves = enumerate(written_moves(position, notation), start=_second_begins(position))
    return " ".join(move + "," * (ply % 2) for ply, move in moves)


def _second_begins(position: Position) -> bool:
    """Whether the second side made the first move, or is about to."""
    return (position.side_to_move == "second") == (len(position.moves) % 2 == 0)
