"""The four rule sets, by Fairy-Stockfish's names: they differ in what ends a game, and how."""

from __future__ import annotations

from dataclasses import dataclass

PIECE_POINTS = {"K": 0, "A": 3, "R": 13, "C": 7, "N": 5, "B": 3, "P": 2}
HAN_BONUS = 1.5
"""Deom: what Han gets for moving second. It also rules out a tie."""


@dataclass(frozen=True, slots=True)
class RuleSet:
    """`points` decide what would else be a draw; `quiet_plies` without a capture end the game.

    `bikjang`: facing generals must be parted, or accepted by a pass, which ends the game. `repeated_move_loses`: who
    moves a piece to and fro a third time loses, and a position may come four times instead of three.
    """

    name: str
    points: bool
    bikjang: bool
    repeated_move_loses: bool
    quiet_plies: int

    @property
    def occurrences(self) -> int:
        """The occurrence of a position that ends the game."""
        return 4 if self.repeated_move_loses else 3

    def describe(self) -> str:
        """One line that names every choice."""
        ends = ["double-pass", f"repetition (occurrence {self.occurrences})", f"move-limit ({self.quiet_plies} plies)"]
        if self.bikjang:
            ends.insert(0, "bikjang accepted by a pass")
        by = "decided by points, 1.5 for Han" if self.points else "drawn"
        repeated = "; moving to and fro a third time loses (repeated-move)" if self.repeated_move_loses else ""
        return (
            f"checkmate; pass unless in check, no stalemate; {', '.join(ends)}: {by}; "
            f"perpetual-check loses{repeated}; every end is taken at once"
        )


JANGGI = RuleSet("janggi", points=True, bikjang=True, repeated_move_loses=False, quiet_plies=100)
TRADITIONAL = RuleSet("janggitraditional", points=False, bikjang=True, repeated_move_loses=False, quiet_plies=100)
MODERN = RuleSet("janggimodern", points=True, bikjang=False, repeated_move_loses=True, quiet_plies=200)
CASUAL = RuleSet("janggicasual", points=False, bikjang=False, repeated_move_loses=False, quiet_plies=100)
