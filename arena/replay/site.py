"""A folder of pages: a list of games and a page for each, for a web server or a memory stick."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from arena.replay.pages import Listed, list_page, replay_page
from arena.replay.prompts import recorded_replay
from arena.replay.saved import saved_file
from arena.replay.viewmodel import Replay

if TYPE_CHECKING:
    from arena.store.queries import GameDetail

INDEX = "index.html"


def site_pages(title: str, games: Sequence[int], load: Callable[[int], GameDetail]) -> Iterator[tuple[str, str]]:
    """Name and text of every file of a site of `games`, in their order, the list last; `load` gives a game by its id.

    One game is in memory at a time. Raises StoreError for one that cannot be replayed.
    """
    listed = []
    for index, game in enumerate(games):
        detail = load(game)
        replay = recorded_replay(detail)
        links = {"index": INDEX}
        if index > 0:
            links["previous"] = page_name(games[index - 1])
        if index + 1 < len(games):
            links["next"] = page_name(games[index + 1])
        name, text = saved_file(detail, replay)
        listed.append(_listed(replay))
        yield page_name(game), replay_page(replay, saved={name: text}, links=links)
    yield INDEX, list_page(title, f"{len(games)} {'game' if len(games) == 1 else 'games'}", listed)


def page_name(game: int) -> str:
    """The file of a game's page."""
    return f"game-{game}.html"


def _listed(replay: Replay) -> Listed:
    first, second = replay.players
    return Listed(
        href=page_name(replay.game_id),
        number=replay.game_id,
        first=first.name,
        second=second.name,
        result=replay.result or "…",
        ending=replay.ending,
        plies=replay.last,
    )
