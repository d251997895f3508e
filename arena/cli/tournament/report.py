"""`arena tournament report`: the tournament as pages and tables to read, keep and send."""

from __future__ import annotations

from pathlib import Path

import click

from arena.cli.logs import log_options
from arena.cli.options import db_option, json_option
from arena.cli.report import write


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--run", metavar="RUN", help="The tournament, by name or number.  [default: the newest]")
@db_option
@json_option
@log_options
def command(folder: Path, run: str | None, db: str, as_json: bool) -> None:
    """Write the report of a tournament, finished or not, into FOLDER.

    report.html is one page that needs nothing beside it; report.md, standings.csv, crosstable.csv and report.json
    say the same for other programs.
    """
    from arena.store.database import Database
    from arena.store.stages import find_tournament

    with Database.open(db, create=False) as database, database.reading() as session:
        run_id = find_tournament(session, run).id
    write(run_id, folder, title=None, db=db, as_json=as_json)
