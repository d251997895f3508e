"""`arena tournament init`: a spec to begin with."""

from __future__ import annotations

from pathlib import Path

import click

from arena.cli.logs import log_options
from arena.errors import UsageError


@click.command()
@click.argument("path", default="tournament.yaml", type=click.Path(path_type=Path))
@log_options
def command(path: Path) -> None:
    """Write a commented spec to PATH (default: tournament.yaml), which must not exist yet."""
    from arena.tournament.spec import spec_template

    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(spec_template())
    except FileExistsError as error:
        raise UsageError(f"{path} exists already: give another path") from error
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    click.echo(f"Wrote {path}. Next: edit it, then")
    click.echo(f"  arena tournament check {path}   lets each agent play one ply")
    click.echo(f"  arena tournament run {path}     plays it")
