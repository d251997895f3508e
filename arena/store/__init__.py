"""The record: SQLite through SQLAlchemy, one writer, migrations by Alembic."""
