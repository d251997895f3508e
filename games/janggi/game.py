"""Janggi behind the Position contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import ClassVar

from games.base import Game, IllegalMoveError, Outcome, Position, Side
from games.janggi import board_text, endings, fen, movegen, notation
from games.janggi.endings import Ply
from games.janggi.geometry import EMPTY, MOVE_NAMES, MOVE_OF
from games.janggi.movegen import Move
from games.janggi.rules import CASUAL, JANGGI, MODERN, TRADITIONAL, RuleSet
from games.janggi.setups import OPENINGS

_SIDES: dict[Side, str] = {"first": "Cho", "second": "Han"}


class Janggi(Game):
    """The rule set `janggi`: bikjang and long games are decided by points."""

    rules: ClassVar[RuleSet] = JANGGI

    @property
    def name(self) -> str:
        return self.rules.name

    @property
    def sides(self) -> dict[Side, str]:
        return dict(_SIDES)

    @property
    def rule_policy(self) -> str:
        return self.rules.describe()

    @property
    def openings(self) -> Mapping[str, str]:
        return OPENINGS

    def position(self, fen: str | None = None, moves: Sequence[str] = ()) -> JanggiPosition:
        """The start position (both sides masangsangma), or `fen`, after `moves`. See `games.janggi.fen` for its forms.

        Raises InvalidPositionError, IllegalMoveError.
        """
        position = JanggiPosition.from_fen(self.rules, fen)
        for move in moves:
            position = position.play(move)
        return position


class JanggiTraditional(Janggi):
    """The rule set `janggitraditional`: bikjang and long games are drawn."""

    rules = TRADITIONAL


class JanggiModern(Janggi):
    """The rule set `janggimodern`: no bikjang; points decide; moving to and fro loses."""

    rules = MODERN


class JanggiCasual(Janggi):
    """The rule set `janggicasual`: no bikjang; long games are drawn."""

    rules = CASUAL


class JanggiPosition(Position):
    """A janggi position. Owns its board, which never changes.

    `line` are the positions that this one, its last, can be a repetition of: those since the last capture.
    """

    def __init__(
        self,
        rules: RuleSet,
        line: tuple[Ply, ...],
        *,
        cho: bool,
        clock: int,
        number: int,
        start_fen: str,
        moves: tuple[str, ...] = (),
    ) -> None:
        self._rules = rules
        self._line = line
        self._cho = cho
        self._clock = clock
        self._number = number
        self._start_fen = start_fen
        self._moves = moves

    @classmethod
    def from_fen(cls, rules: RuleSet, text: str | None = None) -> JanggiPosition:
        """The position that `text` describes, without history. Raises InvalidPositionError."""
        placed = fen.read_fen(fen.START if text is None else text)
        return cls(
            rules,
            (Ply(placed.board, movegen.in_check(placed.board, placed.cho)),),
            cho=placed.cho,
            clock=placed.clock,
            number=placed.number,
            start_fen=fen.write_fen(placed.board, placed.cho, placed.clock, placed.number),
        )

    @property
    def game(self) -> str:
        return self._rules.name

    @property
    def board(self) -> str:
        """The 90 points from a1 to i10, rank by rank: FEN letters, `.` for an empty one (`games.janggi.geometry`)."""
        return self._line[-1].board

    @property
    def start_fen(self) -> str:
        return self._start_fen

    @property
    def moves(self) -> tuple[str, ...]:
        return self._moves

    @property
    def side_to_move(self) -> Side:
        return "first" if self._cho else "second"

    @property
    def fen(self) -> str:
        return fen.write_fen(self.board, self._cho, self._clock, self._number)

    @property
    def in_check(self) -> bool:
        return self._line[-1].check

    @property
    def is_bikjang(self) -> bool:
        """Whether the generals face each other and the rule set minds."""
        return self._rules.bikjang and movegen.facing(self.board) is not None

    @property
    def plies_since_capture(self) -> int:
        """Of those played since `start_fen`; the clock in the FEN may have begun earlier."""
        return len(self._line) - 1

    @property
    def points(self) -> dict[Side, float] | None:
        return endings.count_points(self.board) if self._rules.points else None

    def legal_moves(self) -> tuple[str, ...]:
        """Moves in Fairy-Stockfish's coordinates, in the order of their text (`a10a9` before `a1a2`).

        A pass is the general's own point twice (`e2e2`). Empty in checkmate, after bikjang was accepted and after
        both sides have passed: other ends leave the pieces their moves.
        """
        return self._legal_moves

    @cached_property
    def _legal_moves(self) -> tuple[str, ...]:
        if self._immediate_end is not None:
            return ()
        moves = movegen.legal_moves(self.board, self._cho, bikjang=self._rules.bikjang)
        return tuple(sorted([MOVE_NAMES[origin][target] for origin, target in moves]))

    def play(self, move: str) -> JanggiPosition:
        origin, target = self.squares(move)
        board = movegen.after(self.board, origin, target)
        captured = origin != target and self.board[target] != EMPTY
        ply = Ply(board, movegen.in_check(board, not self._cho), (origin, target), captured)
        return JanggiPosition(
            self._rules,
            (ply,) if captured else (*self._line, ply),
            cho=not self._cho,
            clock=0 if captured else self._clock + 1,
            number=self._number + (not self._cho),
            start_fen=self._start_fen,
            moves=(*self._moves, move),
        )

    def outcome(self) -> Outcome | None:
        """The result if the game is over, ends that a player could claim taken at once. Checkmate outranks all but
        an accepted bikjang; `README.md` of this package lists the terminations."""
        return self._outcome

    @cached_property
    def _immediate_end(self) -> Outcome | None:
        return endings.immediate_end(self._line, self._rules)

    @cached_property
    def _outcome(self) -> Outcome | None:
        if self._immediate_end is not None:
            return self._immediate_end
        if self.in_check and not self._legal_moves:
            return Outcome("second" if self._cho else "first", "checkmate")
        return endings.drawn_out_end(self._line, self._clock, self.side_to_move, self._rules)

    def is_pass(self, move: str) -> bool:
        origin, target = MOVE_OF[move]
        return origin == target

    def winner_on_points(self) -> Side | None:
        return endings.leader(self.board) if self._rules.points else None

    def san(self, move: str) -> str:
        return notation.san(self, move)

    def parse(self, text: str) -> str:
        return notation.parse(self, text)

    def text(self) -> str:
        return board_text.text(self)

    def squares(self, move: str) -> Move:
        """Origin and target of a legal move as points; a pass is the same twice. Raises IllegalMoveError."""
        if move not in self._legal_moves:
            raise IllegalMoveError(f"{move!r} is not legal in {self.fen}")
        return MOVE_OF[move]
