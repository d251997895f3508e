"""Tournaments: which runs ask for the same games, in which round a game is, and the moves of its opening."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("runs", sa.Column("content_hash", sa.String(), nullable=True))
    op.create_index("ix_runs_content_hash", "runs", ["content_hash"])
    op.add_column("games", sa.Column("round", sa.Integer(), nullable=True))
    op.add_column("games", sa.Column("opening_moves", sa.String(), nullable=True))
