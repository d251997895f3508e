"""Games of a PGN file, to be recorded: main lines with their times; comments and variations are left behind."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import cast, get_args

import chess.pgn

from arena.endings import Result
from arena.errors import UsageError
from arena.imports.record import ImportedGame, MoveTimes, ending_of
from games.base import Position
from games.chess import Chess

TERMINATIONS = {"time forfeit": "time", "abandoned": "abandoned", "adjudication": "adjudication"}
"""Our names for the standard's words where the rules do not end the game; by others it is `win` or `draw`."""

STANDARD = ("standard", "chess", "from position")
"""What the tag Variant may say of plain chess."""

_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_NAME = re.compile(r"[a-z]+(?:-[a-z]+)*")


def pgn_games(data: bytes, file: str) -> list[ImportedGame]:
    """The games of a file in UTF-8, or else in the standard's ISO 8859-1.

    Raises UsageError that names file, game and line for the first move that is not legal, a game of other rules than
    chess, a result that the moves contradict, and a game that does not end with its result (the file is cut off).
    """
    lines = _Lines(_decode(data, file))
    games: list[ImportedGame] = []
    try:
        while (game := chess.pgn.read_game(lines, Visitor=_Builder)) is not None:
            games.append(_imported(game))
    except ValueError as error:
        raise UsageError(f"{file}, game {len(games) + 1}, line {lines.number}: {error}") from error
    if not games:
        raise UsageError(f"{file}: there is no game in it")
    return games


class _Lines(io.StringIO):
    """The lines of a text; `number` is the one read last, from 1."""

    number = 0

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]  # the stubs name bytes
        line = super().readline(-1 if size is None else size)
        self.number += bool(line)
        return line


class _Builder(chess.pgn.GameBuilder[chess.pgn.Game]):
    """Builds the main line of a game, and stops at the first fault instead of noting it. Raises ValueError."""

    def begin_game(self) -> None:
        super().begin_game()
        self._ends: str | None = None

    def end_headers(self) -> None:
        variant = self.game.headers.get("Variant", "standard")
        if variant.lower() not in STANDARD:
            raise ValueError(f"its rules are {variant!r}; only standard chess can be read")
        Chess().position(self.game.headers.get("FEN"))

    def begin_variation(self) -> chess.pgn.SkipType:  # type: ignore[override]  # as the base of GameBuilder allows
        return chess.pgn.SKIP

    def end_variation(self) -> None:
        """Nothing was begun."""

    def begin_parse_san(self, board: chess.Board, san: str) -> None:
        if self._ends is not None:
            raise ValueError(f"{san!r} comes after the end of the game, {self._ends}")

    def handle_error(self, error: Exception) -> None:
        raise ValueError(str(error)) from error

    def visit_result(self, result: str) -> None:
        said = self.game.headers.get("Result", result)
        if said != result and said != "*":
            raise ValueError(f"the game ends with {result}, but its tag Result is {said!r}")
        self._ends = result
        super().visit_result(result)

    def end_game(self) -> None:
        if self._ends is None:
            raise ValueError("the game does not end with its result: 1-0, 0-1, 1/2-1/2 or *")
        super().end_game()


def _decode(data: bytes, file: str) -> str:
    if found := _CONTROL.search(data):
        raise UsageError(f"{file}: it is not text: byte {found.start()} is {data[found.start()]:#04x}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("iso-8859-1")


def _imported(game: chess.pgn.Game) -> ImportedGame:
    headers = game.headers
    position: Position = Chess().position(headers.get("FEN"), [move.uci() for move in game.mainline_moves()])
    said = headers["Result"]
    if said not in get_args(Result):
        raise ValueError(f"the result {said!r} should be one of {', '.join(get_args(Result))}")
    return ImportedGame(
        position=position,
        white=headers["White"] or "?",
        black=headers["Black"] or "?",
        ending=ending_of(position, cast(Result, said), _termination(headers)),
        date=_date(headers),
        times=tuple(_times(game)),
        kinds=(headers.get("WhiteType"), headers.get("BlackType")),
        tags=dict(headers),
    )


def _termination(headers: chess.pgn.Headers) -> str:
    """The name that our own export wrote, else what the standard's tag says, else who won."""
    ours = headers.get("ArenaTermination", "")
    if _NAME.fullmatch(ours):
        return ours
    unknown = "draw" if headers["Result"] == "1/2-1/2" else "win"
    return TERMINATIONS.get(headers.get("Termination", "").lower(), unknown)


def _date(headers: chess.pgn.Headers) -> datetime | None:
    """When the game began, in UTC; None if the tags do not say the day."""
    for day, time in (("UTCDate", "UTCTime"), ("Date", "")):
        text = f"{headers.get(day, '')} {headers.get(time, '00:00:00')}"
        try:
            return datetime.strptime(text, "%Y.%m.%d %H:%M:%S").replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def _times(game: chess.pgn.Game) -> Iterator[MoveTimes]:
    """What `%emt` and `%clk` say of each move."""
    for node in game.mainline():
        clock = node.clock()
        yield MoveTimes((node.emt() or 0.0) * 1000, None if clock is None else clock * 1000)
