"""When the moves of a run were made, and how long each part of making them took."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import func, select

from arena.errors import UsageError
from arena.store.database import Database
from arena.store.models import GameRow, MoveRow, RunRow
from arena.store.runs import find_run


class MoveTime(NamedTuple):
    """A move that a model was asked for: when it was there, and the milliseconds that it took, `ttft_ms` and `total_ms`
    since it was asked for. `batch_size` is the most requests that shared one of its steps."""

    played_at: datetime
    queue_ms: float
    prefill_ms: float
    decode_ms: float
    ttft_ms: float
    total_ms: float
    batch_size: int


def newest_run(db: Database) -> int:
    """The number of the run that began last. Raises UsageError if none is recorded."""
    with db.reading() as session:
        newest: int | None = session.scalar(select(func.max(RunRow.id)))
    if newest is None:
        raise UsageError("no run is recorded yet; `arena play` plays one")
    return newest


def move_times(db: Database, run: int | str) -> list[MoveTime]:
    """The moves of a run that models were asked for, in the order in which they came. Raises UsageError for an unknown
    run."""
    with db.reading() as session:
        rows = session.execute(
            select(
                MoveRow.played_at,
                MoveRow.queue_ms,
                MoveRow.prefill_ms,
                MoveRow.decode_ms,
                MoveRow.ttft_ms,
                MoveRow.total_ms,
                MoveRow.batch_size,
            )
            .join(GameRow, GameRow.id == MoveRow.game_id)
            .where(GameRow.run_id == find_run(session, run).id, MoveRow.prompt_tokens > 0)
            .order_by(MoveRow.played_at, MoveRow.id)
        )
        return [MoveTime._make(row) for row in rows]
