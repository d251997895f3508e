"""The process that a peer runs in: bounded in memory, its words kept, gone on every way out."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from arena.bench.peers.base import PeerError

GUARD = Path(__file__).with_name("guard.py")
WATCH_S = 0.5
LOG_LINES = 4
LINE_LIMIT = 1 << 20  # bytes of a line that it writes


class Child:
    """Owns a guarded process group, a watcher of its memory and the file that it logs to.

    Invariant: after `close`, and after the end of this process by any means, none of the group's processes is left.
    """

    def __init__(self, command: Sequence[str], *, memory_mb: int, env: Mapping[str, str] | None = None) -> None:
        """`env` is added to this process's environment. What it writes to stderr is kept for `reason`."""
        self._command = command
        self._memory_mb = memory_mb
        self._env = {**os.environ, **(env or {})}
        self._process: asyncio.subprocess.Process | None = None
        self._lifeline: int | None = None  # closing it kills the group
        self._watcher: asyncio.Task[None] | None = None
        self._log = tempfile.TemporaryFile("a+", encoding="utf-8", errors="replace")  # noqa: SIM115 (appended to by the child)
        self._killed_at_mb: float | None = None
        self.peak_mb = 0.0

    async def start(self, *, piped: bool = False) -> None:
        """Start the command; `piped` opens `stdin` and `stdout`, else stdout goes to the log."""
        reading, self._lifeline = os.pipe()
        try:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                str(GUARD),
                str(reading),
                *self._command,
                stdin=asyncio.subprocess.PIPE if piped else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE if piped else self._log,
                stderr=self._log,
                env=self._env,
                pass_fds=[reading],
                start_new_session=True,
                limit=LINE_LIMIT,
            )
        finally:
            os.close(reading)
        self._watcher = asyncio.create_task(self._watch(self._process.pid))

    @property
    def stdin(self) -> asyncio.StreamWriter:
        assert self._process is not None
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def stdout(self) -> asyncio.StreamReader:
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def wait(self) -> None:
        """Until the command has ended."""
        assert self._process is not None
        await self._process.wait()

    async def ended(self, within_s: float) -> bool:
        """Whether the command ends in the next `within_s` seconds, or has ended."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.wait(), within_s)
        return not self.running

    async def close(self) -> None:
        """Kill what is left of the group and wait for it."""
        if self._watcher is not None:
            self._watcher.cancel()
        if self._process is not None:
            self._kill()
            await self._process.wait()
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None
        self._log.close()

    def reason(self) -> str:
        """Why it ended, with the last that it said."""
        if self._killed_at_mb is not None:
            return f"killed: it held {self._killed_at_mb:,.0f} MiB, more than the {self._memory_mb:,} it may"
        code = self._process.returncode if self._process is not None else None
        if code is None:
            ended = "it runs"
        elif code > 128:
            ended = f"it ended by signal {_signal_name(code - 128)}"
        else:
            ended = f"it ended with exit code {code}"
        words = self.last_words()
        return f"{ended}; its last words: {words}" if words else f"{ended} without a word"

    def last_words(self) -> str:
        """The last lines of its log. Nothing after `close`."""
        if self._log.closed:
            return ""
        self._log.seek(0)
        lines = [line.strip() for line in self._log if line.strip()]
        return " | ".join(lines[-LOG_LINES:])

    async def _watch(self, guard: int) -> None:
        while True:
            held = await asyncio.to_thread(_held_mb, guard)
            self.peak_mb = max(self.peak_mb, held)
            if held > self._memory_mb:
                self._killed_at_mb = held
                self._kill()
                return
            await asyncio.sleep(WATCH_S)

    def _kill(self) -> None:
        assert self._process is not None
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


def _held_mb(guard: int) -> float:
    """Resident memory of what the guard started, MiB."""
    import psutil

    total = 0
    with suppress(psutil.NoSuchProcess):
        for process in psutil.Process(guard).children(recursive=True):
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                total += process.memory_info().rss
    return total / 2**20


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


async def open_port() -> int:
    """A port of this machine that nobody listens on."""
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    return port


async def ready(child: Child, started: asyncio.Future[None], timeout_s: float) -> None:
    """Wait until `started` is done. Raises PeerError if the child ends first, or takes longer."""
    ended = asyncio.create_task(child.wait())
    try:
        await asyncio.wait({ended, started}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if started.done():
            started.result()
        elif ended.done():
            raise PeerError(f"did not start: {child.reason()}")
        else:
            raise PeerError(f"was not ready after {timeout_s:.0f} s; its last words: {child.last_words()}")
    finally:
        ended.cancel()
        started.cancel()
