"""Which version of the tables a database has, and bringing an older one up to date."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from arena.errors import StoreError

HEAD = "0004"
"""Revision of the tables in `models`; revisions are numbered, so that a newer one can be told."""

VERSION_TABLE = "arena_version"
SCRIPTS = Path(__file__).resolve().parent / "migrations"


def revision(connection: Connection) -> str | None:
    """The database's revision, None if it is empty.

    Raises StoreError if the tables belong to a newer version of arena or to another application.
    """
    tables = inspect(connection).get_table_names()
    if not tables:
        return None
    if VERSION_TABLE not in tables:
        raise StoreError(f"it holds the tables of another application ({', '.join(sorted(tables)[:3])})")
    found: str | None = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
    if found is not None and found > HEAD:
        raise StoreError(
            f"it was written by a newer version of arena (tables {found}, this one has {HEAD}): upgrade arena"
        )
    return found


def upgrade(connection: Connection, target: str = "head") -> None:
    """Run the migrations up to `target` inside the connection's transaction.

    It must have begun as a writer's: that is the lock by which two processes opening a new file take turns.
    """
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, target)
