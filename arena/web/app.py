"""The application: which path is answered by what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from arena.errors import ArenaError
from arena.web.answers import arena_error, http_error, server_error
from arena.web.guard import Guard
from arena.web.pages import Pages
from arena.web.stream import Streams

if TYPE_CHECKING:
    from arena.web.record import Record

STATIC = Path(__file__).resolve().parent / "static"
REPLAY_PAGE = Path(__file__).resolve().parents[1] / "replay" / "page"


def create_app(
    record: Record, *, names: frozenset[str] | None = None, closing: Callable[[], bool] = lambda: False
) -> Guard:
    """The web application over `record`. `names` are the hosts that it answers to (None: any); `closing` becomes
    true when the server stops, which ends the streams."""
    pages, streams = Pages(record), Streams(record, closing)
    routes = [
        Route("/", pages.home),
        Route("/live", pages.newest),
        Route("/games", pages.games),
        Route("/games/{game}", pages.game),
        Route("/games/{game}/data.json", pages.game_json),
        Route("/games/{game}/board.svg", pages.board),
        Route("/games/{game}/events", streams.game),
        Route("/runs/{run}", pages.run),
        Route("/runs/{run}/live", pages.live),
        Route("/runs/{run}/live/events", streams.run),
        Route("/runs/{run}/standings", pages.standings),
        Route("/runs/{run}/engine", pages.engine),
        Mount("/static", StaticFiles(directory=STATIC)),
        Mount("/replay", StaticFiles(directory=REPLAY_PAGE)),
    ]
    handlers = {ArenaError: arena_error, HTTPException: http_error, Exception: server_error}
    return Guard(Starlette(routes=routes, exception_handlers=handlers), names=names)
