"""Opening the record, and the two ways to use it: reading and writing."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import Engine, create_engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.orm import Session

from arena.errors import NoSuchDatabaseError, StoreError
from arena.store.migrate import HEAD, revision, upgrade
from arena.store.sqlite import BUSY_TIMEOUT_S, sqlite_engine

logger = logging.getLogger(__name__)

ADVICE = {
    "database is locked": f"another program has kept it locked for {BUSY_TIMEOUT_S:.0f} s",
    "database or disk is full": "the disk is full",
    "attempt to write a readonly database": "it is write-protected",
    "file is not a database": "the file is not an SQLite database",
    "unable to open database file": "the file cannot be opened; check that it is a file and its permissions",
    "database disk image is malformed": "the file is damaged",
}


class Database:
    """Owns the SQLAlchemy engine of one record, and with it the connections; `close` gives them back.

    Invariant: an open database has the tables of this version. Safe to use from several threads.
    """

    def __init__(self, engine: Engine, name: str, path: Path | None = None) -> None:
        self.name = name
        self.path = path  # of the file; None for a database on a server
        self._engine = engine
        self._writes = engine.execution_options(writes=True)

    @classmethod
    def open(cls, where: str | Path, *, create: bool) -> Database:
        """Open the record at `where`, a path or a database URL, and bring older tables up to date.

        With `create` a missing file is made, and the database must be writable; without it a missing file is
        an error, and one that may only be read will do. Raises StoreError.
        """
        url = _url(where)
        path = _sqlite_path(url)
        name = str(path) if path is not None else url.render_as_string(hide_password=True)
        if path is not None:
            _check_path(path, create=create)
        with _explained(name):
            database = cls(_engine(url, path, create=create), name, path)
        try:
            database._bring_up_to_date(create=create)
        except BaseException:
            database.close()
            raise
        logger.info("opened the record %s", name)
        return database

    @classmethod
    def exists(cls, where: str | Path) -> bool:
        """Whether there is a file at `where`; a database on a server is taken to be there. Raises StoreError."""
        path = _sqlite_path(_url(where))
        return path is None or path.exists()

    @classmethod
    def view(cls, where: str | Path) -> Database:
        """Open the record at `where` to read it and nothing else: what is in the file stays as it is.

        Raises StoreError, also for tables of an older version: bringing them up to date would be writing.
        """
        url = _url(where)
        path = _sqlite_path(url)
        name = str(path) if path is not None else url.render_as_string(hide_password=True)
        if path is not None:
            _check_path(path, create=False)
        with _explained(name):
            database = cls(_engine(url, path, create=False, read_only=True), name, path)
        try:
            with _explained(name), database._engine.connect() as connection:
                found = revision(connection)
                if found is None:
                    raise StoreError("it is empty; `arena play` makes a record")
                if found != HEAD:
                    raise StoreError(
                        f"its tables are of an older version ({found}): `arena games` brings them up to date"
                    )
        except BaseException:
            database.close()
            raise
        return database

    @classmethod
    def check(cls, where: str | Path) -> None:
        """Raises StoreError if no record can be opened or made at `where`. Makes no file."""
        path = _sqlite_path(_url(where))
        if path is None or path.exists():
            cls.open(where, create=True).close()
            return
        _check_path(path, create=True)
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise StoreError(f"database {path}: the folder {path.parent} is write-protected")

    def _bring_up_to_date(self, *, create: bool) -> None:
        with _explained(self.name):
            if not create:
                with self._engine.connect() as connection:
                    found = revision(connection)
                if found == HEAD:
                    return
                if found is None:
                    raise StoreError("it is empty; `arena play` makes a record")
            with self._writes.begin() as connection:
                found = revision(connection)
                if found != HEAD:
                    logger.info("bringing the tables of %s from %s to %s", self.name, found or "nothing", HEAD)
                    upgrade(connection)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session that sees one state of the record throughout. Raises StoreError."""
        with _explained(self.name), Session(self._engine) as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A session in one transaction, committed at the end or rolled back whole. Raises StoreError."""
        with _explained(self.name), Session(self._writes) as session, session.begin():
            yield session

    def checkpoint(self) -> None:
        """Move what the write-ahead log holds into the database file and empty the log. Raises StoreError."""
        if self._engine.dialect.name != "sqlite":
            return
        with _explained(self.name):
            connection = self._engine.raw_connection()
            try:
                connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                connection.close()

    def close(self) -> None:
        """Close the connections. May be called again."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _url(where: str | Path) -> URL:
    if not str(where):
        raise NoSuchDatabaseError(
            f"{where!r} names no database: give the path of a file, or a URL as sqlite:///arena.db"
        )
    if isinstance(where, Path) or "://" not in where:
        return URL.create("sqlite", database=str(where))
    try:
        return make_url(where)
    except (ArgumentError, ValueError) as error:
        raise NoSuchDatabaseError(
            f"{where!r} is not a database URL: give a path, or a URL as sqlite:///arena.db"
        ) from error


def _sqlite_path(url: URL) -> Path | None:
    """The file of an SQLite URL; None for another database."""
    if url.get_backend_name() != "sqlite":
        return None
    if url.query or url.get_driver_name() != "pysqlite":
        raise NoSuchDatabaseError(f"{url} has options or a driver that are not supported: give the plain path")
    if url.database in (None, "", ":memory:"):
        raise NoSuchDatabaseError(f"{url}: a database in memory keeps nothing: give the path of a file")
    return Path(str(url.database)).expanduser()


def _check_path(path: Path, *, create: bool) -> None:
    try:
        if path.is_dir():
            raise NoSuchDatabaseError(f"database {path}: it is a folder; give the path of a file")
        if not path.parent.is_dir():
            raise NoSuchDatabaseError(f"database {path}: there is no folder {path.parent}")
        if not create and not path.exists():
            raise NoSuchDatabaseError(
                f"there is no database at {path}: `arena play` makes one, --db or ARENA_DB names another"
            )
    except (OSError, ValueError) as error:
        raise NoSuchDatabaseError(f"database {path}: {error}") from error


def _engine(url: URL, path: Path | None, *, create: bool, read_only: bool = False) -> Engine:
    if path is not None:
        return sqlite_engine(path, create=create, read_only=read_only)
    try:
        return create_engine(url)
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise StoreError(f"the driver of {url.drivername} is not installed ({error})") from error


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Turn what the database says into a StoreError of one sentence that names the database."""
    prefix = f"database {name}: "
    try:
        yield
    except StoreError as error:
        raise StoreError(prefix + str(error)) from error
    except DBAPIError as error:
        said = str(error.orig).strip().splitlines()[0]
        raise StoreError(prefix + ADVICE.get(said, said)) from error
    except SQLAlchemyError as error:
        raise StoreError(prefix + str(error)) from error
