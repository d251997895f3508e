"""The `.gib` record of Korean janggi programs: games in Korean notation under Korean tags, read and written.

Conventions, of which there are several in use, and these are the ones here:

- The setups (초차림, 한차림; in some files 초포진, 한포진) name the pieces on the files b, c, g and h from left to
  right *on the board as drawn with Cho at the bottom*, Han's too.
- 총수 counts plies, and so do the numbers of the moves.
- 대국결과 is the winner (초 or 한) and how: 완승, 시간승, 기권승, 점수승; or 무승부, a draw; or 접속 끊김, cut off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from games.base import IllegalMoveError, Side
from games.janggi.game import Janggi, JanggiPosition
from games.janggi.gib_text import GibError, Place, RawGame, decode, raw_games
from games.janggi.korean import korean
from games.janggi.setups import SETUPS, setup_fen

KOREAN_SETUPS = dict(zip(("마상마상", "상마상마", "마상상마", "상마마상"), SETUPS, strict=True))
_SETUPS_OF = {
    setup_fen(KOREAN_SETUPS[cho], KOREAN_SETUPS[han]): (cho, han) for cho in KOREAN_SETUPS for han in KOREAN_SETUPS
}

WAYS_TO_WIN = {
    "완승": "complete-win",
    "시간승": "time",
    "기권승": "resignation",
    "점수승": "points",
    "승": "win",
}
"""How a game was won, and what we call it; 승 says no more than that it was."""

_SIDES: dict[str, Side] = {"초": "first", "楚": "first", "한": "second", "漢": "second"}
_WON = re.compile(rf"(?P<side>[초楚한漢])\s*(?P<way>{'|'.join(WAYS_TO_WIN)})")
_CUT_OFF = re.compile(r"(?:[초楚한漢]\s*)?접속\s*끊김")
_UNKNOWN = ("", "미상", "-")

MOVES_A_LINE = 6


@dataclass(frozen=True, slots=True)
class GibEnd:
    """What a record says of a game's end; `winner` None is a draw."""

    winner: Side | None
    termination: str


@dataclass(frozen=True, slots=True)
class GibGame:
    """A game of a record: its last position with the history, the players, the end (None: it has none, or was cut
    off), and all tags as written. `line` is where in the file it begins."""

    position: JanggiPosition
    cho: str
    han: str
    end: GibEnd | None
    tags: dict[str, str] = field(default_factory=dict)
    line: int = 1


def read_gib(data: bytes, file: str, rules: Janggi) -> Iterator[GibGame]:
    """The games of a file, in order, replayed by `rules`; `file` is its name for messages.

    Raises GibError that names file, game, line and move for the first thing that is not as it should be: text in
    another encoding, a tag or move that cannot be read or is not legal, a number of moves that is not 총수.
    """
    found = False
    for raw in raw_games(decode(data, file), file):
        found = True
        yield _game(raw, rules)
    if not found:
        raise GibError(f"{file}: there is no game in it")


def holds(start: JanggiPosition) -> bool:
    """Whether the format can hold a game that begins so: with one of the sixteen setups."""
    return start.fen in _SETUPS_OF


def write_gib(start: JanggiPosition, moves: Sequence[str], end: GibEnd | None, tags: Mapping[str, str]) -> str:
    """A game as text that ends in one line break: `tags` in their order, after them those that follow from the game.

    `moves` are canonical. Raises IllegalMoveError, and ValueError for a game that does not begin with one of the
    sixteen setups or a tag with a quotation mark or line break in it.
    """
    if not holds(start):
        raise ValueError(f"a .gib record begins with one of the sixteen setups, not with {start.fen}")
    cho, han = _SETUPS_OF[start.fen]
    written = {
        **tags,
        "초차림": cho,
        "한차림": han,
        "총수": str(len(moves)),
        **({} if end is None else {"대국결과": _result(end)}),
    }
    for name, value in written.items():
        if '"' in value or not value.isprintable():
            raise ValueError(f"the tag {name} cannot hold {value!r}: no quotation marks, no line breaks")
    lines = [f'[{name} "{value}"]' for name, value in written.items()]
    return "\n".join([*lines, "", *_move_lines(start, moves)]).rstrip("\n") + "\n"


def _game(raw: RawGame, rules: Janggi) -> GibGame:
    position = rules.position(setup_fen(_setup(raw, "초차림", "초포진"), _setup(raw, "한차림", "한포진")))
    for place, text in raw.moves:
        position = _play(position, text, place)
    total = raw.tag("총수")
    if total not in (None, *_UNKNOWN, str(len(raw.moves))):
        raise raw.place.error(f"총수 is {total!r}, but there are {len(raw.moves)} moves: it is damaged or cut off")
    return GibGame(
        position=position,
        cho=raw.tag("초대국자") or "",
        han=raw.tag("한대국자") or "",
        end=_end(raw),
        tags=raw.tags,
        line=raw.place.line,
    )


def _setup(raw: RawGame, *names: str) -> str:
    setup = raw.tag(*names)
    if setup not in KOREAN_SETUPS:
        said = "is missing" if setup is None else f"is {setup!r}"
        raise raw.place.error(f"the setup {names[0]} {said}; it should be one of {', '.join(KOREAN_SETUPS)}")
    return KOREAN_SETUPS[setup]


def _play(position: JanggiPosition, text: str, place: Place) -> JanggiPosition:
    try:
        return position.play(position.parse(text))
    except IllegalMoveError as error:
        raise place.error(f"{error} (played by the rules of {position.game})") from error
    except ValueError as error:
        raise place.error(str(error)) from error


def _end(raw: RawGame) -> GibEnd | None:
    said = raw.tag("대국결과") or ""
    if said in _UNKNOWN or _CUT_OFF.fullmatch(said):
        return None
    if said == "무승부":
        return GibEnd(None, "draw")
    won = _WON.fullmatch(said)
    if won is None:
        raise raw.place.error(
            f"대국결과 {said!r} should be 초 or 한 with {', '.join(WAYS_TO_WIN)}; or 무승부, 접속 끊김"
        )
    return GibEnd(_SIDES[won["side"]], WAYS_TO_WIN[won["way"]])


def _result(end: GibEnd) -> str:
    """The words for an end. Those of our own terminations that the format has no word for are won, 승, or drawn."""
    if end.winner is None:
        return "무승부"
    if end.termination == "checkmate":
        way = "완승"
    elif end.termination.endswith("points"):
        way = "점수승"
    else:
        way = next((korean for korean, ours in WAYS_TO_WIN.items() if ours == end.termination), "승")
    return f"{'초' if end.winner == 'first' else '한'} {way}"


def _move_lines(position: JanggiPosition, moves: Sequence[str]) -> Iterator[str]:
    """The moves with their numbers, MOVES_A_LINE of them in each."""
    words: list[str] = []
    for number, move in enumerate(moves, start=1):
        words.append(f"{number}. {korean(position, move)}")
        position = position.play(move)
    for start in range(0, len(words), MOVES_A_LINE):
        yield " ".join(words[start : start + MOVES_A_LINE])
