"""The first tables: runs, agents, games, moves, attempts, engine samples."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("detail", sa.String(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("model", sa.String(), nullable=True),
        sa.Column("model_checksum", sa.String(), nullable=True),
        sa.Column("config", sa.JSON(), nullable=False),
        sa.Column("environment", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("ended_at", sa.DateTime(), nullable=True),
        sa.CheckConstraint("status IN ('running', 'finished', 'interrupted', 'failed')", name="ck_runs_status"),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.UniqueConstraint("name", name="uq_runs_name"),
    )
    op.create_table(
        "agents",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("spec", sa.String(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_agents_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_agents"),
        sa.UniqueConstraint("run_id", "name", name="uq_agents_run_id_name"),
    )
    op.create_table(
        "engine_samples",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("figures", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_engine_samples_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_engine_samples"),
    )
    op.create_index("ix_engine_samples_run_id_at", "engine_samples", ["run_id", "at"], unique=False)
    op.create_table(
        "games",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("schedule_index", sa.Integer(), nullable=False),
        sa.Column("replay", sa.Integer(), nullable=False),
        sa.Column("white_id", sa.Integer(), nullable=False),
        sa.Column("black_id", sa.Integer(), nullable=False),
        sa.Column("game", sa.String(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("max_plies", sa.Integer(), nullable=False),
        sa.Column("rule_policy", sa.String(), nullable=False),
        sa.Column("pair", sa.Integer(), nullable=True),
        sa.Column("opening", sa.String(), nullable=True),
        sa.Column("start_fen", sa.String(), nullable=True),
        sa.Column("initial_fen", sa.String(), nullable=True),
        sa.Column("white_template", sa.String(), nullable=True),
        sa.Column("black_template", sa.String(), nullable=True),
        sa.Column("model_checksum", sa.String(), nullable=True),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("result", sa.String(), nullable=True),
        sa.Column("termination", sa.String(), nullable=True),
        sa.Column("detail", sa.String(), nullable=False),
        sa.Column("void", sa.Boolean(), nullable=False),
        sa.Column("plies", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=True),
        sa.Column("ended_at", sa.DateTime(), nullable=True),
        sa.Column("line_hash", sa.String(), nullable=True),
        sa.Column("duplicate_of", sa.Integer(), nullable=True),
        sa.CheckConstraint("(status = 'finished') = (result IS NOT NULL)", name="ck_games_finished_has_result"),
        sa.CheckConstraint("status IN ('scheduled', 'playing', 'finished')", name="ck_games_status"),
        sa.ForeignKeyConstraint(["black_id"], ["agents.id"], name="fk_games_black_id"),
        sa.ForeignKeyConstraint(["duplicate_of"], ["games.id"], name="fk_games_duplicate_of"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_games_run_id"),
        sa.ForeignKeyConstraint(["white_id"], ["agents.id"], name="fk_games_white_id"),
        sa.PrimaryKeyConstraint("id", name="pk_games"),
        sa.UniqueConstraint("run_id", "schedule_index", "replay", name="uq_games_run_id_schedule_index_replay"),
    )
    op.create_index("ix_games_black_id", "games", ["black_id"], unique=False)
    op.create_index("ix_games_run_id_line_hash", "games", ["run_id", "line_hash"], unique=False)
    op.create_index("ix_games_run_id_status", "games", ["run_id", "status"], unique=False)
    op.create_index("ix_games_white_id", "games", ["white_id"], unique=False)
    op.create_table(
        "attempts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("game_id", sa.Integer(), nullable=False),
        sa.Column("ply", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("agent_id", sa.Integer(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("failure", sa.String(), nullable=True),
        sa.Column("detail", sa.String(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=True),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("cached_tokens", sa.Integer(), nullable=False),
        sa.Column("forwarded_tokens", sa.Integer(), nullable=False),
        sa.Column("generated_tokens", sa.Integer(), nullable=False),
        sa.Column("total_ms", sa.Double(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["agent_id"], ["agents.id"], name="fk_attempts_agent_id"),
        sa.ForeignKeyConstraint(["game_id"], ["games.id"], name="fk_attempts_game_id"),
        sa.PrimaryKeyConstraint("id", name="pk_attempts"),
        sa.UniqueConstraint("game_id", "ply", "number", name="uq_attempts_game_id_ply_number"),
    )
    op.create_table(
        "moves",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("game_id", sa.Integer(), nullable=False),
        sa.Column("ply", sa.Integer(), nullable=False),
        sa.Column("agent_id", sa.Integer(), nullable=False),
        sa.Column("side", sa.String(), nullable=False),
        sa.Column("move", sa.String(), nullable=False),
        sa.Column("san", sa.String(), nullable=False),
        sa.Column("fen", sa.String(), nullable=False),
        sa.Column("policy", sa.String(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("cached_tokens", sa.Integer(), nullable=False),
        sa.Column("forwarded_tokens", sa.Integer(), nullable=False),
        sa.Column("generated_tokens", sa.Integer(), nullable=False),
        sa.Column("forward_passes", sa.Integer(), nullable=False),
        sa.Column("queue_ms", sa.Double(), nullable=False),
        sa.Column("prefill_ms", sa.Double(), nullable=False),
        sa.Column("decode_ms", sa.Double(), nullable=False),
        sa.Column("ttft_ms", sa.Double(), nullable=False),
        sa.Column("total_ms", sa.Double(), nullable=False),
        sa.Column("batch_size", sa.Integer(), nullable=False),
        sa.Column("probability", sa.Double(), nullable=True),
        sa.Column("clock_ms", sa.Double(), nullable=True),
        sa.Column("played_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["agent_id"], ["agents.id"], name="fk_moves_agent_id"),
        sa.ForeignKeyConstraint(["game_id"], ["games.id"], name="fk_moves_game_id"),
        sa.PrimaryKeyConstraint("id", name="pk_moves"),
        sa.UniqueConstraint("game_id", "ply", name="uq_moves_game_id_ply"),
    )


def downgrade() -> None:

    op.drop_table("moves")
    op.drop_table("attempts")
    op.drop_index("ix_games_white_id", table_name="games")
    op.drop_index("ix_games_run_id_status", table_name="games")
    op.drop_index("ix_games_run_id_line_hash", table_name="games")
    op.drop_index("ix_games_black_id", table_name="games")
    op.drop_table("games")
    op.drop_index("ix_engine_samples_run_id_at", table_name="engine_samples")
    op.drop_table("engine_samples")
    op.drop_table("agents")
    op.drop_table("runs")
