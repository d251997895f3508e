"""Two ways to follow a run from a terminal: a live screen, and plain lines where there is no terminal."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from arena.bus import Reader
from arena.events import EngineSampled, Event, GameEnded, GameStarted
from arena.live.board import PLAIN, Palette
from arena.live.screen import clock_text, figures_line, render
from arena.live.state import GameView, RunState
from arena.printable import printable, shortened
from arena.store.records import StoredRun

logger = logging.getLogger(__name__)

REFRESH_PER_S = 4
LINE_EVERY_S = 5.0
MAX_REASON = 300
"""Characters shown of why a game ended; the record has more."""


class Screen(Reader, Protocol):
    """A reader with a beginning and an end, which also shows notices."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def notify(self, notice: str) -> None: ...


class LiveScreen(RunState):
    """The live view on the alternate screen of a terminal, redrawn REFRESH_PER_S times a second by a thread of
    its own. On leaving, the notices that came are written to stderr."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self._palette = palette_for(console)
        self._failed = False
        self._live = Live(
            get_renderable=lambda: self,
            console=console,
            screen=True,
            refresh_per_second=REFRESH_PER_S,
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()
        for notice in self.notices:
            print(notice, file=sys.stderr)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        try:
            yield from render(self.view(), options.max_width, options.max_height, self._palette)
        except Exception:  # a drawing fault must not stop the thread that draws
            if not self._failed:
                self._failed = True
                logger.exception("cannot draw the screen; the games go on")
            yield Text("cannot draw the screen; the games go on")


class PlainProgress(RunState):
    """One line at each end of a game, and one with the figures and the time left every few seconds, unless a person is
    being asked for moves in between (`figures` False)."""

    def __init__(
        self, echo: Callable[[str], None], clock: Callable[[], float] = time.monotonic, *, figures: bool = True
    ) -> None:
        super().__init__(clock)
        self._echo = echo
        self._figures = figures
        self._last_line = clock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def notify(self, notice: str) -> None:
        super().notify(notice)
        print(self.notices[-1], file=sys.stderr)

    def begin(self, run: StoredRun) -> None:
        super().begin(run)
        model = f", {run.new.model}" if run.new.model else ""
        self._echo(f"run {run.name}: {self.view().games} games, seed {run.new.seed}{model}")

    def read(self, event: Event) -> None:
        super().read(event)
        match event:
            case GameStarted() if event.moves:
                self._echo(f"game {event.game_id} goes on at ply {len(event.moves)}")
            case GameEnded():
                self._echo(f"game {event.game_id}: {ended_line(self.game(event.game_id))}")
            case EngineSampled() if self._figures and self._clock() - self._last_line >= LINE_EVERY_S:
                self._last_line = self._clock()
                view = self.view()
                left = f", {clock_text(view.seconds_left)} left" if view.seconds_left is not None else ""
                done = f"{view.done}/{view.games} games done, {view.playing} playing, {view.moves} moves{left}"
                self._echo(f"{done}; {figures_line(event.figures)}")
            case _:
                pass


def ended_line(game: GameView) -> str:
    """`white 1-0 black, checkmate, 57 plies`, with the reason where there is one."""
    result = "void" if game.result == "*" else game.result
    reason = f" ({printable(shortened(game.detail, MAX_REASON))})" if game.detail else ""
    plies = f"{game.ply} pl{'y' if game.ply == 1 else 'ies'}"
    return f"{game.white} {result} {game.black}, {game.termination}, {plies}{reason}"


def palette_for(console: Console) -> Palette:
    """Figures on coloured squares where the terminal has the colours and characters for it, else letters."""
    colours = console.color_system in ("256", "truecolor") and not console.no_color
    return Palette() if colours and console.encoding.lower().startswith("utf") else PLAIN
