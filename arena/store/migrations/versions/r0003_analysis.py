"""What judges think of positions: judges, assessments."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "judges",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("spec", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_judges"),
        sa.UniqueConstraint("spec", "version", name="uq_judges_spec_version"),
    )
    op.create_table(
        "assessments",
        sa.Column("game_id", sa.Integer(), nullable=False),
        sa.Column("judge_id", sa.Integer(), nullable=False),
        sa.Column("ply", sa.Integer(), nullable=False),
        sa.Column("best", sa.String(), nullable=True),
        sa.Column("score", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["game_id"], ["games.id"], name="fk_assessments_game_id"),
        sa.ForeignKeyConstraint(["judge_id"], ["judges.id"], name="fk_assessments_judge_id"),
        sa.PrimaryKeyConstraint("game_id", "judge_id", "ply", name="pk_assessments"),
    )


def downgrade() -> None:
    op.drop_table("assessments")
    op.drop_table("judges")
