"""Scores of an engine, for the side to move: centipawns, and mates as the far ends of the same scale."""

from __future__ import annotations

import re

MATE = 100_000
"""The score of having mated. A mate in n moves is worth `MATE - n`, being mated in n `n - MATE`."""

_SCORE = re.compile(r"\bscore (cp|mate) (-?\d+)")
_OTHER_LINE = re.compile(r"\bmultipv (?!1\b)\d")


def mate_score(moves: int) -> int:
    """The score of a mate as UCI tells it: in so many moves, negative if it is the side to move that is mated; 0 is
    that it is mated already."""
    return MATE - moves if moves > 0 else -MATE - moves


def mate_in(score: int) -> int | None:
    """The inverse of `mate_score`; None for a score that is no mate."""
    if abs(score) <= MATE - 1000:
        return None
    return MATE - score if score > 0 else -MATE - score


def read_score(line: str) -> int | None:
    """The score that an `info` line tells of the best line of play; None if it tells none."""
    if not line.startswith("info ") or _OTHER_LINE.search(line):
        return None
    told = _SCORE.search(line)
    if told is None:
        return None
    return int(told[2]) if told[1] == "cp" else mate_score(int(told[2]))


def score_text(score: int) -> str:
    """As people write it: `+0.35`, `-1.20`, `#5`, `#-3`; `won` or `lost` where the game is over."""
    mate = mate_in(score)
    if mate is None:
        return f"{score / 100:+.2f}"
    return f"#{mate}" if mate else "won" if score > 0 else "lost"
