"""An engine's process, whoever speaks to it: how it is found, started and ended, and what it is asked."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agents.base import AgentCrashed, UnusableAgentError
from games.base import Position

logger = logging.getLogger(__name__)

EXTRA_PLACES = ("/usr/games", "/usr/local/games", "/usr/local/bin", "/opt/homebrew/bin")
"""Folders that hold engines and are often missing from PATH."""

START_LIMIT_S = 10.0
"""How long an engine may take to say `uciok` and to take its options; some load a network then."""

LINES_KEPT = 5
"""Of what a program said, for the message when it ends."""

QUIT_LIMIT_S = 1.0
"""How long an engine may take to leave when it is told `quit`."""


class EngineNotFoundError(ValueError):
    """No such program. The message says where it was looked for."""


class EngineStartError(UnusableAgentError):
    """A program that is no UCI engine, does not know the game, or refuses an option. The message says which."""


class EngineDiedError(AgentCrashed):
    """The process ended, or broke off the protocol, while it was asked for a move."""


class IllegalAnswerError(ValueError):
    """A best move that is none in the position; the message quotes it."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What makes two processes interchangeable: `command` as found, the `variant` (a game's name), the options by
    name as the user wrote them, in order."""

    command: tuple[str, ...]
    variant: str
    options: tuple[tuple[str, str], ...] = ()

    @property
    def program(self) -> str:
        """The engine's name in messages."""
        return Path(self.command[0]).name


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """The arguments of `go`. Times are milliseconds; None: not sent."""

    nodes: int | None = None
    depth: int | None = None
    movetime: int | None = None
    wtime: int | None = None
    btime: int | None = None
    winc: int | None = None
    binc: int | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """What an engine found: its `best` move as it writes it, empty if it says that there is none, and the `score`
    for the side to move as `agents.uci.score` has it, None if it told none."""

    best: str
    score: int | None


class EngineProcess(ABC):
    """A running engine, set up and ready. One question at a time.

    Owns its process, which is the leader of a session of its own, so that Ctrl-C in the terminal does not reach it.
    A process whose question was cancelled is in an unknown state, and good only for `kill`.
    """

    version: str
    """What it calls itself (`id name`)."""

    last_game: int | None = None
    """The game it thought about last."""

    @property
    @abstractmethod
    def pid(self) -> int: ...

    @property
    @abstractmethod
    def running(self) -> bool: ...

    @abstractmethod
    async def search(self, position: Position, limits: SearchLimits, *, new_game: bool) -> Search:
        """What it finds; `new_game` makes it forget everything first. Raises EngineDiedError, IllegalAnswerError."""

    async def best_move(self, position: Position, limits: SearchLimits, *, new_game: bool) -> str:
        """The best move that `search` finds. Raises EngineDiedError, IllegalAnswerError."""
        return (await self.search(position, limits, new_game=new_game)).best

    @abstractmethod
    def ask_to_quit(self) -> None:
        """Sends `quit`."""

    @abstractmethod
    async def wait(self) -> int:
        """Waits for the end of the process, and for its output to be closed: the exit status."""

    async def quit(self) -> None:
        """Ends an idle process: it is asked, then killed."""
        try:
            with suppress(TimeoutError, ConnectionError):
                self.ask_to_quit()
                async with asyncio.timeout(QUIT_LIMIT_S):
                    await self.wait()
        finally:
            await self.kill()

    async def kill(self) -> None:
        """Ends the process and what it started, at once, and reaps it. To be called soon after a process ended by
        itself, too: its children may live on, and later its number may be another's."""
        with suppress(ProcessLookupError, PermissionError):  # all have ended; the latter on macOS
            os.killpg(self.pid, signal.SIGKILL)
        try:
            async with asyncio.timeout(QUIT_LIMIT_S):
                await self.wait()
        except TimeoutError:  # the process is reaped all the same
            logger.warning("something that %s started holds on to its output", self.version)


def find_engine(command: str) -> str:
    """The program that `command` names: a path, or a name on PATH or in EXTRA_PLACES. Raises EngineNotFoundError."""
    if "/" in command:
        path = Path(command).expanduser()
        if path.is_file() and os.access(path, os.X_OK):
            return str(path.resolve())
        raise EngineNotFoundError(
            f"{command} is not a program that can be run" if path.exists() else f"there is no file {command}"
        )
    places = [*os.environ.get("PATH", os.defpath).split(os.pathsep), *EXTRA_PLACES]
    if found := shutil.which(command, path=os.pathsep.join(places)):
        return found
    raise EngineNotFoundError(f"there is no engine {command!r} on PATH or in {', '.join(EXTRA_PLACES)}")


def tethered(command: Sequence[str]) -> list[str]:
    """`command` so that it cannot outlive this process: by the kernel on Linux, elsewhere by its own reading of the
    end of its input."""
    if sys.platform != "linux":
        return list(command)
    tether = Path(__file__).with_name("tether.py")
    return [sys.executable, "-I", "-S", str(tether), str(os.getpid()), *command]


def death_notice(program: str, status: int, last_words: Iterable[str]) -> str:
    """How `program` ended, with what it said last: `stockfish ended with signal SIGSEGV`."""
    how = f"status {status}" if status >= 0 else f"signal {signal.Signals(-status).name}"
    said = " / ".join(line for line in last_words if line)
    return f"{program} ended with {how}" + (f"; it said: {said}" if said else "")
