"""`arena export`: recorded games as a file for other programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from arena.cli.logs import log_options
from arena.cli.options import db_option, game_id
from arena.errors import ArenaError, UnfitError, UsageError

if TYPE_CHECKING:
    from arena.store.database import Database
    from arena.store.queries import GameDetail


@click.command("export")
@click.argument("games", metavar="[GAME]...", type=game_id, nargs=-1)
@click.option("--pgn", "form", flag_value="pgn", help="Write PGN: games of chess.")
@click.option("--gib", "form", flag_value="gib", help="Write .gib: games of janggi.")
@click.option(
    "--jsonl", "form", flag_value="jsonl", help="Write a JSON object a line: every game, with all its figures."
)
@click.option("-o", "--output", metavar="FILE", help="Write to FILE, whole or not at all, instead of the screen.")
@click.option("--run", metavar="RUN", help="All games of this run, by id or name.")
@db_option
@log_options
def command(games: tuple[int, ...], form: str | None, output: str | None, run: str | None, db: str) -> None:
    """Write the games named, those of a run, or all that have started, one after the other.

    Named games have to fit the format; of the others, those that do not are left out with a note.
    """
    from arena.store.database import Database

    if form is None:
        raise UsageError("say which format to write: --pgn, --gib or --jsonl")
    if games and run is not None:
        raise UsageError("name games or a run, not both")
    left_out: list[UnfitError] | None = None if games else []
    with Database.open(db, create=False) as database:
        texts = _texts(database, games or _started(database, run), form, left_out)
        between = "" if form == "jsonl" else "\n"
        if output is None or output == "-":
            _write_to(sys.stdout, texts, between)
        else:
            count = _write(Path(output), texts, between)
            click.echo(f"{_games(count)} written to {output}", err=True)
    if left_out:
        click.echo(f"{_games(len(left_out))} left out, for instance: {left_out[0]}", err=True)


def _games(count: int) -> str:
    return f"{count} {'game' if count == 1 else 'games'}"


def _started(database: Database, run: str | None) -> list[int]:
    """Ids of the games of `run`, or of all runs, that have started, in order. Raises UsageError if there is none."""
    from arena.store.queries import list_games

    found = [game.game_id for game in list_games(database, run=run) if game.started_at is not None]
    if not found:
        raise UsageError("no game has started" + (f" in run {run}" if run else "") + ": there is nothing to export")
    return sorted(found)


def _texts(database: Database, games: Iterable[int], form: str, left_out: list[UnfitError] | None) -> Iterator[str]:
    """The games as text. Those that the format cannot hold go to `left_out`. Raises UnfitError if that is None, or if
    no game is left."""
    from arena.store.queries import game_detail

    write = _writer(form)
    written = 0
    for game in games:
        try:
            text = write(game_detail(database, game))
        except UnfitError as error:
            if left_out is None:
                raise
            left_out.append(error)
            continue
        written += 1
        yield text
    if left_out and not written:
        raise left_out[0]


def _writer(form: str) -> Callable[[GameDetail], str]:
    match form:
        case "pgn":
            from arena.pgn import to_pgn

            return to_pgn
        case "gib":
            from arena.gib import to_gib

            return to_gib
        case _:
            from arena.jsonl import to_jsonl

            return to_jsonl


def _write(path: Path, texts: Iterable[str], between: str) -> int:
    """Write `texts` and return how many. A regular file is replaced at the end or left as it was; anything else
    (a pipe, a device) is written as it comes. Raises ArenaError."""
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            with target.open("w", encoding="utf-8") as stream:
                return _write_to(stream, texts, between)
        partial = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            with partial.open("x", encoding="utf-8") as stream:
                count = _write_to(stream, texts, between)
                stream.flush()
                os.fsync(stream.fileno())
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise ArenaError(f"cannot write {path}: {error.strerror or error}") from error
    return count


def _write_to(stream: IO[str], texts: Iterable[str], between: str) -> int:
    """Write `texts`, with `between` from one to the next, and return how many."""
    count = 0
    for count, text in enumerate(texts, start=1):
        stream.write((between if count > 1 else "") + text)
    return count
