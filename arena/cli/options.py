"""Options and output that the commands share."""

from __future__ import annotations

import dataclasses
import json
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

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

game_id = click.IntRange(min=1, max=2**63 - 1)

json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON instead of text.")


def echo_json(value: Any) -> None:
    """Write `value` as JSON: dataclasses as objects, times in ISO 8601."""
    click.echo(json.dumps(value, default=_json_value, indent=2, ensure_ascii=False))


def console() -> Console:
    """Where tables go: the width of the terminal, or wide when the output is a file or a pipe."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False, markup=False)


def _json_value(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"no JSON for {type(value).__name__}")
