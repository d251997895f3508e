"""Rules and notation of the games that can be played. Knows no model, no database, no event loop."""

from __future__ import annotations

import importlib

from games.base import Game, UnknownGameError

_GAMES = {  # name -> module and class, imported when first asked for
    "chess": ("games.chess", "Chess"),
    "janggi": ("games.janggi.game", "Janggi"),
    "janggicasual": ("games.janggi.game", "JanggiCasual"),
    "janggimodern": ("games.janggi.game", "JanggiModern"),
    "janggitraditional": ("games.janggi.game", "JanggiTraditional"),
}


def game_names() -> tuple[str, ...]:
    """The names that `get_game` knows, in order of the alphabet."""
    return tuple(sorted(_GAMES))


def get_game(name: str) -> Game:
    """The rules called `name`. Raises UnknownGameError."""
    if name not in _GAMES:
        raise UnknownGameError(f"unknown game {name!r}; there is {', '.join(game_names())}")
    module, class_name = _GAMES[name]
    game: Game = getattr(importlib.import_module(module), class_name)()
    return game
