"""Syzygy tablebases of chess: who wins with few pieces left, for certain."""

from __future__ import annotations

from pathlib import Path

import chess
import chess.syzygy

from arena.errors import UsageError
from games.base import Position, Side


class Tablebases:
    """The tables in one folder. Raises UsageError if there are none."""

    def __init__(self, folder: Path) -> None:
        try:
            self._tables = chess.syzygy.open_tablebase(str(folder))
        except OSError as error:
            raise UsageError(f"syzygy: {folder}: {error.strerror}") from error
        if not self._tables.wdl:
            raise UsageError(f"syzygy: {folder}: there is no table (.rtbw) in it")

    def winner(self, position: Position) -> tuple[Side | None] | None:
        """Who wins, nobody in a draw; None instead of a tuple for a position that the tables do not have.

        The tables know the fifty-move rule as it stands after a capture or a pawn's move, so only those positions are
        looked up: a lead that takes longer than the rule allows is a draw.
        """
        board = chess.Board(position.fen)
        if board.halfmove_clock or board.castling_rights or chess.popcount(board.occupied) > chess.syzygy.TBPIECES:
            return None
        wdl = self._tables.get_wdl(board)
        if wdl is None:
            return None
        if abs(wdl) < 2:
            return (None,)
        return ("first" if (wdl > 0) == (board.turn == chess.WHITE) else "second",)
