"""The forms in which a recorded game can be written to a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.errors import UsageError

if TYPE_CHECKING:
    from arena.store.queries import GameDetail
    from games.pictures import Faces


@dataclass(frozen=True, slots=True)
class Look:
    """How pictures and text boards are drawn; `ply` None is the last one."""

    ply: int | None
    flip: bool
    faces: Faces | None


def writer(form: str, look: Look) -> Callable[[GameDetail], bytes]:
    """What makes a file of a game: `form` is pgn, gib, jsonl, text, html, svg or gif.

    The function raises UnfitError for a game that the form cannot hold, StoreError for one that cannot be replayed,
    UsageError for a ply or pieces that there are not.
    """
    match form:
        case "pgn":
            from arena.pgn import to_pgn

            return lambda detail: to_pgn(detail).encode()
        case "gib":
            from arena.gib import to_gib

            return lambda detail: to_gib(detail).encode()
        case "jsonl":
            from arena.jsonl import to_jsonl

            return lambda detail: to_jsonl(detail).encode()
        case _:
            return lambda detail: _shown(form, detail, look)


def _shown(form: str, detail: GameDetail, look: Look) -> bytes:
    """The game as one of the formats for people. Raises UsageError, StoreError."""
    from arena.replay.prompts import recorded_replay

    replay = recorded_replay(detail)
    match form:
        case "text":
            from arena.replay.text import replay_text

            return replay_text(replay, faces=look.faces or "letters", flip=look.flip).encode()
        case "html":
            from arena.replay.pages import replay_page
            from arena.replay.saved import saved_file

            return replay_page(replay, saved=dict([saved_file(detail, replay)])).encode()
        case "svg":
            from arena.replay.pictures import ply_svg

            shown = replay.last if look.ply is None else look.ply
            if shown > replay.last:
                raise UsageError(f"game {detail.game_id} has plies 0 to {replay.last}, not {shown}")
            return ply_svg(replay, shown, flip=look.flip, faces=look.faces or "hanja").encode()
        case _:
            from arena.replay.gif import replay_gif

            return replay_gif(replay, flip=look.flip, faces=look.faces or "hanja")
