"""Faces of watched games: boards on a terminal, lines of text, lines of JSON."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from arena.live.boards import Boards, Gone
from arena.live.screen import render
from arena.live.terminal import REFRESH_PER_S, ended_line, palette_for
from arena.mqtt.messages import GameState, Move, RunStatus, Update

logger = logging.getLogger(__name__)


class Face(Protocol):
    """Shows what is news; `notify` shows what else there is to say."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def tell(self, update: Update | Gone) -> None: ...

    def notify(self, notice: str) -> None: ...


class BoardLines:
    """A line for each ply and each end of a game or run."""

    def __init__(self, echo: Callable[[str], None], boards: Boards) -> None:
        self._echo = echo
        self._boards = boards

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def tell(self, update: Update | Gone) -> None:
        match update:
            case RunStatus():
                self._echo(f"{update.run}: {update.status}, {update.done}/{update.games} games done")
            case Move():
                number = f"{(update.ply + 1) // 2}{'.' if update.side == 'first' else '…'}"
                self._echo(f"{update.run} game {update.game_id}: {number} {update.san} by {update.agent}")
            case GameState():
                game = self._boards.game(update.run, update.game_id)
                if game is not None:
                    how = f"{game.white} – {game.black}, at ply {game.ply}" if game.result is None else ended_line(game)
                    self._echo(f"{update.run} game {update.game_id}: {how}")
            case Gone():
                self._echo(
                    f"{update.run}: removed"
                    if update.game_id is None
                    else f"{update.run} game {update.game_id}: removed"
                )

    def notify(self, notice: str) -> None:
        self._boards.notify(notice)
        print(self._boards.notices[-1], file=sys.stderr)


class JsonLines(BoardLines):
    """Each event as one line of JSON: what was published, with its `type`."""

    TYPES = {RunStatus: "status", GameState: "state", Move: "move", Gone: "gone"}  # noqa: RUF012

    def tell(self, update: Update | Gone) -> None:
        if isinstance(update, Gone):
            content = {"run": update.run, "game_id": update.game_id}
        else:
            content = update.model_dump(mode="json")
        self._echo(json.dumps({"type": self.TYPES[type(update)], **content}, ensure_ascii=False))


class BoardScreen:
    """The boards on the alternate screen of a terminal. On leaving, the notices that came are written to stderr."""

    def __init__(self, console: Console, boards: Boards) -> None:
        self._boards = boards
        self._palette = palette_for(console)
        self._failed = False
        self._live = Live(get_renderable=lambda: self, console=console, screen=True, refresh_per_second=REFRESH_PER_S)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()
        for notice in self._boards.notices:
            print(notice, file=sys.stderr)

    def tell(self, update: Update | Gone) -> None:
        """The boards know it already, and are drawn REFRESH_PER_S times a second."""

    def notify(self, notice: str) -> None:
        self._boards.notify(notice)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        try:
            yield from render(self._boards.view(), options.max_width, options.max_height, self._palette)
        except Exception:  # a drawing fault must not stop the thread that draws
            if not self._failed:
                self._failed = True
                logger.exception("cannot draw the screen")
            yield Text("cannot draw the screen")
