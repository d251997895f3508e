"""Where log messages go, for every command: warnings to the terminal, everything to a file if one is named."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import click

from arena.errors import UsageError
from arena.printable import printable, shortened

if TYPE_CHECKING:
    from click.decorators import FC

OURS = ("arena", "agents", "games", "inference", "kernels")
MAX_NOTICE = 500
FILE_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class Logs:
    """The handlers of the root logger that one call of `arena` needs, and its level: owned from `with` to its end.

    Notices (warnings; with `be_verbose` also what our own packages find worth telling) go to stderr, or to whoever
    `shown_by` names for a while.
    """

    def __init__(self) -> None:
        self._root = logging.getLogger()
        self._notices = NoticeHandler(_to_stderr)
        self._file: logging.FileHandler | None = None
        self._level_before = self._root.level

    def __enter__(self) -> Self:
        self._level_before = self._root.level
        self._root.addHandler(self._notices)
        self._root.setLevel(self._notices.level)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._root.setLevel(self._level_before)
        self._root.removeHandler(self._notices)
        self._close_file()

    def be_verbose(self) -> None:
        self._notices.setLevel(logging.INFO)
        self._root.setLevel(min(self._root.level, logging.INFO))

    def write_to(self, path: Path) -> None:
        """Appends everything that is logged to the file `path`. Raises UsageError if it cannot be written."""
        self._close_file()
        try:
            self._file = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise UsageError(f"--log-file {path}: {error.strerror}; give the path of a file to write") from error
        self._file.setFormatter(logging.Formatter(FILE_FORMAT))
        self._root.addHandler(self._file)
        self._root.setLevel(logging.DEBUG)

    @contextmanager
    def shown_by(self, show: Callable[[str], None]) -> Iterator[None]:
        """Inside, `show` is called with each notice."""
        before, self._notices.show = self._notices.show, show
        try:
            yield
        finally:
            self._notices.show = before

    def _close_file(self) -> None:
        if self._file is not None:
            self._root.removeHandler(self._file)
            self._file.close()
            self._file = None


class NoticeHandler(logging.Handler):
    """Hands each message to `show` as one line; of an exception, its last line."""

    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self.show = show

    def filter(self, record: logging.LogRecord) -> bool:  # of other packages, only warnings matter here
        return record.levelno >= logging.WARNING or record.name.partition(".")[0] in OURS

    def emit(self, record: logging.LogRecord) -> None:
        try:
            error = record.exc_info[1] if record.exc_info else None
            self.show(record.getMessage() + (f": {error!r}" if error else ""))
        except Exception:
            self.handleError(record)


def log_options(command: FC) -> FC:
    """Adds `--verbose` and `--log-file`, which any command and group takes, and which work wherever they stand."""
    verbose = click.option(
        "--verbose", is_flag=True, expose_value=False, callback=_verbose, help="Say more about what goes on."
    )
    log_file = click.option(
        "--log-file",
        metavar="FILE",
        expose_value=False,
        callback=_log_file,
        help="Append the whole log to this file.",
    )
    return verbose(log_file(command))


def logs_of(context: click.Context) -> Logs:
    """The Logs of this call of `arena`."""
    logs: Logs = context.find_object(Logs)  # type: ignore[assignment]
    return logs


def _verbose(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        logs_of(context).be_verbose()


def _log_file(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value == "":
        raise UsageError("--log-file '': give the path of a file to write")
    if value is not None:
        logs_of(context).write_to(Path(value))


def _to_stderr(notice: str) -> None:
    print(printable(shortened(notice, MAX_NOTICE)), file=sys.stderr)
