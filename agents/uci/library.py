"""Chess engines, spoken to by the `chess` package."""

from __future__ import annotations

import asyncio
import logging
from collections import deque

import chess
from chess.engine import INFO_SCORE, EngineError, EngineTerminatedError, Limit, UciProtocol

from agents.uci.options import checked_options
from agents.uci.process import (
    LINES_KEPT,
    EngineDiedError,
    EngineProcess,
    EngineStartError,
    IllegalAnswerError,
    Search,
    SearchLimits,
    Setup,
    death_notice,
    tethered,
)
from agents.uci.score import MATE
from games.base import Position

logger = logging.getLogger(__name__)


class _Protocol(UciProtocol):
    """Keeps the last of what an engine writes on stderr, in case it ends."""

    def __init__(self) -> None:
        super().__init__()
        self.last_words: deque[str] = deque(maxlen=LINES_KEPT)

    def error_line_received(self, line: str) -> None:
        self.last_words.append(line.strip())
        logger.debug("%s: %s", self, line)


class ChessEngine(EngineProcess):
    """A UCI engine behind `chess.engine`."""

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: _Protocol, program: str) -> None:
        self._transport = transport
        self._protocol = protocol
        self._program = program
        self._game: object = None
        self.version = program

    @classmethod
    async def launch(cls, setup: Setup) -> ChessEngine:
        """An engine with the options of `setup`, ready for a question. Raises EngineStartError; what was started is
        ended in any failure, cancelling included."""
        transport, protocol = await _Protocol.popen(tethered(setup.command), start_new_session=True)
        engine = cls(transport, protocol, setup.program)
        try:
            await protocol.initialize()
            engine.version = protocol.id.get("name", setup.program)
            await protocol.configure(checked_options(setup.options, protocol.options.values(), engine.version))
            await protocol.ping()
        except BaseException as error:
            await asyncio.shield(engine.kill())
            if isinstance(error, EngineError):
                raise EngineStartError(f"{engine._reason(error)}, before it was ready") from error
            raise
        return engine

    @property
    def pid(self) -> int:
        return self._transport.get_pid()

    @property
    def running(self) -> bool:
        return self._transport.get_returncode() is None

    async def search(self, position: Position, limits: SearchLimits, *, new_game: bool) -> Search:
        board = chess.Board(position.start_fen)
        for move in position.moves:
            board.push_uci(move)
        if new_game:
            self._game = object()
        try:
            result = await self._protocol.play(board, _limit(limits), game=self._game, info=INFO_SCORE)
        except EngineTerminatedError as error:
            raise EngineDiedError(self._reason(error)) from error
        except EngineError as error:
            raise IllegalAnswerError(f"{self._program}: {error}") from error
        score = result.info["score"].relative.score(mate_score=MATE) if "score" in result.info else None
        return Search(result.move.uci() if result.move else "", score)

    def ask_to_quit(self) -> None:
        self._protocol.send_line("quit")

    async def wait(self) -> int:
        return await asyncio.shield(self._protocol.returncode)

    async def kill(self) -> None:
        await super().kill()
        self._transport.close()

    def _reason(self, error: EngineError) -> str:
        status = self._transport.get_returncode()
        return str(error) if status is None else death_notice(self._program, status, self._protocol.last_words)


def _limit(limits: SearchLimits) -> Limit:
    """The same in seconds."""
    return Limit(
        nodes=limits.nodes,
        depth=limits.depth,
        time=_seconds(limits.movetime),
        white_clock=_seconds(limits.wtime),
        black_clock=_seconds(limits.btime),
        white_inc=_seconds(limits.winc),
        black_inc=_seconds(limits.binc),
    )


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
