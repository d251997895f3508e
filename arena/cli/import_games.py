"""`arena import`: games of other programs as a run of the record."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import click

from arena.cli.logs import log_options
from arena.cli.options import db_option, echo_json, json_option
from arena.errors import UsageError

if TYPE_CHECKING:
    from arena.imports.record import ImportedGame

JANGGI_RULES = ("janggi", "janggitraditional", "janggimodern", "janggicasual")


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--game", type=click.Choice(JANGGI_RULES), help="The rules that a .gib file's games are replayed by.")
@click.option("--name", metavar="NAME", help="Name of the run; without it, one is made.")
@db_option
@json_option
@log_options
def command(file: Path, game: str | None, name: str | None, db: str, as_json: bool) -> None:
    """Record the games of FILE, a .pgn of chess or a .gib of janggi, as a run of their own: all of them, or none.

    Every move is replayed by the rules. The players of the file become the agents of the run.
    """
    from arena.imports.record import record
    from arena.store.database import Database

    data = _bytes(file)
    games = _games(file, data, game)
    with Database.open(db, create=True) as database:
        run = record(database, file.name, sha256(data).hexdigest(), games, name)
    if as_json:
        echo_json(run)
        return
    plies = sum(len(game.position.moves) for game in games)
    counted = "1 game" if len(games) == 1 else f"{len(games)} games"
    click.echo(f"{counted} with {plies} plies from {file.name} recorded as run {run.run_id} ({run.name}).")
    click.echo(f"`arena games --run {run.name}` lists them; `arena show {run.games[0]}` shows the first.")


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from error


def _games(file: Path, data: bytes, game: str | None) -> list[ImportedGame]:
    """The games of the file, by the format that its name says. Raises UsageError."""
    match file.suffix.lower():
        case ".gib":
            from arena.imports.gib import gib_games

            return gib_games(data, file.name, game or JANGGI_RULES[0])
        case ".pgn":
            from arena.imports.pgn import pgn_games

            if game is not None:
                raise UsageError(f"--game {game} is for .gib files; {file.name} holds chess")
            return pgn_games(data, file.name)
    raise UsageError(f"cannot tell the format of {file.name}: its name should end in .pgn or .gib")
