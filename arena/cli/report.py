"""`arena report`: a recorded run as pages and tables to read, keep and send."""

from __future__ import annotations

from pathlib import Path

import click

from arena.cli.logs import log_options
from arena.cli.options import db_option, json_option


@click.command("report")
@click.argument("run")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--title", metavar="TEXT", help="Instead of the run's name.")
@db_option
@json_option
@log_options
def command(run: str, folder: Path, title: str | None, db: str, as_json: bool) -> None:
    """Write the report of RUN, by id or name, finished or not, into FOLDER.

    report.html is one page that needs nothing beside it; report.md, standings.csv, crosstable.csv and report.json
    say the same for other programs. With --json the last is printed as well.
    """
    write(run, folder, title=title, db=db, as_json=as_json)


def write(run: int | str, folder: Path, *, title: str | None, db: str, as_json: bool) -> None:
    """What the command does, for others that know the run by other means. Raises UsageError."""
    from arena.report.collect import collect
    from arena.report.tables import to_json
    from arena.report.write import write_report
    from arena.store.database import Database

    with Database.open(db, create=False) as database:
        report = collect(database, run, title=title)
    files = write_report(report, folder)
    if as_json:
        click.echo(to_json(report), nl=False)
        return
    click.echo(f"{files[0]} shows run {report.run}: {len(report.agents)} agents, {report.games} games.")
    click.echo(f"Beside it: {', '.join(path.name for path in files[1:])}.")
