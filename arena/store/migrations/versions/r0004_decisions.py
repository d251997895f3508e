"""What else a move could have been: the decisions that led to it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("moves", sa.Column("decisions", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("moves", "decisions")
