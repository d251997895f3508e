"""What every game answers: the contract between rules and everybody else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Side = Literal["first", "second"]
"""Who moves: `first` is White in chess and Cho in janggi, `second` is Black and Han."""


class IllegalMoveError(ValueError):
    """A move that the position does not allow. The message names the move and the position."""


class InvalidPositionError(ValueError):
    """A position description that cannot be read or played from. The message names the fault."""


class UnknownGameError(ValueError):
    """A game that is not in the registry. The message lists those that are."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a game ended by its own rules. `winner` is None for a draw; `termination` is the rule's name."""

    winner: Side | None
    termination: str


class Position(ABC):
    """One position with the history that led to it; immutable to its callers.

    Moves are canonical strings: UCI for chess, Fairy-Stockfish's coordinates for janggi. The history belongs to the
    position because results depend on it (repetition).
    """

    @property
    @abstractmethod
    def game(self) -> str:
        """The registry name of the game, such as `chess`."""

    @property
    @abstractmethod
    def start_fen(self) -> str:
        """FEN of the position that the history starts from."""

    @property
    @abstractmethod
    def moves(self) -> tuple[str, ...]:
        """Canonical moves played since `start_fen`."""

    @property
    @abstractmethod
    def side_to_move(self) -> Side: ...

    @property
    @abstractmethod
    def fen(self) -> str:
        """FEN of this position."""

    @property
    @abstractmethod
    def in_check(self) -> bool:
        """Whether the side to move is in check."""

    @property
    def points(self) -> dict[Side, float] | None:
        """The points of both sides where the rules count them, else None."""
        return None

    @abstractmethod
    def legal_moves(self) -> tuple[str, ...]:
        """Canonical legal moves in a fixed, documented order; empty exactly when the rules leave none."""

    @abstractmethod
    def play(self, move: str) -> Position:
        """The position after `move`. Raises IllegalMoveError for any other string than a legal move."""

    @abstractmethod
    def outcome(self) -> Outcome | None:
        """The result if the game is over by its rules, else None."""

    def is_pass(self, move: str) -> bool:
        """Whether the canonical `move` moves nothing. Only some games have such a move."""
        return False

    def winner_on_points(self) -> Side | None:
        """Who wins if a limit outside the rules stops the game here; None, a draw, unless points are counted."""
        return None

    @abstractmethod
    def san(self, move: str) -> str:
        """Native notation of a legal canonical move (SAN for chess). Raises IllegalMoveError."""

    @abstractmethod
    def parse(self, text: str) -> str:
        """Canonical move for exactly one move in canonical or native notation.

        Strict: no prose, no decoration, letter case as the notation has it. Raises IllegalMoveError if the text
        is a well-formed move that is not legal here, ValueError if it is not a move at all.
        """

    @abstractmethod
    def text(self) -> str:
        """The board as plain text, first player's side at the bottom, one row a line."""


class Game(ABC):
    """A set of rules: makes positions."""

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    @abstractmethod
    def sides(self) -> dict[Side, str]:
        """Display names of the two sides, such as `{"first": "White", "second": "Black"}`."""

    @property
    @abstractmethod
    def rule_policy(self) -> str:
        """One line that names the choices where rule sets differ; stored with every game."""

    @property
    def openings(self) -> Mapping[str, str]:
        """Start positions that have a name, as FEN; empty if the game has none."""
        return {}

    @abstractmethod
    def position(self, fen: str | None = None, moves: Sequence[str] = ()) -> Position:
        """The start position, or `fen`, after `moves`. Raises InvalidPositionError, IllegalMoveError."""
