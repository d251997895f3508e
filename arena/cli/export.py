"""`arena export`: recorded games as a file for other programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from arena.cli.logs import log_options
from arena.cli.options import db_option, game_id
from arena.errors import ArenaError, UsageError

if TYPE_CHECKING:
    from arena.store.database import Database


@click.command("export")
@click.argument("games", metavar="[GAME]...", type=game_id, nargs=-1)
@click.option("--pgn", is_flag=True, help="Write PGN.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE, whole or not at all, instead of the screen.")
@click.option("--run", metavar="RUN", help="All games of this run, by id or name.")
@db_option
@log_options
def command(games: tuple[int, ...], pgn: bool, output: str | None, run: str | None, db: str) -> None:
    """Write the games named, those of a run, or all that have started, one after the other."""
    from arena.store.database import Database

    if not pgn:
        raise UsageError("say which format to write: --pgn")
    if games and run is not None:
        raise UsageError("name games or a run, not both")
    with Database.open(db, create=False) as database:
        texts = _texts(database, games or _started(database, run))
        if output is None or output == "-":
            _write_to(sys.stdout, texts)
        else:
            count = _write(Path(output), texts)
            click.echo(f"{count} {'game' if count == 1 else 'games'} written to {output}", err=True)


def _started(database: Database, run: str | None) -> list[int]:
    """Ids of the games of `run`, or of all runs, that have started, in order. Raises UsageError if there is none."""
    from arena.store.queries import list_games

    found = [game.game_id for game in list_games(database, run=run) if game.started_at is not None]
    if not found:
        raise UsageError("no game has started" + (f" in run {run}" if run else "") + ": there is nothing to export")
    return sorted(found)


def _texts(database: Database, games: Iterable[int]) -> Iterator[str]:
    from arena.pgn import to_pgn
    from arena.store.queries import game_detail

    for game in games:
        yield to_pgn(game_detail(database, game))


def _write(path: Path, texts: Iterable[str]) -> int:
    """Write `texts` and return how many. A regular file is replaced at the end or left as it was; anything else
    (a pipe, a device) is written as it comes. Raises ArenaError."""
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            with target.open("w", encoding="utf-8") as stream:
                return _write_to(stream, texts)
        partial = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            with partial.open("x", encoding="utf-8") as stream:
                count = _write_to(stream, texts)
                stream.flush()
                os.fsync(stream.fileno())
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise ArenaError(f"cannot write {path}: {error.strerror or error}") from error
    return count


def _write_to(stream: IO[str], texts: Iterable[str]) -> int:
    """Write `texts`, an empty line between two, and return how many."""
    count = 0
    for count, text in enumerate(texts, start=1):
        stream.write(("\n" if count > 1 else "") + text)
    return count
