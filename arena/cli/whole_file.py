"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from arena.errors import ArenaError


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A stream into `path`. A regular file is replaced at the end or left as it was; anything else (a pipe, a device)
    is written as it comes. Raises ArenaError for what the disk says."""
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            with target.open("wb") as stream:
                yield stream
            return
        partial = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            with partial.open("xb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise ArenaError(f"cannot write {path}: {error.strerror or error}") from error
