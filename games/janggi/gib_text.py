"""The outer form of a `.gib` file: tags, numbered moves, comments, several games a file; nothing of janggi in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_TAG = re.compile(r'\[\s*(?P<name>[^\s"\[\]]+)\s*"(?P<value>[^"]*)"\s*\]')
_NUMBER = re.compile(r"(?P<number>[0-9]+)\.(?P<rest>.*)")


class GibError(ValueError):
    """A file that is not the record of a game. The message names file, game, line and move."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file something stands, for messages; numbers count from 1."""

    file: str
    game: int
    line: int
    move: int | None = None

    def error(self, fault: str) -> GibError:
        move = "" if self.move is None else f", move {self.move}"
        return GibError(f"{self.file}, game {self.game}, line {self.line}{move}: {fault}")


@dataclass(slots=True)
class RawGame:
    """A game as written: its tags in order, and each move's text with its place."""

    place: Place
    tags: dict[str, str] = field(default_factory=dict)
    moves: list[tuple[Place, str]] = field(default_factory=list)
    number: Place | None = None  # of a move number whose move has not come yet

    def tag(self, *names: str) -> str | None:
        """The value of the first of these tags that is there."""
        return next((self.tags[name] for name in names if name in self.tags), None)

    def is_over_at(self, rest: str) -> bool:
        """Whether what follows begins the next game: a tag after moves, or the first tag once more."""
        if not rest.startswith("[") or self.number is not None:
            return False
        tag = _TAG.match(rest)
        return bool(self.moves) or (tag is not None and tag["name"] == next(iter(self.tags), None))

    def check_complete(self) -> None:
        """Raises GibError if a number waits for its move."""
        if self.number is not None:
            raise self.number.error("there is a number, but no move")


def decode(data: bytes, file: str) -> str:
    """The text of a file in UTF-8 or CP949 (EUC-KR and more). Raises GibError if it is neither.

    Bytes that neither encoding uses but old programs leave are dropped: 0xFF, and from 0x1A, the end of a file in
    DOS, on.
    """
    data = data.replace(b"\xff", b"")
    data, _, after_end = data.partition(b"\x1a")
    if after_end.strip(b"\x1a\x00\r\n\t "):
        raise GibError(f"{file}: it goes on after the mark of its end (0x1A at byte {len(data)})")
    for encoding in ("utf-8-sig", "cp949"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError as error:
            fault = error
    raise GibError(f"{file}: it is text neither in UTF-8 nor in CP949 (byte {fault.start} is {data[fault.start]:#04x})")


def raw_games(text: str, file: str) -> Iterator[RawGame]:
    """The games of a file's text, in order. Raises GibError."""
    game: RawGame | None = None
    count = 0
    comment: Place | None = None  # where the comment that is open began
    for line, content in enumerate(text.splitlines(), start=1):
        rest = content.strip()
        while rest:
            if comment is not None:
                _, closed, rest = rest.partition("}")
                comment, rest = (None if closed else comment), rest.strip()
                continue
            if game is None or game.is_over_at(rest):
                if game is not None:
                    yield game
                count += 1
                game = RawGame(Place(file, count, line))
            if rest.startswith("{"):
                comment, rest = Place(file, count, line), rest[1:]
            elif rest.startswith("["):
                rest = _read_tag(game, rest, Place(file, count, line)).strip()
            else:
                word = re.split(r"[\s{\[]", rest, maxsplit=1)[0]
                _read_word(game, word, line)
                rest = rest[len(word) :].strip()
    if comment is not None:
        raise comment.error("a comment begins here with { and never ends")
    if game is not None:
        game.check_complete()
        yield game


def _read_tag(game: RawGame, text: str, place: Place) -> str:
    """Read the tag that `text` begins with and return what follows it."""
    game.check_complete()
    tag = _TAG.match(text)
    if tag is None:
        raise place.error(f'{text!r} should be a tag, as [초대국자 "name"]')
    if tag["name"] in game.tags:
        raise place.error(f"the tag {tag['name']} comes twice in one game")
    game.tags[tag["name"]] = tag["value"].strip()
    return text[tag.end() :]


def _read_word(game: RawGame, word: str, line: int) -> None:
    """Read a move, its number, or both in one word: `12.`, `45병46`, `4.45병46`."""
    due = Place(game.place.file, game.place.game, line, len(game.moves) + 1)
    number = _NUMBER.fullmatch(word)
    if number is not None:
        game.check_complete()
        if int(number["number"]) != due.move:
            raise due.error(f"the number here is {number['number']}")
        game.number = due
        word = number["rest"]
    if word:
        if game.number is None:
            raise due.error(f"{word!r} should be a tag, or a move after its number, as 1. 79졸78")
        game.moves.append((due, word))
        game.number = None
