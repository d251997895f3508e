"""From a function that says what to show to an answer: templates, JSON, and errors as pages."""

from __future__ import annotations

import logging
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse

from arena.errors import ArenaError, UsageError
from arena.printable import printable, shortened
from arena.replay.result import Ended, result_words
from games import get_game
from games.base import UnknownGameError

if TYPE_CHECKING:
    from datetime import datetime

    from starlette.requests import Request
    from starlette.responses import Response

logger = logging.getLogger(__name__)

TEMPLATES = Path(__file__).resolve().parent / "templates"
MAX_NAME = 80
"""Characters shown of a name in a list; its page shows all of it."""

TITLES = {404: "Not found", 500: "That went wrong", 503: "The record cannot be read"}


@cache
def templates() -> Environment:
    """The pages. Everything put into one is text: markup is escaped without exception."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["name"] = lambda text: printable(shortened(text, MAX_NAME))
    environment.filters["moment"] = _moment
    environment.filters["percent"] = lambda share: f"{100 * share:.1f} %"
    return environment


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """The page of `template`; `path` in it is where we are, so that the navigation can say so."""
    html = templates().get_template(template).render(path=request.url.path, **values)
    return HTMLResponse(html, status)


def arena_error(request: Request, error: Exception) -> Response:
    """An unknown run or game is a page that is not there; a record that cannot be read may be readable again."""
    status = 404 if isinstance(error, UsageError) else 503
    if status == 503:
        logger.warning("%s %s: %s", request.method, request.url.path, error)
    said = str(error) if isinstance(error, ArenaError) else "internal error"
    return _problem(request, status, said)


def http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _problem(request, status, f"There is no page {printable(shortened(request.url.path, MAX_NAME))}.")


def server_error(request: Request, error: Exception) -> Response:
    logger.error("%s %s", request.method, request.url.path, exc_info=error)
    return _problem(request, 500, "The log of the server says more.")


def _problem(request: Request, status: int, said: str) -> Response:
    said = said[:1].upper() + said[1:]
    return page(request, "problem.html", status, title=TITLES.get(status, "Not possible"), said=printable(said))


def number_of(request: Request, name: str, text: str | None = None) -> int:
    """A number from the path, or from `text`; 404 for what cannot be the number of anything."""
    given = str(request.path_params[name]) if text is None else text
    if not re.fullmatch(r"[0-9]{1,18}", given, re.ASCII):
        raise HTTPException(404)
    return int(given)


def run_of(request: Request) -> int | str:
    """The run that the path names by number or by name; 404 for what cannot be either."""
    key = run_key(str(request.path_params["run"]))
    if key is None:
        raise HTTPException(404)
    return key


def run_key(text: str) -> int | str | None:
    """A run's number or name, as the text has it; None for what cannot be either."""
    if re.fullmatch(r"[0-9]{1,18}", text, re.ASCII):
        return int(text)
    return text if re.fullmatch(r"[A-Za-z0-9._-]{1,64}", text, re.ASCII) and not text.isdecimal() else None


def ending(game: Ended, rules: str) -> str:
    """How a game of those rules stands or ended, in words; by its name where the rules are not installed."""
    try:
        return result_words(game, get_game(rules).sides)
    except UnknownGameError:
        return game.termination or game.status


def _moment(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d %H:%M}"
