"""A game as text to read: who played, every move, the last board, how it ended."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from arena.printable import printable
from arena.replay.viewmodel import Attempt, Ply, Replay
from games import get_game
from games.pictures import Faces, board_text

WIDTH = 88


def replay_text(replay: Replay, *, faces: Faces = "letters", flip: bool = False) -> str:
    """The game as lines of text that end in a line break; nothing in it can move a terminal's cursor."""
    return "\n".join(_lines(replay, faces, flip)) + "\n"


def _lines(replay: Replay, faces: Faces, flip: bool) -> Iterator[str]:
    first, second = replay.players
    yield printable(f"Game {replay.game_id}: {first.name} ({first.side}) – {second.name} ({second.side})")
    yield printable(", ".join(f"{name} {value}" for name, value in replay.facts))
    yield printable(_ending(replay))
    yield ""
    yield from wrap(printable(_movetext(replay)), WIDTH)
    yield ""
    last = replay.plies[-1]
    yield board_text(get_game(replay.rules).position(last.fen), faces=faces, flip=flip)
    yield ""
    yield from wrap(last.words, WIDTH)
    troubles = [(ply, attempt) for ply in replay.plies if ply.chosen for attempt in ply.chosen.attempts]
    failed = [f"{_name(ply)}: {_said(attempt)}" for ply, attempt in troubles if attempt.failure]
    failed += [f"after ply {replay.last}: {_said(attempt)}" for attempt in replay.open_attempts]
    if failed:
        yield ""
        yield "Tries that gave no move:"
        for line in failed:
            yield from wrap(printable(line), WIDTH, initial_indent="  ", subsequent_indent="    ")


def _ending(replay: Replay) -> str:
    return replay.ending + (f" ({replay.detail})" if replay.detail else "") + "."


def _movetext(replay: Replay) -> str:
    words: list[str] = []
    for ply in replay.plies[1:]:
        if ply.side == "first" or not words:
            words.append(str(ply.number))
        words.append(str(ply.san))
    return " ".join([*words, replay.result or "*"])


def _name(ply: Ply) -> str:
    return f"{ply.number} {ply.san}"


def _said(attempt: Attempt) -> str:
    detail = f" ({attempt.detail})" if attempt.detail else ""
    return f"{attempt.failure}{detail}: {attempt.text}"
