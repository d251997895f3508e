"""What is still to be published of a run, whatever the broker does: bounded, and always the latest."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from agents.mqtt.broker import Broker
from arena.events import Event, GameEnded, GameStarted, MovePlayed, RunEnded, now
from arena.mqtt.messages import (
    MAX_TEXT,
    GameState,
    Move,
    Published,
    RunStatus,
    Status,
    move_topic,
    state_topic,
    status_topic,
)
from arena.printable import printable, shortened
from arena.store.records import StoredRun
from games import get_game

MAX_MOVES = 1000
"""Moves that wait for the broker; older ones are dropped."""
MAX_ENDED = 500
"""Ended games whose last state is published again after a lost connection, the latest ones."""
BATCH = 64
PATIENCE = 10
"""Batches after which states no longer wait for the moves before them."""


class Parcel(NamedTuple):
    """A message as it goes out."""

    topic: str
    payload: bytes
    retain: bool


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages to publish in this order. `moves`, `states` and `status` are what it takes to put them back."""

    parcels: tuple[Parcel, ...]
    moves: tuple[GameState | Move, ...]
    states: tuple[int, ...]


class Outbox:
    """Collects messages from the event loop of the games; another thread takes them in batches.

    Moves wait in a line, the oldest of which are dropped and counted when it is full. States do not wait: there is one
    for each game, the latest, and so with the status; what is taken is what holds then. A game's first state goes into
    the line with the moves, so that whoever looks on knows the game before its moves. `wake` is called after each
    change, with no lock held.
    """

    def __init__(self, broker: Broker, wake: Callable[[], None] = lambda: None, *, max_moves: int = MAX_MOVES) -> None:
        self.dropped = 0
        self.wake = wake
        self._broker = broker
        self._max_moves = max_moves
        self._lock = threading.Lock()
        self._line: deque[GameState | Move] = deque()
        self._states: dict[int, GameState] = {}
        self._all_games: set[int] = set()
        self._due: dict[int, None] = {}  # games whose state is to be published, in the order they changed
        self._status_due = False
        self._status: RunStatus | None = None
        self._batches = 0

    @property
    def status(self) -> RunStatus | None:
        return self._status

    def begin(self, run: StoredRun, label: str, session: int) -> None:
        self._status = RunStatus(
            session=session,
            run=label,
            at=now(),
            status="running",
            seed=run.new.seed,
            model=run.new.model and _text(run.new.model),
            games=run.progress.games,
            done=run.progress.done,
            void=run.progress.void,
        )
        self._status_due = True

    def add(self, event: Event) -> None:
        """Takes note of an event. Cheap: nothing is encoded here."""
        assert self._status is not None, "begin comes first"
        with self._lock:
            match event:
                case GameStarted():
                    self._start(event)
                case MovePlayed():
                    self._move(event)
                case GameEnded():
                    self._end(event)
                case RunEnded():
                    self._change_status(status=event.status, detail=_text(event.detail))
                case _:
                    return
        self.wake()

    def everything_again(self) -> None:
        """All states and the status are due: the broker may have lost them."""
        with self._lock:
            self._due = dict.fromkeys(self._states)
            self._status_due = self._status is not None

    def take(self) -> Batch:
        """The next messages: the status, moves of the line, then due states; that the run has ended comes last.

        A state that is ahead of moves in the line would make them old news, so it waits for them; but not for ever, if
        the broker is so slow that the line never empties.
        """
        with self._lock:
            self._batches += 1
            parcels: list[Parcel] = []
            moves: list[GameState | Move] = []
            if self._status is not None and self._status.status == "running":
                self._take_status(parcels)
            while self._line and len(moves) < BATCH:
                moves.append(self._line.popleft())
                parcels.append(self._parcel(moves[-1]))
            behind = {message.game_id for message in self._line} if self._batches % PATIENCE else set()
            states = [game_id for game_id in self._due if game_id not in behind][:BATCH]
            for game_id in states:
                del self._due[game_id]
                parcels.append(self._parcel(self._states[game_id]))
            if not self._line and not self._due:
                self._take_status(parcels)
            return Batch(tuple(parcels), tuple(moves), tuple(states))

    def _take_status(self, parcels: list[Parcel]) -> None:
        if self._status_due and self._status is not None:
            self._status_due = False
            parcels.append(self._parcel(self._status))

    def put_back(self, batch: Batch) -> None:
        """What was taken and perhaps not published is to be taken again, before the rest."""
        with self._lock:
            self._status_due = True
            self._line.extendleft(reversed(batch.moves))
            self._trim()
            again = dict.fromkeys(game_id for game_id in batch.states if game_id in self._states)
            self._due = {**again, **self._due}

    def end(self) -> None:
        """Nothing more will come. A run whose end was not told, because the record failed, is lost."""
        with self._lock:
            if self._status is not None and self._status.status == "running":
                self._change_status(status="lost")

    def clearing(self) -> tuple[Parcel, ...]:
        """What removes every retained message of the run."""
        with self._lock:
            run = self._status.run if self._status else ""
            topics = [state_topic(self._broker, run, game_id) for game_id in sorted(self._all_games)]
            return tuple(Parcel(topic, b"", True) for topic in (*topics, status_topic(self._broker, run)))

    @property
    def waiting(self) -> int:
        """Messages that are not published yet."""
        return len(self._line) + len(self._due) + self._status_due

    # --- events, with the lock held --------------------------------------------------------------------------------

    def _start(self, event: GameStarted) -> None:
        assert self._status is not None
        position = get_game(event.game).position(event.start_fen, event.moves)
        before = get_game(event.game).position(event.start_fen, event.moves[:-1])
        last = event.moves[-1] if event.moves else None
        state = GameState.model_construct(
            session=self._status.session,
            run=self._status.run,
            at=event.at,
            game_id=event.game_id,
            game=event.game,
            white=_text(event.white),
            black=_text(event.black),
            ply=len(event.moves),
            fen=position.fen,
            to_move=position.side_to_move,
            last_move=last,
            last_san=before.san(last) if last else None,
        )
        self._states[event.game_id] = state
        self._all_games.add(event.game_id)
        self._append(state)

    def _move(self, event: MovePlayed) -> None:
        state = self._states[event.game_id]
        clocks = state.clock_ms if event.clock_ms is None else {**state.clock_ms, event.side: event.clock_ms}
        self._change_state(
            event.game_id,
            at=event.at,
            ply=event.ply,
            fen=event.fen,
            to_move="second" if event.side == "first" else "first",
            last_move=event.move,
            last_san=event.san,
            clock_ms=clocks,
        )
        self._append(
            Move.model_construct(
                session=state.session,
                run=state.run,
                at=event.at,
                game_id=event.game_id,
                game=state.game,
                ply=event.ply,
                side=event.side,
                agent=_text(event.agent),
                move=event.move,
                san=event.san,
                fen=event.fen,
                clock_ms=event.clock_ms,
                total_ms=event.total_ms,
            )
        )

    def _end(self, event: GameEnded) -> None:
        self._change_state(
            event.game_id,
            at=event.at,
            result=event.result,
            termination=_text(event.termination),
            detail=_text(event.detail),
        )
        status = self._status
        assert status is not None
        self._change_status(done=status.done + (not event.void), void=status.void + event.void)
        ended = [game_id for game_id, state in self._states.items() if state.result is not None]
        for game_id in ended[: max(0, len(ended) - MAX_ENDED)]:
            if game_id not in self._due:
                del self._states[game_id]

    def _append(self, message: GameState | Move) -> None:
        self._line.append(message)
        self._trim()

    def _trim(self) -> None:
        while len(self._line) > self._max_moves:
            lost = self._line.popleft()
            if isinstance(lost, GameState):
                self._due[lost.game_id] = None
            else:
                self.dropped += 1

    def _change_state(self, game_id: int, **changes: object) -> None:
        state = self._states.pop(game_id)
        self._states[game_id] = state.model_copy(update=changes)
        self._due[game_id] = None

    def _change_status(self, **changes: object) -> None:
        assert self._status is not None
        self._status = self._status.model_copy(update=changes)
        self._status_due = True

    def _parcel(self, message: Published) -> Parcel:
        match message:
            case Move():
                return Parcel(move_topic(self._broker, message.run, message.game_id), message.encoded(), False)
            case GameState():
                return Parcel(state_topic(self._broker, message.run, message.game_id), message.encoded(), True)
            case _:
                status = message.model_copy(update={"at": now(), "dropped": self.dropped})
                return Parcel(status_topic(self._broker, message.run), status.encoded(), True)


def will_of(status: RunStatus) -> bytes:
    """What the broker is to say of the run if we go without a word."""
    lost: Status = "lost"
    return status.model_copy(update={"status": lost}).encoded()


def _text(text: str) -> str:
    return shortened(printable(text), MAX_TEXT)
