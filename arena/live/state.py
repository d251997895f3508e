"""What a screen shows, made from events alone."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from arena.events import EngineSampled, Event, GameEnded, GameStarted, MovePlayed
from arena.printable import printable, shortened
from arena.store.records import StoredRun
from games import get_game
from games.base import Side

MAX_NOTICES = 20
MAX_NOTICE = 500
"""Characters shown of one notice."""

ESTIMATED_AFTER_S = 5.0
"""Before that, what was done says little about what the rest takes."""


@dataclass(frozen=True, slots=True)
class GameView:
    """One game as it is shown. `ply` plies are played; `result` is None while it goes on."""

    game_id: int
    game: str
    white: str
    black: str
    fen: str
    ply: int
    to_move: Side
    last_move: str | None = None
    last_san: str | None = None
    result: str | None = None
    termination: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RunView:
    """The run as it is shown: `slots` are the games on the screen, in places that they keep."""

    name: str = ""
    seed: int | None = None
    model: str | None = None
    games: int = 0  # in the schedule
    done: int = 0
    done_before: int = 0  # when it was begun or resumed
    void: int = 0
    moves: int = 0
    seconds: float = 0.0
    slots: tuple[GameView, ...] = ()
    figures: Mapping[str, float] | None = None
    notice: str = ""
    waiting_for: str = "getting the agents ready"  # shown while there is no game

    @property
    def playing(self) -> int:
        return sum(game.result is None for game in self.slots)

    @property
    def seconds_left(self) -> float | None:
        """What the rest takes if it goes on as it went since the run was begun or resumed; None: nobody knows yet."""
        done = self.done - self.done_before
        if not done or self.games <= self.done or self.seconds < ESTIMATED_AFTER_S:
            return None
        return self.seconds / done * (self.games - self.done)


class RunState:
    """A reader of the bus that keeps a RunView up to date.

    A game takes the place of the first finished one, or a new place; so what is on the screen does not jump.
    The event loop writes and another thread may call `view` at any time: each change replaces whole values.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun = clock()
        self._view = RunView()
        self.notices: deque[str] = deque(maxlen=MAX_NOTICES)

    def view(self) -> RunView:
        """The run at this moment."""
        notice = self.notices[-1] if self.notices else ""
        return replace(self._view, seconds=self._clock() - self._begun, notice=notice)

    def begin(self, run: StoredRun) -> None:
        self._begun = self._clock()
        self._view = RunView(
            name=run.name,
            seed=run.new.seed,
            model=run.new.model,
            games=run.progress.games,
            done=run.progress.done,
            done_before=run.progress.done,
            void=run.progress.void,
        )

    def notify(self, notice: str) -> None:
        """Shows `notice`, which may hold what an agent said, until the next one. From any thread."""
        self.notices.append(printable(shortened(notice, MAX_NOTICE)))

    def read(self, event: Event) -> None:
        match event:
            case GameStarted():
                self._place(_started(event))
            case MovePlayed():
                self._change(
                    event.game_id,
                    fen=event.fen,
                    ply=event.ply,
                    to_move="second" if event.side == "first" else "first",
                    last_move=event.move,
                    last_san=event.san,
                )
                self._view = replace(self._view, moves=self._view.moves + 1)
            case GameEnded():
                self._change(event.game_id, result=event.result, termination=event.termination, detail=event.detail)
                done, void = (self._view.done, self._view.void)
                self._view = replace(self._view, done=done + (not event.void), void=void + event.void)
            case EngineSampled():
                self._view = replace(self._view, figures=event.figures)
            case _:
                pass

    def game(self, game_id: int) -> GameView:
        """The game with that id, which must be on the screen."""
        return next(game for game in self._view.slots if game.game_id == game_id)

    def _place(self, game: GameView) -> None:
        slots = list(self._view.slots)
        free = next((place for place, held in enumerate(slots) if held.result is not None), len(slots))
        slots[free : free + 1] = [game]
        self._view = replace(self._view, slots=tuple(slots))

    def _change(self, game_id: int, **changes: object) -> None:
        slots = tuple(
            replace(game, **changes) if game.game_id == game_id else game  # type: ignore[arg-type]
            for game in self._view.slots
        )
        self._view = replace(self._view, slots=slots)


def _started(event: GameStarted) -> GameView:
    position = get_game(event.game).position(event.start_fen, event.moves)
    last = event.moves[-1] if event.moves else None
    before = get_game(event.game).position(event.start_fen, event.moves[:-1]) if last else None
    return GameView(
        game_id=event.game_id,
        game=event.game,
        white=event.white,
        black=event.black,
        fen=position.fen,
        ply=len(event.moves),
        to_move=position.side_to_move,
        last_move=last,
        last_san=before.san(last) if before and last else None,
    )
