"""`arena models`: list, fetch, locate and remove models of the catalogue."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from arena.cli.logs import log_options
from arena.errors import ArenaError, UsageError


@click.group(name="models")
@log_options
def command() -> None:
    """List, fetch, locate and remove models.

    Besides the models listed here, --model takes a folder in Hugging Face format, a .gguf file and a Hugging Face id.
    """


@command.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@log_options
def list_models(as_json: bool) -> None:
    """List the models that are known by name."""
    from inference.catalogue import catalogue, is_installed, model_folder

    rows: list[dict[str, Any]] = [
        {
            "name": entry.name,
            "description": entry.description,
            "license": entry.license,
            "parameters": entry.parameters,
            "download_bytes": entry.wheel_size,
            "installed": is_installed(entry.name),
            "path": str(model_folder(entry.name)) if is_installed(entry.name) else None,
        }
        for entry in catalogue().values()
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        state = f"in {row['path']}" if row["installed"] else f"not fetched ({row['download_bytes'] / 1e6:.0f} MB)"
        click.echo(f"{row['name']}  {row['parameters'] / 1e6:.0f}M parameters, {row['license']}, {state}")
        click.echo(f"    {row['description']}")


@command.command()
@click.argument("name")
@log_options
def pull(name: str) -> None:
    """Fetch a model, or check one that is there and repair it."""
    from inference.pull import pull as fetch

    _known(name)
    with _errors(), progress_line() as progress:
        fetch(name, progress)


@command.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@log_options
def path(name: str, as_json: bool) -> None:
    """Print the folder of a fetched model."""
    from inference.catalogue import is_installed, model_folder, read_manifest

    _known(name)
    if not is_installed(name):
        raise ArenaError(f"model {name} is not fetched yet; `arena models pull {name}` fetches it")
    with _errors():
        manifest = read_manifest(name)
    folder = str(model_folder(name))
    facts = {"name": name, "path": folder, "checksum": manifest["gguf_sha256"]}
    click.echo(json.dumps(facts) if as_json else folder)


@command.command()
@click.argument("name")
@log_options
def rm(name: str) -> None:
    """Remove a fetched model."""
    from inference.catalogue import remove

    _known(name)
    with _errors():
        freed = remove(name)
    click.echo(f"removed {name} ({freed / 1e6:.0f} MB)")


def _known(name: str) -> None:
    from inference.catalogue import catalogue

    if name not in catalogue():
        raise UsageError(f"no model is called {name!r}; the catalogue has: {', '.join(catalogue())}")


@contextmanager
def _errors() -> Iterator[None]:
    """Failures of a model as errors of the command line."""
    from inference.errors import ModelError

    try:
        yield
    except ModelError as error:
        raise ArenaError(str(error)) from error


@contextmanager
def progress_line() -> Iterator[Callable[[str], None]]:
    """Shows progress on stderr: one line that changes on a terminal; elsewhere a line for each thing begun."""
    terminal = sys.stderr.isatty()
    shown = ""

    def show(line: str) -> None:
        nonlocal shown
        if terminal:
            click.echo(f"\r\x1b[K{line}", err=True, nl=False)
        elif line.partition(":")[0] != shown.partition(":")[0]:
            click.echo(line.partition(":")[0], err=True)
        shown = line

    try:
        yield show
    finally:
        if terminal and shown:
            click.echo(err=True)
