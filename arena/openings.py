"""Where games start: openings and lists of them, checked before the first game.

A list is the game's own (a file of this package for chess, the named start positions for janggi), or a file of the
user's: PGN (chess only), or one position a line as EPD or FEN.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from agents.seeds import derive_seed
from arena.errors import UsageError
from arena.printable import printable
from arena.resources import data_path
from games import get_game
from games.base import Game, IllegalMoveError, InvalidPositionError

Order = Literal["sequential", "random"]

NEAR = 5
"""How many names like an unknown one are told."""


class OpeningsError(UsageError):
    """A list of openings that no tournament can start from. The message names the file and the line."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Moves from the start, or from `start_fen`, which lead to `fen`: there the agents take over."""

    name: str
    fen: str
    start_fen: str | None = None
    moves: tuple[str, ...] = ()


def own_openings(game: Game) -> tuple[Opening, ...]:
    """The list that comes with `game`; its start position alone if there is none."""
    return _own_openings(game.name)


@cache
def _own_openings(name: str) -> tuple[Opening, ...]:
    game = get_game(name)
    if game.openings:
        return tuple(Opening(setup, game.position(fen).fen, fen) for setup, fen in game.openings.items())
    try:
        path = data_path("openings", f"{name}.pgn")
    except FileNotFoundError:
        return start_position(game)
    return read_openings(path, game)


def find_opening(game: Game, name: str) -> Opening:
    """The opening of the game's own list that is called `name`, in any letter case. Raises UsageError with those whose
    names are near."""
    by_name = {opening.name.casefold(): opening for opening in own_openings(game)}
    wanted = name.casefold()
    if wanted in by_name:
        return by_name[wanted]
    if near := _near(wanted, by_name):
        raise UsageError(f"unknown opening {name!r} of {game.name}; did you mean {'; '.join(near)}?")
    families = dict.fromkeys(_family(opening.name) for opening in by_name.values())
    raise UsageError(f"unknown opening {name!r} of {game.name}; there is {', '.join(families)}")


def _near(wanted: str, by_name: Mapping[str, Opening]) -> list[str]:
    """A few names that `wanted` is a part of, or else that it resembles, whole or by their family."""
    if wanted and (around := [opening.name for name, opening in by_name.items() if wanted in name]):
        return around[:NEAR]
    like = get_close_matches(wanted, {*by_name, *map(_family, by_name)}, n=NEAR)
    return [opening.name for name, opening in by_name.items() if name in like or _family(name) in like][:NEAR]


def _family(name: str) -> str:
    """What names of related openings begin with: `Petrov` of `Petrov, Italian`."""
    return name.partition(",")[0]


def start_position(game: Game) -> tuple[Opening, ...]:
    """The list of the start position alone."""
    return (Opening("start", game.position().fen),)


def read_openings(path: Path, game: Game, plies: int | None = None) -> tuple[Opening, ...]:
    """The openings of a file, cut to `plies` where it is PGN; the ending of its name tells what it is.

    Raises OpeningsError for a file that cannot be read, holds no opening, holds one that is illegal or in which the
    game is over, or holds the same position twice.
    """
    readers = {".pgn": _read_pgn, ".epd": _read_lines, ".fen": _read_lines}
    if path.suffix.lower() not in readers:
        raise OpeningsError(f"{path}: openings are read from files called .pgn, .epd or .fen")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise OpeningsError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise OpeningsError(f"{path}: not UTF-8 text: {error.reason} at byte {error.start}") from error
    openings: list[Opening] = []
    places: dict[str, str] = {}
    for place, found in readers[path.suffix.lower()](text, path, game, plies):
        opening = _checked(found, game, f"{path}, {place}")
        key = opening.fen.rsplit(" ", 2)[0]  # without the clocks
        if key in places:
            raise OpeningsError(f"{path}, {place}: the same position as {places[key]}")
        places[key] = place
        openings.append(opening)
    if not openings:
        raise OpeningsError(f"{path}: there is no opening in it")
    return tuple(openings)


def check_enough(openings: Sequence[Opening], needed: int, what: str) -> None:
    """Raises OpeningsError if `openings` are fewer than `needed` for `what`, such as `4 games per pair`."""
    if len(openings) < needed:
        raise OpeningsError(
            f"{len(openings)} openings are too few: {what} takes {needed}, so that no two agents play one twice"
        )


def opening_order(count: int, order: Order, seed: int, start: int = 0) -> tuple[int, ...]:
    """In which order a list of `count` openings is used: from place `start` on and round, or shuffled by `seed`."""
    if order == "random":
        return tuple(sorted(range(count), key=lambda place: derive_seed(seed, "opening", place)))
    return tuple((start + place) % count for place in range(count))


def openings_hash(openings: Sequence[Opening]) -> str:
    """A hash of what the games start from; names do not count."""
    text = "\n".join(f"{opening.start_fen or ''}|{' '.join(opening.moves)}|{opening.fen}" for opening in openings)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _checked(opening: Opening, game: Game, where: str) -> Opening:
    """`opening` with its final position, once every move of it is known to be legal."""
    try:
        position = game.position(opening.start_fen, opening.moves)
    except (IllegalMoveError, InvalidPositionError) as error:
        raise OpeningsError(f"{where}: {error}") from error
    if (outcome := position.outcome()) is not None:
        raise OpeningsError(f"{where}: the game is over there, by {outcome.termination}")
    return Opening(opening.name, position.fen, opening.start_fen, opening.moves)


Found = Iterator[tuple[str, Opening]]
"""Openings as they stand in a file, not checked, each with the place where it was."""


def _read_pgn(text: str, path: Path, game: Game, plies: int | None) -> Found:
    if game.name != "chess":
        raise OpeningsError(f"{path}: PGN is for chess; openings of {game.name} are given as EPD or FEN")
    import chess.pgn

    stream = io.StringIO(text)
    number = 0
    while (node := chess.pgn.read_game(stream)) is not None:
        number += 1
        if node.errors:
            raise OpeningsError(f"{path}, game {number}: {printable(str(node.errors[0]))}")
        names = [node.headers.get(tag, "?") for tag in ("Opening", "Event")]
        name = next((name for name in names if name != "?"), f"{path.stem} {number}")
        moves = tuple(move.uci() for move in node.mainline_moves())[:plies]
        yield f"game {number}", Opening(name, "", node.headers.get("FEN"), moves)


_POSITION = re.compile(r"(?P<fen>\S+ \S+ \S+ \S+(?: \d+ \d+(?=\s|;|$))?)(?P<operations>.*)")
_OPERATION = re.compile(r"(?P<code>\w+) (?:\"(?P<text>[^\"]*)\"|(?P<value>[^;]*));")


def _read_lines(text: str, path: Path, game: Game, plies: int | None) -> Found:
    if plies is not None:
        raise OpeningsError(f"{path}: plies are for PGN; a position has none")
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        shape = _POSITION.fullmatch(" ".join(line.split()))
        if shape is None:
            raise OpeningsError(f"{path}, line {number}: {printable(line[:80])!r} is no EPD or FEN")
        operations = {
            found["code"]: found["text"] or found["value"] or "" for found in _OPERATION.finditer(shape["operations"])
        }
        fen = shape["fen"]
        if fen.count(" ") == 3:
            fen += f" {operations.get('hmvc', '0')} {operations.get('fmvn', '1')}"
        yield f"line {number}", Opening(operations.get("id", f"{path.stem} {number}"), "", fen)
