"""Legality at first try: how often an agent that answers in free text is right at once, whatever its retries repair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from arena.store.models import AgentRow, AttemptRow, GameRow

ANSWERED = (None, "truncated", "empty", "unparsable", "illegal")
"""Failures of a first try that was an answer; time and crashes are no question of legality."""


@dataclass(frozen=True, slots=True)
class FirstTries:
    """Of `answers` to the question for a move, `legal` were legal moves as they were."""

    answers: int
    legal: int

    @classmethod
    def of(cls, failures: Iterable[str | None]) -> FirstTries:
        """From what was wrong with each first try, None being nothing."""
        counts = Counter(failure for failure in failures if failure in ANSWERED)
        return cls(counts.total(), counts[None])

    def __str__(self) -> str:
        return f"{self.legal}/{self.answers} ({self.legal / self.answers:.0%})" if self.answers else "none"


def first_tries(session: Session, run_id: int) -> dict[str, FirstTries]:
    """By the name of each agent of the run that answers in free text."""
    agents = session.execute(select(AgentRow.id, AgentRow.name, AgentRow.settings).where(AgentRow.run_id == run_id))
    free = {row.id: row.name for row in agents if row.settings.get("legality", "constrained") != "constrained"}
    found: dict[str, Counter[str | None]] = {name: Counter() for name in free.values()}
    counted = (
        select(AttemptRow.agent_id, AttemptRow.failure, func.count())
        .join(GameRow, GameRow.id == AttemptRow.game_id)
        .where(GameRow.run_id == run_id, AttemptRow.number == 1)
        .group_by(AttemptRow.agent_id, AttemptRow.failure)
    )
    for agent_id, failure, count in session.execute(counted):
        if agent_id in free:
            found[free[agent_id]][failure] += count
    return {name: FirstTries.of(counts.elements()) for name, counts in found.items()}
