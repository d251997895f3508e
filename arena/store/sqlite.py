"""How we connect to SQLite: write-ahead log, full durability, and transactions that say when they write."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.pool import QueuePool

BUSY_TIMEOUT_S = 30.0
WAL_LIMIT_BYTES = 16 * 1024 * 1024

READ_ONLY_FOLDER = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
"""Primary result codes of opening a write-ahead-log database where its side files cannot be made."""


def sqlite_engine(path: Path, *, create: bool, read_only: bool = False) -> Engine:
    """An engine on the file `path`; with `read_only` SQLite itself refuses to write, not even a checkpoint.

    Transactions begin as `BEGIN`, or as `BEGIN IMMEDIATE` on a connection with the execution option `writes`:
    a writer waits for its turn at the start, and never fails half way because a reader became a writer.
    """
    engine = create_engine(
        "sqlite://", creator=_connector(path, create=create, read_only=read_only), poolclass=QueuePool
    )

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _connector(path: Path, *, create: bool, read_only: bool) -> Callable[[], sqlite3.Connection]:
    mode = "rwc" if create else "ro" if read_only else "rw"

    def connect() -> sqlite3.Connection:
        try:
            return _open(path, f"mode={mode}", wal=create)
        except sqlite3.OperationalError as error:
            unreadable = (error.sqlite_errorcode & 0xFF) in READ_ONLY_FOLDER
            if create or not unreadable or path.with_name(path.name + "-wal").exists():
                raise
            # A closed record in a folder that we may not write to. It has no log, so the file alone is whole.
            return _open(path, "mode=ro&immutable=1", wal=False)

    return connect


def _open(path: Path, options: str, *, wal: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?{options}",
        uri=True,
        timeout=BUSY_TIMEOUT_S,
        isolation_level=None,  # the driver begins no transactions of its own
        check_same_thread=False,
    )
    try:
        if wal:
            _use_wal(connection, path)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")  # on macOS a plain fsync does not reach the disk
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT_BYTES}")
        connection.execute("SELECT count(*) FROM sqlite_master")  # opening is lazy; fail here, not later
    except BaseException:
        connection.close()
        raise
    return connection


def _use_wal(connection: sqlite3.Connection, path: Path) -> None:
    """Switch to the write-ahead log, which the file remembers. SQLite does not wait its turn here; we do."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            break
        except sqlite3.OperationalError as error:
            if (error.sqlite_errorcode & 0xFF) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    if mode != "wal":
        raise sqlite3.OperationalError(f"the file system of {path} does not allow a write-ahead log")
