"""FEN of janggi: `rnba1abnr/4k4/1c5c1/p1p1p1p1p/9/9/P1P1P1P1P/1C5C1/4K4/RNBA1ABNR w - - 0 1`.

Rank 10 first; w is Cho. Read are also the letters H (horse) and E (elephant), and forms of four fields: without the
clocks (`... w - -`) or, as Winboard has it, without the two fields that janggi does not use (`... w 0 1`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from games.base import InvalidPositionError
from games.janggi.geometry import CHO, EMPTY, FILES, HAN, PALACES, POINT_NAMES, POINTS, RANKS
from games.janggi.movegen import in_check

START = "rnba1abnr/4k4/1c5c1/p1p1p1p1p/9/9/P1P1P1P1P/1C5C1/4K4/RNBA1ABNR w - - 0 1"

_SYNONYMS = str.maketrans("HEhe", "NBnb")
_NUMBER = re.compile(r"[0-9]{1,4}")


@dataclass(frozen=True, slots=True)
class Placement:
    """What a FEN says: the board, who moves, plies since the last capture, and the number of the move pair."""

    board: str
    cho: bool
    clock: int
    number: int


def read_fen(fen: str) -> Placement:
    """The position of `fen`. Raises InvalidPositionError that names the fault, also for what cannot be played from."""
    fields = fen.split()
    if len(fields) == 4:
        fields = [*fields[:2], "-", "-", *fields[2:]] if fields[2] != "-" else [*fields, "0", "1"]
    if len(fields) != 6:
        raise InvalidPositionError(f"cannot read FEN {fen!r}: it needs 6 fields, or 4, not {len(fields)}")
    rows, side, castling, en_passant, clock, number = fields
    for name, value, good, wanted in (
        ("side to move", side, side in ("w", "b"), "w (Cho) or b (Han)"),
        ("third field", castling, castling == "-", "-"),
        ("fourth field", en_passant, en_passant == "-", "-"),
        ("clock", clock, _NUMBER.fullmatch(clock), "a number of plies"),
        ("move number", number, _NUMBER.fullmatch(number) and int(number) > 0, "a number from 1 on"),
    ):
        if not good:
            raise InvalidPositionError(f"cannot read FEN {fen!r}: {name} {value!r} should be {wanted}")
    board, cho = _read_board(fen, rows), side == "w"
    _check_pieces(fen, board)
    if in_check(board, not cho):
        raise InvalidPositionError(f"impossible position {fen!r}: the side that is not to move is in check")
    return Placement(board, cho, int(clock), int(number))


def write_fen(board: str, cho: bool, clock: int, number: int) -> str:
    """The FEN with six fields and the letters N and B."""
    rows = [board[start : start + FILES] for start in reversed(range(0, POINTS, FILES))]
    packed = [re.sub(r"\.+", lambda gap: str(len(gap[0])), row) for row in rows]
    return f"{'/'.join(packed)} {'w' if cho else 'b'} - - {clock} {number}"


def _read_board(fen: str, text: str) -> str:
    rows = text.split("/")
    if len(rows) != RANKS:
        raise InvalidPositionError(f"cannot read FEN {fen!r}: {RANKS} ranks are needed, not {len(rows)}")
    ranks = []
    for number, row in zip(range(RANKS, 0, -1), rows, strict=True):
        if wrong := re.search(r"[^1-9KARCNBPHEkarcnbphe]|[1-9]{2}", row):
            raise InvalidPositionError(f"cannot read FEN {fen!r}: {wrong[0]!r} in rank {number} ({row})")
        rank = re.sub(r"[1-9]", lambda gap: EMPTY * int(gap[0]), row).translate(_SYNONYMS)
        if len(rank) != FILES:
            raise InvalidPositionError(
                f"cannot read FEN {fen!r}: rank {number} ({row}) has {len(rank)} points, not {FILES}"
            )
        ranks.append(rank)
    return "".join(reversed(ranks))


def _check_pieces(fen: str, board: str) -> None:
    """Raises InvalidPositionError unless each side has one general and it and its guards are in their palace."""
    for name, pieces in (("Cho", CHO), ("Han", HAN)):
        general, guard = pieces[0], pieces[1]
        if board.count(general) != 1:
            raise InvalidPositionError(
                f"impossible position {fen!r}: {name} needs one general ({general}), not {board.count(general)}"
            )
        for point, piece in enumerate(board):
            if piece in (general, guard) and point not in PALACES[general]:
                raise InvalidPositionError(
                    f"impossible position {fen!r}: {piece} on {POINT_NAMES[point]} is outside the palace of {name}"
                )
