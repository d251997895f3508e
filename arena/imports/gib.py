"""Games of a `.gib` file, to be recorded."""

from __future__ import annotations

from datetime import UTC, datetime

from arena.endings import Result, win_of
from arena.errors import UsageError
from arena.imports.record import ImportedGame, ending_of
from games import get_game
from games.janggi.game import Janggi
from games.janggi.gib import GibEnd, GibGame, read_gib
from games.janggi.gib_text import GibError

UNKNOWN_PLAYER = "?"


def gib_games(data: bytes, file: str, rules_name: str = "janggi") -> list[ImportedGame]:
    """The games of a file, replayed by the rules of that name. Raises UsageError that names the place of the first
    fault."""
    rules = get_game(rules_name)
    if not isinstance(rules, Janggi):
        raise UsageError(f"{file} is replayed by the rules of janggi, not of {rules_name}")
    try:
        return [_imported(game, file, number) for number, game in enumerate(read_gib(data, file, rules), start=1)]
    except GibError as error:
        raise UsageError(str(error)) from error


def _imported(game: GibGame, file: str, number: int) -> ImportedGame:
    try:
        ending = ending_of(game.position, _result(game.end), game.end.termination if game.end else "")
    except ValueError as error:
        raise UsageError(f"{file}, game {number}, line {game.line}: {error} (rules of {game.position.game})") from error
    return ImportedGame(
        position=game.position,
        white=game.cho or UNKNOWN_PLAYER,
        black=game.han or UNKNOWN_PLAYER,
        ending=ending,
        date=_date(game.tags.get("대국일자", "")),
        tags=game.tags,
    )


def _result(end: GibEnd | None) -> Result:
    if end is None:
        return "*"
    return "1/2-1/2" if end.winner is None else win_of(end.winner)


def _date(text: str) -> datetime | None:
    """A day as 2026-11-30 or 2026.11.30; None for other text, which stays in the tags."""
    for form in ("%Y-%m-%d", "%Y.%m.%d"):
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None
