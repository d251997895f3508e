"""Chess by the `chess` package, behind the Position contract."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

import chess

from games.base import Game, IllegalMoveError, InvalidPositionError, Outcome, Position, Side

_SIDES: dict[Side, str] = {"first": "White", "second": "Black"}

_UCI = re.compile(r"[a-h][1-8][a-h][1-8][qrbn]?")
_SAN = re.compile(
    r"(?:(?P<castling>O-O(?:-O)?)"
    r"|(?P<piece>[NBRQK])?(?P<file>[a-h])?(?P<rank>[1-8])?(?P<capture>x)?(?P<target>[a-h][1-8])"
    r"(?:=(?P<promotion>[NBRQ]))?)"
    r"[+#]?[!?]{0,2}"
)
_FEN_FIELDS = (
    ("board", re.compile(r"[pnbrqkPNBRQK1-8/]+"), "eight ranks of piece letters and numbers"),
    ("side to move", re.compile(r"[wb]"), "w or b"),
    ("castling", re.compile(r"-|(?=[KQkq])K?Q?k?q?"), "- or some of KQkq in this order"),
    ("en passant square", re.compile(r"-|[a-h][36]"), "- or a square of rank 3 or 6"),
    ("halfmove clock", re.compile(r"[0-9]{1,4}"), "a number"),
    ("move number", re.compile(r"[0-9]{1,4}"), "a number"),
)

_FAULTS = {
    chess.STATUS_EMPTY: "the board is empty",
    chess.STATUS_BAD_CASTLING_RIGHTS: "a castling right without king and rook on their squares",
    chess.STATUS_INVALID_EP_SQUARE: "an en passant square that no pawn has just passed",
    chess.STATUS_OPPOSITE_CHECK: "the side that is not to move is in check",
    chess.STATUS_TOO_MANY_CHECKERS: "more pieces give check than can",
    chess.STATUS_IMPOSSIBLE_CHECK: "a check that no move can have given",
}


class Chess(Game):
    """The laws of chess, with the draws a player could claim taken at once (see `rule_policy`)."""

    @property
    def name(self) -> str:
        return "chess"

    @property
    def sides(self) -> dict[Side, str]:
        return dict(_SIDES)

    @property
    def rule_policy(self) -> str:
        return (
            "checkmate and stalemate; drawn at once by insufficient material, by the third occurrence of a "
            "position on the board (threefold-repetition), and at a halfmove clock of 100 (fifty-moves); "
            "checkmate outranks them"
        )

    def position(self, fen: str | None = None, moves: Sequence[str] = ()) -> ChessPosition:
        """The start position, or `fen`, after `moves`.

        `fen` has all six fields, or only the first four (the clocks are then 0 and 1). A position in which
        the game is over is valid. Raises InvalidPositionError, IllegalMoveError.
        """
        position = ChessPosition(_board(chess.STARTING_FEN if fen is None else fen))
        for move in moves:
            position = position.play(move)
        return position


class ChessPosition(Position):
    """A chess position. Owns its board, which carries no move stack and never changes.

    `seen` are the keys (FEN without clocks) of the positions that this one can be a repetition of: those
    since the last capture or pawn move.
    """

    def __init__(
        self,
        board: chess.Board,
        start_fen: str | None = None,
        moves: tuple[str, ...] = (),
        seen: tuple[str, ...] = (),
    ) -> None:
        self._board = board
        # The key names an en passant square only where the capture is legal.
        self._seen = (*seen, board.epd())
        self._moves = moves
        self._start_fen = board.fen() if start_fen is None else start_fen

    @property
    def game(self) -> str:
        return "chess"

    @property
    def start_fen(self) -> str:
        return self._start_fen

    @property
    def moves(self) -> tuple[str, ...]:
        return self._moves

    @property
    def side_to_move(self) -> Side:
        return "first" if self._board.turn == chess.WHITE else "second"

    @property
    def fen(self) -> str:
        return f"{self._seen[-1]} {self._board.halfmove_clock} {self._board.fullmove_number}"

    @property
    def in_check(self) -> bool:
        return self._board.is_check()

    def legal_moves(self) -> tuple[str, ...]:
        """UCI moves in the order of their text (`a2a3` before `a2a4`); castling is the king's move (`e1g1`).

        Empty in checkmate and stalemate only: after a draw by another rule the pieces could still move.
        """
        return self._legal_moves

    @cached_property
    def _legal_moves(self) -> tuple[str, ...]:
        return tuple(sorted(move.uci() for move in self._board.legal_moves))

    def play(self, move: str) -> ChessPosition:
        board = self._board.copy(stack=False)
        board.push(self._legal(move))
        board.clear_stack()
        seen = self._seen if board.halfmove_clock else ()
        return ChessPosition(board, self._start_fen, (*self._moves, move), seen)

    def outcome(self) -> Outcome | None:
        return self._outcome

    @cached_property
    def _outcome(self) -> Outcome | None:
        if not self._legal_moves:
            if not self._board.is_check():
                return Outcome(None, "stalemate")
            return Outcome("second" if self.side_to_move == "first" else "first", "checkmate")
        if self._board.is_insufficient_material():
            return Outcome(None, "insufficient-material")
        if self._seen.count(self._seen[-1]) >= 3:
            return Outcome(None, "threefold-repetition")
        if self._board.halfmove_clock >= 100:
            return Outcome(None, "fifty-moves")
        return None

    def san(self, move: str) -> str:
        return self._board.copy(stack=False).san(self._legal(move))  # it tries the move on the board it has

    def parse(self, text: str) -> str:
        """Canonical move for exactly one move in UCI or SAN.

        UCI is lower case and names a promotion (`e7e8q`). SAN is that of the PGN standard: capital piece
        letters, `x` on captures and only there, `=Q` on promotions, castling with letters O; the origin may
        be given more fully than needed (`Ng1f3`), not less. A check, mate or annotation suffix may follow
        (`+`, `#`, at most two of `!?`) and is not compared with the position. Anything else is no move,
        castling with zeros and null moves included. Raises IllegalMoveError for a well-formed move that is
        not legal here, ValueError for no move and for a SAN that fits several moves.
        """
        if _UCI.fullmatch(text):
            return self._legal(text).uci()
        shape = _SAN.fullmatch(text)
        if shape is None or not _is_san(shape):
            raise ValueError(f"{text!r} is not a move in UCI or SAN")
        fitting = [move.uci() for move in self._board.legal_moves if self._fits(move, shape)]
        if not fitting:
            raise IllegalMoveError(f"{text!r} is not legal in {self.fen}")
        if len(fitting) > 1:
            raise ValueError(f"{text!r} is ambiguous: it could be {' or '.join(sorted(fitting))}")
        return fitting[0]

    def text(self) -> str:
        """Eight ranks with their numbers, then the files: White's pieces are capitals, a dot is empty."""
        ranks = zip("87654321", str(self._board).splitlines(), strict=True)
        return "\n".join([*(f"{number} {row}" for number, row in ranks), "  a b c d e f g h"])

    def _legal(self, move: str) -> chess.Move:
        if move not in self._legal_moves:
            raise IllegalMoveError(f"{move!r} is not legal in {self.fen}")
        return chess.Move.from_uci(move)

    def _fits(self, move: chess.Move, san: re.Match[str]) -> bool:
        """Whether the legal `move` is one that `san` describes."""
        board = self._board
        if board.is_castling(move):
            return san["castling"] == ("O-O" if board.is_kingside_castling(move) else "O-O-O")
        if san["castling"]:
            return False
        origin = chess.square_name(move.from_square)
        piece = chess.Piece.from_symbol(san["piece"] or "P").piece_type
        promotion = chess.Piece.from_symbol(san["promotion"]).piece_type if san["promotion"] else None
        return (
            board.piece_type_at(move.from_square) == piece
            and chess.square_name(move.to_square) == san["target"]
            and move.promotion == promotion
            and board.is_capture(move) == bool(san["capture"])
            and san["file"] in (None, origin[0])
            and san["rank"] in (None, origin[1])
        )


def _is_san(shape: re.Match[str]) -> bool:
    """A pawn's capture names its file (`exd5`), its other moves only the target; no piece promotes."""
    if shape["castling"]:
        return True
    if shape["piece"]:
        return shape["promotion"] is None
    return shape["rank"] is None and bool(shape["file"]) == bool(shape["capture"])


def _board(fen: str) -> chess.Board:
    """The board of `fen`. Raises InvalidPositionError that names the fault."""
    fields = fen.split()
    if len(fields) not in (4, 6):
        raise InvalidPositionError(f"cannot read FEN {fen!r}: it needs 6 fields, or the first 4, not {len(fields)}")
    for field, (name, pattern, wanted) in zip(fields, _FEN_FIELDS, strict=False):
        if not pattern.fullmatch(field):
            raise InvalidPositionError(f"cannot read FEN {fen!r}: {name} {field!r} should be {wanted}")
    try:
        board = chess.Board(fen)
    except ValueError as error:
        raise InvalidPositionError(f"cannot read FEN {fen!r}: {error}") from error
    if status := board.status():
        faults = (
            _FAULTS.get(flag) or str(flag.name).lower().replace("_", " ") for flag in chess.Status if flag & status
        )
        raise InvalidPositionError(f"impossible position {fen!r}: {'; '.join(faults)}")
    return board
