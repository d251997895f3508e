"""`arena export`: recorded games as files, for other programs and for people."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from arena.cli.logs import log_options
from arena.cli.options import db_option, game_id
from arena.cli.whole_file import whole_file
from arena.errors import ArenaError, UnfitError, UsageError
from arena.formats import Look, writer

if TYPE_CHECKING:
    from arena.store.database import Database
    from arena.store.queries import GameDetail
    from games.pictures import Faces

FORMS = ("--pgn", "--gib", "--jsonl", "--text", "--html", "--svg", "--gif", "--site")
ONE_GAME = ("html", "svg", "gif")
"""Formats of which a file holds one game."""


@click.command("export")
@click.argument("games", metavar="[GAME]...", type=game_id, nargs=-1)
@click.option("--pgn", "form", flag_value="pgn", help="Write PGN: games of chess.")
@click.option("--gib", "form", flag_value="gib", help="Write .gib: games of janggi.")
@click.option(
    "--jsonl", "form", flag_value="jsonl", help="Write a JSON object a line: every game, with all its figures."
)
@click.option("--text", "form", flag_value="text", help="Write text to read: players, moves, the last board.")
@click.option("--html", "form", flag_value="html", help="Write a page that replays one game, offline too.")
@click.option("--svg", "form", flag_value="svg", help="Write one board of one game as a picture; see --ply.")
@click.option("--gif", "form", flag_value="gif", help="Write one game as an animated GIF.")
@click.option("--site", metavar="DIR", help="Write a page for every game, and a list of them, into a new folder.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE, whole or not at all, instead of the screen.")
@click.option("--run", metavar="RUN", help="All games of this run, by id or name.")
@click.option("--ply", type=click.IntRange(min=0), help="With --svg: the board after this ply, not the last.")
@click.option("--flip", is_flag=True, help="With --svg, --gif, --text: the second player's side at the bottom.")
@click.option(
    "--pieces",
    type=click.Choice(["hanja", "hangul", "letters"]),
    help="With --svg, --gif, --text: what stands on janggi pieces.",
)
@db_option
@log_options
def command(
    games: tuple[int, ...],
    form: str | None,
    site: str | None,
    output: str | None,
    run: str | None,
    ply: int | None,
    flip: bool,
    pieces: Faces | None,
    db: str,
) -> None:
    """Write the games named, those of a run, or all that have started, one after the other.

    Named games have to fit the format; of the others, those that do not are left out with a note.
    """
    from arena.store.database import Database

    _check(games, form, site, output, run, ply)
    left_out: list[UnfitError] | None = None if games else []
    with Database.open(db, create=False) as database:
        chosen = list(games) or _started(database, run)
        if site is not None:
            _write_site(database, chosen, Path(site), run)
            return
        if form in ONE_GAME and len(chosen) > 1:
            raise UsageError(f"--{form} writes one game a file, not {len(chosen)}: name one, or use --site DIR for all")
        texts = _texts(database, chosen, writer(str(form), Look(ply, flip, pieces)), left_out)
        between = b"" if form == "jsonl" else b"\n"
        if output is None or output == "-":
            _write_to_screen(texts, between)
        else:
            with whole_file(Path(output)) as stream:
                count = 0
                for count, text in enumerate(texts, start=1):
                    stream.write((between if count > 1 else b"") + text)
            click.echo(f"{_games(count)} written to {output}", err=True)
    if left_out:
        click.echo(f"{_games(len(left_out))} left out, for instance: {left_out[0]}", err=True)


def _check(
    games: tuple[int, ...], form: str | None, site: str | None, output: str | None, run: str | None, ply: int | None
) -> None:
    """Raises UsageError for options that do not go together."""
    if form is None and site is None:
        raise UsageError(f"say which format to write: {', '.join(FORMS[:-1])} or {FORMS[-1]} DIR")
    if games and run is not None:
        raise UsageError("name games or a run, not both")
    if site is not None and (form is not None or output is not None):
        raise UsageError(f"--site {site} writes pages into a folder: leave out {'-o' if form is None else f'--{form}'}")
    if ply is not None and form != "svg":
        raise UsageError(f"--ply {ply} goes with --svg only")
    if form == "gif" and output is None:
        raise UsageError("a GIF is no text for a screen: name a file with -o FILE, or -o - for a pipe")


def _games(count: int) -> str:
    return f"{count} {'game' if count == 1 else 'games'}"


def _started(database: Database, run: str | None) -> list[int]:
    """Ids of the games of `run`, or of all runs, that have started, in order. Raises UsageError if there is none."""
    from arena.store.queries import list_games

    found = [game.game_id for game in list_games(database, run=run) if game.started_at is not None]
    if not found:
        raise UsageError("no game has started" + (f" in run {run}" if run else "") + ": there is nothing to export")
    return sorted(found)


def _texts(
    database: Database, games: Iterable[int], write: Callable[[GameDetail], bytes], left_out: list[UnfitError] | None
) -> Iterator[bytes]:
    """The games as `write` has them. Those that the format cannot hold go to `left_out`. Raises UnfitError if that is
    None, or if no game is left."""
    from arena.store.queries import game_detail

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


def _write_site(database: Database, games: list[int], folder: Path, run: str | None) -> None:
    """Raises UsageError if the folder holds something, ArenaError for what the disk says."""
    from arena.replay.site import INDEX, site_pages
    from arena.store.queries import game_detail

    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"--site {folder}: the folder is not empty; name a new one")
    except OSError as error:
        raise ArenaError(f"cannot write {folder}: {error.strerror or error}") from error
    title = f"Arena run {run}" if run is not None else "Arena games"
    for name, text in site_pages(title, games, lambda game: game_detail(database, game)):
        with whole_file(folder / name) as stream:
            stream.write(text.encode())
    click.echo(f"{_games(len(games))} written to {folder}; open {folder / INDEX}", err=True)


def _write_to_screen(texts: Iterable[bytes], between: bytes) -> None:
    """Bytes of a GIF go to stdout as they are, text in the encoding of the screen."""
    for count, text in enumerate(texts):
        if text.startswith(b"GIF"):
            sys.stdout.buffer.write(text)
        else:
            sys.stdout.write(((between if count else b"") + text).decode())
