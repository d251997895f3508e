"""Alembic's scripts: `env.py` runs them on a given connection; `versions/` holds one module a revision."""
