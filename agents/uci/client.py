"""A small UCI client, for games that the `chess` package does not know.

us       uci ...............   isready   ucinewgame   isready   position, go ......
engine   ....... id, option, uciok   readyok             readyok   ...... info, bestmove
"""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE, STDOUT, Process
from collections import deque
from dataclasses import asdict
from typing import TYPE_CHECKING

from agents.uci.options import checked_options, read_option, uci_value
from agents.uci.process import (
    LINES_KEPT,
    EngineDiedError,
    EngineProcess,
    EngineStartError,
    Search,
    SearchLimits,
    Setup,
    death_notice,
    tethered,
)
from agents.uci.score import read_score
from games.base import Position

if TYPE_CHECKING:
    from chess.engine import Option

LONGEST_LINE = 2**20
"""Bytes; a program that writes more without a line break is no UCI engine."""

NO_MOVE = ("(none)", "0000")


class UciClient(EngineProcess):
    """A UCI engine spoken to over its standard input and output."""

    def __init__(self, process: Process, program: str) -> None:
        if process.stdin is None or process.stdout is None:
            raise ValueError("the process needs pipes for its input and output")
        self._process = process
        self._to_engine = process.stdin
        self._from_engine = process.stdout
        self._program = program
        self._said: deque[str] = deque(maxlen=LINES_KEPT)
        self.version = program
        self.options: dict[str, Option] = {}

    @classmethod
    async def launch(cls, setup: Setup) -> UciClient:
        """An engine set up for `setup.variant` with its options, ready for a question. Raises EngineStartError; what
        was started is ended in any failure, cancelling included."""
        process = await asyncio.create_subprocess_exec(
            *tethered(setup.command),
            stdin=PIPE,
            stdout=PIPE,
            stderr=STDOUT,  # its last words, in case it ends
            start_new_session=True,
            limit=LONGEST_LINE,
        )
        client = cls(process, setup.program)
        try:
            await client._greet()
            client._set_options(setup)
            await client._until("readyok", after="isready")
        except BaseException as error:
            await asyncio.shield(client.kill())
            if isinstance(error, EngineDiedError):
                raise EngineStartError(f"{error}, before it was ready") from error
            raise
        return client

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.returncode is None

    async def search(self, position: Position, limits: SearchLimits, *, new_game: bool) -> Search:
        if new_game:
            self._send("ucinewgame")
            await self._until("readyok", after="isready")
        moves = ["moves", *position.moves] if position.moves else []
        self._send(" ".join(["position fen", position.start_fen, *moves]))
        arguments = (f"{name} {value}" for name, value in asdict(limits).items() if value is not None)
        self._send(" ".join(["go", *arguments]))
        score = None
        while (line := await self._next_line()).partition(" ")[0] != "bestmove":
            told = read_score(line)
            score = score if told is None else told
        words = line.split()
        return Search(words[1] if len(words) > 1 and words[1] not in NO_MOVE else "", score)

    def ask_to_quit(self) -> None:
        self._send("quit")

    async def wait(self) -> int:
        return await self._process.wait()

    async def kill(self) -> None:
        await super().kill()
        self._to_engine.close()

    async def _greet(self) -> None:
        """The first exchange: learns the engine's name and options."""
        self._send("uci")
        while (line := await self._next_line()) != "uciok":
            if line.startswith("id name "):
                self.version = line.removeprefix("id name ").strip()
            elif option := read_option(line):
                self.options[option.name] = option

    def _set_options(self, setup: Setup) -> None:
        """Raises EngineStartError for a game or an option that the engine does not have."""
        variants = self.options.get("UCI_Variant")
        if setup.variant not in ((variants.var if variants else None) or ["chess"]):
            raise EngineStartError(f"{self.version} does not play {setup.variant}; Fairy-Stockfish does")
        if variants is not None:
            self._send(f"setoption name UCI_Variant value {setup.variant}")
        for name, value in checked_options(setup.options, self.options.values(), self.version).items():
            self._send(f"setoption name {name}" + ("" if value is None else f" value {uci_value(value)}"))

    def _send(self, line: str) -> None:
        """Writes without waiting: the lines are short, and an engine reads them while it thinks."""
        self._to_engine.write(f"{line}\n".encode())

    async def _until(self, wanted: str, *, after: str) -> str:
        """Sends `after`; the next line whose first word is `wanted`."""
        self._send(after)
        while (line := await self._next_line()).partition(" ")[0] != wanted:
            pass
        return line

    async def _next_line(self) -> str:
        """What the engine says next, stripped. Raises EngineDiedError when it says no more."""
        try:
            line = await self._from_engine.readline()
        except ValueError as error:
            raise EngineDiedError(f"{self._program} wrote {LONGEST_LINE} bytes without a line break") from error
        if not line:
            raise EngineDiedError(death_notice(self._program, await self.wait(), self._said))
        text = line.decode(errors="replace").strip()
        if not text.startswith("info "):
            self._said.append(text)
        return text
