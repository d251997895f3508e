"""The record that is served: opened to be read, and opened again when another file has taken its place."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arena.errors import StoreError, UsageError
from arena.store.database import Database


class Record:
    """Owns the connections to the record at `where`, from `open` to `close`. Safe to use from several threads.

    Every use is a short reading transaction, so whoever plays is never kept waiting. When the file is replaced,
    the next use sees the new one; when it cannot be read, that use fails and the next one tries again.
    """

    def __init__(self, where: str | Path) -> None:
        self.where = where
        self._lock = threading.Lock()
        self._database: Database | None = None
        self._file: tuple[int, int] | None = None

    @contextmanager
    def reading(self) -> Iterator[Database]:
        """The database, for a few queries. Raises StoreError where it cannot be read."""
        database = self._current()
        try:
            yield database
        except UsageError:
            raise
        except StoreError:
            self._drop(database)
            raise

    def close(self) -> None:
        """Close the connections. The next use opens them again."""
        with self._lock:
            if self._database is not None:
                self._database.close()
            self._database = None

    def _current(self) -> Database:
        with self._lock:
            if self._database is not None and _identity(self._database.path) == self._file:
                return self._database
            if self._database is not None:
                self._database.close()
                self._database = None
            self._database = Database.view(self.where)
            self._file = _identity(self._database.path)
            return self._database

    def _drop(self, failed: Database) -> None:
        with self._lock:
            if self._database is failed:
                self._database = None
        failed.close()


def _identity(path: Path | None) -> tuple[int, int] | None:
    """Which file is at `path`; None for a database on a server, and where there is none."""
    try:
        found = path.stat() if path is not None else None
    except OSError:
        return None
    return None if found is None else (found.st_dev, found.st_ino)
