"""What another program can read of a game: the file that a face offers when a game is to be saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.errors import UnfitError
from arena.replay.text import replay_text
from arena.replay.viewmodel import Replay

if TYPE_CHECKING:
    from arena.store.queries import GameDetail


def saved_file(detail: GameDetail, replay: Replay) -> tuple[str, str]:
    """Name and text: PGN for chess, `.gib` for janggi, plain text for a game that neither can hold."""
    name = f"game-{detail.game_id}"
    if detail.game == "chess":
        from arena.pgn import to_pgn

        return f"{name}.pgn", to_pgn(detail)
    from arena.gib import to_gib

    try:
        return f"{name}.gib", to_gib(detail)
    except UnfitError:
        return f"{name}.txt", replay_text(replay)
