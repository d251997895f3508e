"""Games as they happen: server-sent events, made by looking at the record again and again.

Every stream looks by itself: a look is one short query in a thread, and what has not changed is not sent. A client
that comes back after a broken connection begins with the whole state, so nothing is lost and nothing needs replaying.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from arena.clocks import clock_text
from arena.errors import StoreError, UsageError
from arena.printable import printable
from arena.store.watching import Board, board, boards, run_line
from arena.web.answers import ending, number_of, run_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from arena.web.record import Record

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 0.4
ALIVE_EVERY_S = 5.0
"""A quiet stream sends a comment this often: writing is how we find out that nobody reads any more."""

ENDED_SHOWN = 6
MAX_STREAMS = 64

State = dict[str, Any]
Look = Callable[[], State]


class Streams:
    """Counts the open streams, which are bounded, and ends them when `closing` says that the server stops."""

    def __init__(self, record: Record, closing: Callable[[], bool]) -> None:
        self._record = record
        self._closing = closing
        self._open = 0

    async def run(self, request: Request) -> Response:
        """The boards of a run: `{"run": ..., "order": [numbers], "boards": [those that changed]}`."""
        run = run_of(request)

        def look() -> State:
            with self._record.reading() as db:
                line = run_line(db, run)
                shown = boards(db, line.run_id, ended=ENDED_SHOWN)
            state = {"status": line.status, "games": line.games, "finished": line.finished}
            return {"run": state, "boards": [board_json(one) for one in shown]}

        return await self._answer(request, look)

    async def game(self, request: Request) -> Response:
        """One game: `{"boards": [it]}` whenever it has changed."""
        game_id = number_of(request, "game")

        def look() -> State:
            with self._record.reading() as db:
                return {"boards": [board_json(board(db, game_id))]}

        return await self._answer(request, look)

    async def _answer(self, request: Request, look: Look) -> Response:
        first = await run_in_threadpool(look)
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        if self._open >= MAX_STREAMS:
            return PlainTextResponse(f"{MAX_STREAMS} streams are open already\n", 503, headers={"Retry-After": "10"})
        return StreamingResponse(self._events(look, first), media_type="text/event-stream")

    async def _events(self, look: Look, state: State) -> AsyncIterator[str]:
        self._open += 1
        try:
            yield "retry: 2000\n\n" + _event(state)
            said = time.monotonic()
            while not self._closing():
                await asyncio.sleep(LOOK_EVERY_S)
                before = state
                try:
                    state = await run_in_threadpool(look)
                except (StoreError, UsageError) as error:
                    logger.warning("a live view ends: %s", error)
                    return
                if state != before:
                    yield _event(_changes(before, state))
                    said = time.monotonic()
                elif time.monotonic() - said >= ALIVE_EVERY_S:
                    yield ": still here\n\n"
                    said = time.monotonic()
        finally:
            self._open -= 1


def board_json(shown: Board) -> State:
    """A board for a page: who plays, what the clocks show, the picture's address, last move and end in words."""
    return {
        "id": shown.game_id,
        "game": shown.game,
        "first": printable(shown.white),
        "second": printable(shown.black),
        "plies": shown.plies,
        "clocks": [clock_text(left) for left in shown.clocks_ms] if shown.clocks_ms else [],
        "playing": shown.status != "finished",
        "picture": f"/games/{shown.game_id}/board.svg?ply={shown.plies}" if shown.fen else None,
        "last": f"ply {shown.plies}: {shown.san}" if shown.san else "",
        "ending": ending(shown, shown.game) if shown.status == "finished" else "",
        "words": _words(shown),
    }


def _words(shown: Board) -> str:
    """What a board shows, for those who cannot see it; its page has the whole position."""
    if shown.side is None:
        return f"{shown.game} board at the start"
    mover = shown.white if shown.side == "first" else shown.black
    return printable(f"{shown.game} board after ply {shown.plies}: {mover[:40]} played {shown.san}")


def _changes(before: State, after: State) -> State:
    """`after` with only those boards that differ, and the numbers of all in their order."""
    known = {one["id"]: one for one in before["boards"]}
    changed = [one for one in after["boards"] if known.get(one["id"]) != one]
    return {**after, "order": [one["id"] for one in after["boards"]], "boards": changed}


def _event(state: State) -> str:
    state = {"order": [one["id"] for one in state["boards"]], **state}
    return f"data: {json.dumps(state, ensure_ascii=False)}\n\n"
