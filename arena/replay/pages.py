"""Pages that need nothing but themselves: a replay of one game, and a list of games that links to them.

A page opens from a disk, without a network: style, script, pieces and the game are inside. What agents wrote reaches it
as JSON or as escaped text, never as markup; a content security policy forbids it to load anything.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from arena.replay.text import replay_text
from arena.replay.viewmodel import Replay, replay_json
from games.pictures import board_art

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True, slots=True)
class Listed:
    """A game in the list of a site: `href` is its page."""

    href: str
    number: int
    first: str
    second: str
    result: str
    ending: str
    plies: int


def page_data(
    replay: Replay, *, saved: Mapping[str, str] | None = None, links: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What `ArenaReplay.mount` of replay.js takes, as JSON values. `saved` are files that the page offers, text by
    name; `links` are the addresses of the `previous` and `next` game and of the `index`."""
    return {
        "replay": replay_json(replay),
        "art": dataclasses.asdict(board_art(replay.rules)),
        "files": dict(saved or {}),
        "links": dict(links or {}),
    }


def replay_page(
    replay: Replay, *, saved: Mapping[str, str] | None = None, links: Mapping[str, str] | None = None
) -> str:
    """The replay as one HTML document. See `page_data` for the arguments."""
    return _render(
        "template.html",
        title=f"{replay.title}: {replay.ending}",
        css=asset("replay.css"),
        script=asset("replay.js"),
        game=script_json(page_data(replay, saved=saved, links=links)),
        text=replay_text(replay),
    )


def list_page(title: str, subtitle: str, games: Sequence[Listed]) -> str:
    """The list of games as one HTML document."""
    return _render("index.html", title=title, subtitle=subtitle, css=asset("replay.css"), games=games)


def asset(name: str) -> str:
    """A file of `arena/replay/page`, such as `replay.js`. Raises FileNotFoundError."""
    return files("arena.replay").joinpath("page", name).read_text(encoding="utf-8")


def script_json(value: Any) -> str:
    """`value` as JSON that may stand in a `<script>`: no character in it can end the element or open a comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def _render(template: str, **values: Any) -> str:
    return _templates().get_template(template).render(**values)


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        loader=FunctionLoader(asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
