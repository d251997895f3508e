"""`arena tournament standings`: the table."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from arena.cli.logs import log_options
from arena.cli.options import console, db_option, echo_json, json_option

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from arena.tournament.elo import Estimate
    from arena.tournament.ratings import Anchor
    from arena.tournament.standings import Standing, Standings

EVERY_S = 2.0


@click.command()
@click.argument("run", required=False)
@click.option("--follow", is_flag=True, help="Show it again as games end, until the tournament stops.")
@db_option
@json_option
@log_options
def command(run: str | None, follow: bool, db: str, as_json: bool) -> None:
    """Show the table of the tournament RUN, by name or number (default: the newest).

    It may be asked while games are played. Elo has its 95 % interval, whose unit is the pair of games.
    """
    from arena.store.database import Database
    from arena.tournament.standings import standings

    with Database.open(db, create=False) as database:
        while True:
            found = standings(database, run)
            if as_json:
                echo_json(found)
            else:
                if follow:
                    click.clear()
                show(found, console())
            if not follow or found.status != "running":
                return
            run = str(found.run_id)
            time.sleep(EVERY_S)


def show(found: Standings, out: Console) -> None:
    """Writes the table, and below it what the reader of a table has to know."""
    out.print(
        f"{found.name}, {found.format}, run {found.run}: {found.games} of {_planned(found)} games, {found.status}"
    )
    out.print()
    out.print(_table(found))
    for note in _notes(found):
        out.print(note)


def _planned(found: Standings) -> str:
    at_most = found.format in ("knockout", "sprt") and found.status != "finished"
    return f"{'at most ' if at_most else ''}{found.planned}"


def _table(found: Standings) -> Table:
    """Columns that hold nothing are left out."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from arena.printable import printable

    lines = found.table
    columns: dict[str, list[str]] = {
        "Elo": [str(line.elo) for line in lines],
        "points": [f"{line.points:g}" for line in lines],
        "games": [str(line.tally.games) for line in lines],
        "W": [str(line.tally.wins) for line in lines],
        "D": [str(line.tally.draws) for line in lines],
        "L": [str(line.tally.losses) for line in lines],
    }
    optional = {
        "on points": [_some(line.tally.by_points) for line in lines],
        "bye": [_some(line.byes) for line in lines],
        "void": [_some(line.void) for line in lines],
        "left": [_some(line.unfinished) for line in lines],
        "pool": [str(line.pool) if found.pools > 1 else "" for line in lines],
        "forfeited": [_forfeits(line) for line in lines],
    }
    columns |= {name: cells for name, cells in optional.items() if any(cells)}
    if found.forfeits:
        columns["Elo without forfeits"] = [str(line.elo_on_board) for line in lines]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", justify="right")
    table.add_column("agent", overflow="fold")
    for name in columns:
        table.add_column(name, justify="left" if name == "forfeited" else "right")
    for place, line in enumerate(lines):
        cells = (column[place] for column in columns.values())
        table.add_row(str(place + 1), Text(printable(line.player)), *cells)
    return table


def _notes(found: Standings) -> list[str]:
    notes = [found.note] if found.note else []
    if found.anchor is not None:
        notes.append(_scale(found, found.anchor))
    if found.pools > 1:
        notes.append(f"{found.pools} pools of agents have not met, even over others: their Elo cannot be compared.")
    if found.duplicates:
        changed = ", ".join(
            f"{line.player} {line.elo_distinct}" for line in found.table if _differs(line.elo, line.elo_distinct)
        )
        notes.append(
            f"{found.duplicates} of the games repeat an earlier one move for move"
            + (f"; without them: {changed}." if changed else ".")
        )
    if found.forfeits:
        notes.append(f"{found.forfeits} of the games were forfeited: the board decided nothing.")
    return notes


def _scale(found: Standings, anchor: Anchor) -> str:
    """What the Elo column is relative to."""
    if found.anchored:
        return f"Elo: {anchor.player} is {anchor.elo:g} by definition."
    return (
        f"Elo: 0 is the mean of the finite ratings, since {anchor.player} has only a bound and cannot carry the scale "
        f"at {anchor.elo:g}."
    )


def _forfeits(line: Standing) -> str:
    return ", ".join(f"{count} {name.removeprefix('forfeit-')}" for name, count in line.forfeits.items())


def _differs(one: Estimate, other: Estimate) -> bool:
    return str(one) != str(other)


def _some(count: int) -> str:
    return str(count) if count else ""
