"""Options and output that the commands share."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from arena.jsonl import json_value

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH = 200

db_option = click.option(
    "--db",
    "db",
    metavar="PATH|URL",
    envvar="ARENA_DB",
    default="arena.db",
    show_default=True,
    show_envvar=True,
    help="The record: a file, or the URL of a database.",
)


class GameNumber(click.ParamType):  # type: ignore[type-arg]  # generic in new versions only
    """The number of a recorded game."""

    name = "game number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value)
        if not (text.isascii() and text.isdecimal() and len(text) < 20 and 1 <= int(text) < 2**63):
            self.fail(f"{text!r} is not the number of a game; `arena games` lists them", param, ctx)
        return int(text)


game_id = GameNumber()

json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON instead of text.")


def echo_json(value: Any) -> None:
    """Write `value` as JSON: dataclasses as objects, times in ISO 8601."""
    click.echo(json.dumps(value, default=json_value, indent=2, ensure_ascii=False))


def console() -> Console:
    """Where tables go: the width of the terminal, or wide when the output is a file or a pipe."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False, markup=False)
