"""Run by Alembic. The caller passes the connection, with its transaction begun, in `config.attributes`."""

from __future__ import annotations

from alembic import context

from arena.store.migrate import VERSION_TABLE
from arena.store.models import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,  # SQLite can, if the driver begins no transactions of its own
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
