"""Time controls: what a move is charged, when a flag falls, what is left. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from agents.base import FLAG_MARGIN_MS, Clock
from games.base import Side

Charge = Literal["compute", "wall"]
"""`compute`: a move's wall time, less what its requests stood in a queue: for a place in the engine's batch, or for a
process of a UCI engine. `wall`: all of its wall time."""

QUEUE_PATIENCE_S = 60.0
"""How long past its flag an agent that may be queueing is waited for: only its answer tells how long it queued."""

_SHAPE = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)(?:\+(\d{1,6}(?:\.\d{1,3})?))?")


@dataclass(frozen=True, slots=True)
class TimeControl:
    """So much time for the whole game, and so much more with each move, in milliseconds."""

    base_ms: float
    increment_ms: float
    charge: Charge = "compute"

    @classmethod
    def parse(cls, text: str, charge: Charge = "compute") -> TimeControl:
        """Reads `60+1` or `300`, in seconds. Raises ValueError."""
        shape = _SHAPE.fullmatch(text)
        if shape is None or float(shape[1]) == 0:
            raise ValueError("must be seconds for the game and seconds a move, such as 60+1 or 300")
        return cls(float(shape[1]) * 1000, float(shape[2] or 0) * 1000, charge)

    def __str__(self) -> str:
        """As `parse` reads it, and as PGN's tag TimeControl wants it."""
        increment = f"+{self.increment_ms / 1000:g}" if self.increment_ms else ""
        return f"{self.base_ms / 1000:g}{increment}"

    def clock(self, last: Mapping[Side, float]) -> Clock:
        """The clocks of a game, from what each side had `last`: nothing before its first move."""
        return Clock(last.get("first", self.base_ms), last.get("second", self.base_ms), self.increment_ms)

    def charged_ms(self, total_ms: float, queue_ms: float) -> float:
        """What a move that took `total_ms` is charged, `queue_ms` of it spent in a queue."""
        return total_ms if self.charge == "wall" else max(0.0, total_ms - queue_ms)

    def after_move(self, left_ms: float, charged_ms: float) -> float | None:
        """What is left after a move that was charged `charged_ms`, the increment included; None: the flag fell.

        A flag falls FLAG_MARGIN_MS late; a clock does not go below zero.
        """
        if charged_ms > left_ms + FLAG_MARGIN_MS:
            return None
        return max(0.0, left_ms - charged_ms) + self.increment_ms

    def patience_s(self, left_ms: float, *, queues: bool) -> float:
        """Wall seconds after which an agent that has not answered has lost; `queues` says whether it may be in line."""
        own = (left_ms + FLAG_MARGIN_MS) / 1000
        return own + QUEUE_PATIENCE_S if queues and self.charge == "compute" else own


def clock_text(ms: float) -> str:
    """What a clock shows: minutes and seconds left; tenths in the last twenty seconds."""
    tenths = max(0, int(ms // 100))
    minutes, seconds = divmod(tenths // 10, 60)
    return f"{minutes}:{seconds:02}" + (f".{tenths % 10}" if tenths < 200 else "")
