"""Games of any number of runs as they are shown, from updates that may come twice, late, or not at all."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from arena.live.state import MAX_NOTICE, MAX_NOTICES, GameView, RunView
from arena.mqtt.messages import GameState, Move, RunStatus, Update
from arena.printable import printable, shortened

MAX_SLOTS = 500
"""Games on the screen."""
MAX_ENDED_SLOTS = 12
"""Games on the screen that had ended before we looked."""
MAX_GAMES = 20_000
"""Games remembered; ended ones give way."""

Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Gone:
    """What was known of a run, or of one of its games, was removed."""

    run: str
    game_id: int | None = None


@dataclass(frozen=True, slots=True)
class _Known:
    session: int
    view: GameView


class Boards:
    """Takes updates in any order and keeps the newest state of every game.

    Invariant: the ply of a game only grows within a session of its publisher, whatever arrives; a later session
    replaces an earlier one. One thread writes, another may call `view` at any time: the view is replaced as a whole.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, waiting_for: str = "no game yet") -> None:
        self.duplicates = 0
        """Moves that were known already."""
        self.missed = 0
        """Moves that never came; the position after them did."""
        self.notices: deque[str] = deque(maxlen=MAX_NOTICES)
        self._clock = clock
        self._begun = clock()
        self._waiting_for = waiting_for
        self._runs: dict[str, RunStatus] = {}
        self._games: dict[Key, _Known] = {}
        self._slots: list[Key] = []
        self._moves = 0
        self._view = RunView(waiting_for=waiting_for)

    def view(self) -> RunView:
        """What is to be shown at this moment."""
        notice = self.notices[-1] if self.notices else ""
        return replace(self._view, seconds=self._clock() - self._begun, notice=notice)

    def notify(self, notice: str) -> None:
        """Shows `notice` until the next one. From any thread."""
        self.notices.append(printable(shortened(notice, MAX_NOTICE)))

    def game(self, run: str, game_id: int) -> GameView | None:
        known = self._games.get((run, game_id))
        return known.view if known else None

    def status(self, run: str) -> RunStatus | None:
        return self._runs.get(run)

    @property
    def all_ended(self) -> bool:
        """Whether there was a run, and none goes on."""
        return bool(self._runs) and all(run.status != "running" for run in self._runs.values())

    def take(self, update: Update | Gone) -> bool:
        """Whether `update` was news."""
        match update:
            case RunStatus():
                news = self._take_status(update)
            case GameState():
                news = self._take_state(update)
            case Move():
                news = self._take_move(update)
            case Gone():
                news = self._forget(update)
        if news:
            self._view = self._whole()
        return news

    def _take_status(self, status: RunStatus) -> bool:
        known = self._runs.get(status.run)
        if known and (status.session < known.session or known.model_copy(update={"at": status.at}) == status):
            return False
        if status.status == "lost" and (known is None or known.status != "lost"):
            self.notify(f"{status.run}: its publisher has gone without a word")
        if known is None and len(self._runs) >= MAX_GAMES:
            return False
        self._runs[status.run] = status
        return True

    def _take_state(self, state: GameState) -> bool:
        key = (state.run, state.game_id)
        known = self._games.get(key)
        view = _view_of(state)
        if known is not None and not _is_newer(state, known):
            return False
        if known is not None and known.session == state.session:
            self.missed += state.ply - known.view.ply
            self._moves += state.ply - known.view.ply
        if known is None and not self._make_room():
            return False
        self._games[key] = _Known(state.session, view)
        self._place(key)
        return True

    def _take_move(self, move: Move) -> bool:
        key = (move.run, move.game_id)
        known = self._games.get(key)
        if known is None or move.session != known.session:
            return False  # the state that follows tells the rest
        if move.ply <= known.view.ply:
            self.duplicates += 1
            return False
        self.missed += move.ply - known.view.ply - 1
        self._moves += move.ply - known.view.ply
        view = replace(
            known.view,
            fen=move.fen,
            ply=move.ply,
            to_move="second" if move.side == "first" else "first",
            last_move=move.move,
            last_san=move.san,
        )
        self._games[key] = _Known(move.session, view)
        self._place(key)
        return True

    def _forget(self, gone: Gone) -> bool:
        keys = [key for key in self._games if key[0] == gone.run and gone.game_id in (None, key[1])]
        for key in keys:
            del self._games[key]
        self._slots = [key for key in self._slots if key in self._games]
        run = self._runs.pop(gone.run, None) if gone.game_id is None else None
        return bool(keys) or run is not None

    def _make_room(self) -> bool:
        """Whether one more game can be remembered."""
        if len(self._games) < MAX_GAMES:
            return True
        shown = set(self._slots)
        old = next((key for key, game in self._games.items() if game.view.result and key not in shown), None)
        if old is None:
            return False
        del self._games[old]
        return True

    def _place(self, key: Key) -> None:
        """Puts a game on the screen: in the place of the first that does not go on, or a new one."""
        if key in self._slots:
            return
        if self._games[key].view.result is not None:
            if len(self._slots) < MAX_ENDED_SLOTS:
                self._slots.append(key)
            return
        free = next((place for place, held in enumerate(self._slots) if not self._goes_on(held)), len(self._slots))
        if free < MAX_SLOTS:
            self._slots[free : free + 1] = [key]

    def _goes_on(self, key: Key) -> bool:
        run = self._runs.get(key[0])
        return self._games[key].view.result is None and (run is None or run.status == "running")

    def _whole(self) -> RunView:
        runs = list(self._runs.values())
        going = [run for run in runs if run.status == "running"]
        one = going[0] if len(going) == 1 else runs[0] if len(runs) == 1 else None
        return RunView(
            name=one.run if one else f"{len(going) or len(runs)} runs" if runs else "",
            seed=one.seed if one else None,
            model=one.model if one else None,
            games=sum(run.games for run in runs),
            done=sum(run.done for run in runs),
            void=sum(run.void for run in runs),
            moves=self._moves,
            slots=tuple(self._games[key].view for key in self._slots),
            waiting_for=self._waiting_for,
        )


def _is_newer(state: GameState, known: _Known) -> bool:
    if state.session != known.session:
        return state.session > known.session
    if state.ply != known.view.ply:
        return state.ply > known.view.ply
    return state.result is not None and known.view.result is None


def _view_of(state: GameState) -> GameView:
    return GameView(
        game_id=state.game_id,
        game=state.game,
        white=state.white,
        black=state.black,
        fen=state.fen,
        ply=state.ply,
        to_move=state.to_move,
        last_move=state.last_move,
        last_san=state.last_san,
        result=state.result,
        termination=state.termination,
        detail=state.detail,
    )
