"""Who plays a run: at most one process at a time."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from arena.errors import StoreError, UsageError
from arena.store.database import Database


@contextmanager
def claimed(db: Database, run_id: int) -> Iterator[int]:
    """Inside, nobody else plays run `run_id` of this record; gives its id. Raises UsageError if somebody does.

    The claim is a lock that the operating system drops when its holder dies, however it dies, on a file beside the
    record, which is removed at the end. For a database on a server the file is in the folder for temporary files:
    the claim then holds on one machine only.
    """
    path = _lock_path(db, run_id)
    descriptor = _lock(path, run_id)
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}".encode())
        yield run_id
    finally:
        path.unlink(missing_ok=True)  # while it is locked: see _lock
        os.close(descriptor)


def _lock(path: Path, run_id: int) -> int:
    """A descriptor that holds the lock on the file at `path`."""
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise StoreError(f"cannot claim run {run_id}: {path}: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(descriptor, path):
                return descriptor
        except BlockingIOError as error:
            holder = os.read(descriptor, 20).decode(errors="replace")
            os.close(descriptor)
            by = f"by process {holder}" if holder.isdecimal() else "by another process"
            raise UsageError(
                f"run {run_id} is being played {by} at this moment: let it finish or stop it, or name another run"
            ) from error
        except OSError as error:
            os.close(descriptor)
            raise StoreError(f"cannot claim run {run_id}: {path}: {error.strerror}") from error
        os.close(descriptor)  # its last holder removed it between our two calls: what we hold is no longer there


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _lock_path(db: Database, run_id: int) -> Path:
    if db.path is not None:
        path = db.path.resolve()
        return path.with_name(f"{path.name}-run{run_id}.lock")
    server = blake2b(db.name.encode(), digest_size=8).hexdigest()
    return Path(tempfile.gettempdir()) / f"arena-{server}-run{run_id}.lock"
