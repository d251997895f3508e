"""The tables, as typed models. Migrations build them; a test holds the two together."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    Index,
    MetaData,
)
from sqlalchemy import UniqueConstraint as Unique
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}


class UtcDateTime(TypeDecorator[datetime]):
    """An aware time, stored as UTC without a zone and read back as UTC. Raises ValueError for a naive one."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"a stored time needs a zone, {value.isoformat()} has none")
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map: ClassVar = {
        datetime: UtcDateTime,
        float: Double,
        dict[str, Any]: JSON,
        list[Any]: JSON(none_as_null=True),
    }


class RunRow(Base):
    """One invocation of `arena play` or `arena tournament`, with everything it was started with. `content_hash` is a
    tournament's: equal for those that ask for the same games."""

    __tablename__ = "runs"
    __table_args__ = (CheckConstraint("status IN ('running', 'finished', 'interrupted', 'failed')", name="status"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    status: Mapped[str]
    detail: Mapped[str] = mapped_column(default="")
    seed: Mapped[int] = mapped_column(BigInteger)
    model: Mapped[str | None]
    model_checksum: Mapped[str | None]
    config: Mapped[dict[str, Any]]
    environment: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    content_hash: Mapped[str | None] = mapped_column(index=True)


class AgentRow(Base):
    __tablename__ = "agents"
    __table_args__ = (Unique("run_id", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"))
    name: Mapped[str]
    spec: Mapped[str]
    settings: Mapped[dict[str, Any]]


class GameRow(Base):
    """A game of a run's schedule, and how it went.

    `start_fen` is the schedule's (None: the game's own start), and so are `opening_moves`, a space between each
    two; `initial_fen` is what was set up, known once the game has started. `line_hash` covers game, initial
    position and moves, and is set when the game ends.
    `duplicate_of` names the lowest-numbered finished game of the same run with the same line; void games are
    neither originals nor duplicates.
    """

    __tablename__ = "games"
    __table_args__ = (
        Unique("run_id", "schedule_index", "replay"),
        Index(None, "run_id", "status"),
        Index(None, "run_id", "line_hash"),
        CheckConstraint("status IN ('scheduled', 'playing', 'finished')", name="status"),
        CheckConstraint("(status = 'finished') = (result IS NOT NULL)", name="finished_has_result"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"))
    schedule_index: Mapped[int]
    replay: Mapped[int] = mapped_column(default=0)
    white_id: Mapped[int] = mapped_column(ForeignKey("agents.id"), index=True)
    black_id: Mapped[int] = mapped_column(ForeignKey("agents.id"), index=True)
    game: Mapped[str]
    seed: Mapped[int] = mapped_column(BigInteger)
    max_plies: Mapped[int]
    rule_policy: Mapped[str]
    pair: Mapped[int | None]
    opening: Mapped[str | None]
    start_fen: Mapped[str | None]
    initial_fen: Mapped[str | None]
    white_template: Mapped[str | None]
    black_template: Mapped[str | None]
    model_checksum: Mapped[str | None]
    status: Mapped[str] = mapped_column(default="scheduled")
    result: Mapped[str | None]
    termination: Mapped[str | None]
    detail: Mapped[str] = mapped_column(default="")
    void: Mapped[bool] = mapped_column(default=False)
    plies: Mapped[int] = mapped_column(default=0)
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    line_hash: Mapped[str | None]
    duplicate_of: Mapped[int | None] = mapped_column(ForeignKey("games.id"))
    round: Mapped[int | None]
    opening_moves: Mapped[str | None]


class MoveRow(Base):
    """A ply: what was played, under which policy, and what it cost (tokens; milliseconds). `decisions` are as in
    `arena.events.MovePlayed`; None: none are known."""

    __tablename__ = "moves"
    __table_args__ = (Unique("game_id", "ply"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    game_id: Mapped[int] = mapped_column(ForeignKey("games.id"))
    ply: Mapped[int]
    agent_id: Mapped[int] = mapped_column(ForeignKey("agents.id"))
    side: Mapped[str]
    move: Mapped[str]
    san: Mapped[str]
    fen: Mapped[str]
    policy: Mapped[str]
    prompt_tokens: Mapped[int]
    cached_tokens: Mapped[int]
    forwarded_tokens: Mapped[int]
    generated_tokens: Mapped[int]
    forward_passes: Mapped[int]
    queue_ms: Mapped[float]
    prefill_ms: Mapped[float]
    decode_ms: Mapped[float]
    ttft_ms: Mapped[float]
    total_ms: Mapped[float]
    batch_size: Mapped[int]
    probability: Mapped[float | None]
    clock_ms: Mapped[float | None]
    played_at: Mapped[datetime]
    decisions: Mapped[list[Any] | None]


class AttemptRow(Base):
    """One try at a ply, numbered from 1; also at a ply that never got a move."""

    __tablename__ = "attempts"
    __table_args__ = (Unique("game_id", "ply", "number"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    game_id: Mapped[int] = mapped_column(ForeignKey("games.id"))
    ply: Mapped[int]
    number: Mapped[int]
    agent_id: Mapped[int] = mapped_column(ForeignKey("agents.id"))
    text: Mapped[str]
    failure: Mapped[str | None]
    detail: Mapped[str]
    seed: Mapped[int | None] = mapped_column(BigInteger)
    prompt_tokens: Mapped[int]
    cached_tokens: Mapped[int]
    forwarded_tokens: Mapped[int]
    generated_tokens: Mapped[int]
    total_ms: Mapped[float]
    at: Mapped[datetime]


class JudgeRow(Base):
    """An engine that assessed positions: the spec it was named by, and what it calls itself."""

    __tablename__ = "judges"
    __table_args__ = (Unique("spec", "version"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    spec: Mapped[str]
    version: Mapped[str]


class AssessmentRow(Base):
    """What a judge thinks of a game's position after `ply` plies: its best move (None: the game is over there) and the
    score for the side to move, on the scale of `agents.uci.score`."""

    __tablename__ = "assessments"

    game_id: Mapped[int] = mapped_column(ForeignKey("games.id"), primary_key=True)
    judge_id: Mapped[int] = mapped_column(ForeignKey("judges.id"), primary_key=True)
    ply: Mapped[int] = mapped_column(primary_key=True)
    best: Mapped[str | None]
    score: Mapped[int]


class EngineSampleRow(Base):
    """The engine's figures at one moment of a run."""

    __tablename__ = "engine_samples"
    __table_args__ = (Index(None, "run_id", "at"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"))
    at: Mapped[datetime]
    figures: Mapped[dict[str, Any]]
