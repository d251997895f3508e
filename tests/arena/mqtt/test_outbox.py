"""What waits for the broker: bounded, the latest, in order."""

from __future__ import annotations

import json

import pytest

from agents.mqtt.broker import Broker
from arena.events import GameEnded, GameStarted, MovePlayed, RunEnded
from arena.mqtt import outbox
from arena.mqtt.messages import read_update
from arena.mqtt.outbox import Outbox
from arena.store.records import NewGame, NewRun, StoredGame, StoredRun
from games import get_game

BROKER = Broker.parse("mqtt://h")
RUN = StoredRun(
    1, "calm-rook-1", "running",
    NewRun({}, 7, (), ()),
    (StoredGame(1, NewGame(0, "a", "b", "chess", 1, 200, "r"), None, None, False, ()),),
)  # fmt: skip


class Games:
    """Plays into an outbox: the first legal move, always."""

    def __init__(self, **options):
        self.outbox = Outbox(BROKER, **options)
        self.outbox.begin(RUN, "calm-rook-1-abc123", 5)
        self.positions = {}

    def start(self, game_id=1, white="a"):
        position = self.positions[game_id] = get_game("chess").position()
        self.outbox.add(
            GameStarted(run_id=1, game_id=game_id, game="chess", white=white, black="b", start_fen=position.fen)
        )

    def move(self, count=1, game_id=1, clock_ms=None):
        for _ in range(count):
            before = self.positions[game_id]
            played = before.legal_moves()[0]
            after = self.positions[game_id] = before.play(played)
            self.outbox.add(
                MovePlayed(
                    run_id=1, game_id=game_id, ply=len(after.moves), agent="a", side=before.side_to_move, move=played,
                    san=before.san(played), fen=after.fen, policy="p", clock_ms=clock_ms,
                )
            )  # fmt: skip

    def end(self, game_id=1, **fields):
        plies = len(self.positions[game_id].moves)
        ended = {"result": "1-0", "termination": "checkmate", **fields}
        self.outbox.add(GameEnded(run_id=1, game_id=game_id, plies=plies, **ended))

    def taken(self):
        """All that is to be published, as (kind, ply or status), until nothing is left."""
        found = []
        while (batch := self.outbox.take()).parcels:
            found += [told(parcel) for parcel in batch.parcels]
        return found


def told(parcel):
    update = read_update(BROKER, parcel.topic, parcel.payload)
    kind = parcel.topic.rpartition("/")[2]
    assert parcel.retain == (kind != "move")
    return kind, update.status if kind == "status" else update.ply


@pytest.fixture
def games():
    return Games()


def test_a_state_comes_before_the_first_move_and_after_the_last(games):
    games.start()
    games.move(2)
    assert games.taken() == [("status", "running"), ("state", 0), ("move", 1), ("move", 2), ("state", 2)]
    games.move()
    assert games.taken() == [("move", 3), ("state", 3)]


def test_that_the_run_has_ended_is_said_last(games):
    games.start()
    games.move(2)
    games.end()
    games.outbox.add(RunEnded(run_id=1, status="finished"))
    assert games.taken()[-2:] == [("state", 2), ("status", "finished")]
    games.outbox.end()
    assert games.taken() == []


def test_a_run_that_never_said_how_it_ended_is_lost(games):
    games.outbox.end()
    assert games.taken() == [("status", "lost")]


def test_the_oldest_moves_are_dropped_and_counted_and_the_state_is_the_latest():
    games = Games(max_moves=4)
    games.start()
    games.move(10)
    assert games.taken() == [("status", "running"), *(("move", ply) for ply in (7, 8, 9, 10)), ("state", 10)]
    assert games.outbox.dropped == 6
    games.end()
    status = next(parcel for parcel in games.outbox.take().parcels if parcel.topic.endswith("status"))
    assert json.loads(status.payload)["dropped"] == 6


def test_what_was_not_published_is_put_back_in_order(games):
    games.start()
    games.move(2)
    games.outbox.put_back(games.outbox.take())
    games.move()
    assert games.taken() == [("status", "running"), ("state", 0), ("move", 1), ("move", 2), ("move", 3), ("state", 3)]


def test_states_wait_for_the_moves_before_them_but_not_for_ever(games, monkeypatch):
    monkeypatch.setattr(outbox, "BATCH", 2)
    games.start()
    batches = []
    for _ in range(12):
        games.move(4)
        batches.append([told(parcel)[0] for parcel in games.outbox.take().parcels])
    assert "state" not in batches[5]
    assert batches[9][-1] == "state"


def test_after_an_outage_everything_is_due_again(games):
    for game_id in (1, 2):
        games.start(game_id)
    games.move()
    games.end(1)
    games.taken()
    games.outbox.everything_again()
    assert sorted(games.taken()) == [("state", 0), ("state", 1), ("status", "running")]


def test_ended_games_are_forgotten_in_the_end_but_can_be_cleared(games, monkeypatch):
    monkeypatch.setattr(outbox, "MAX_ENDED", 5)
    for game_id in range(1, 16):
        games.start(game_id)
        games.end(game_id)
        games.taken()
    games.outbox.everything_again()
    assert sum(kind == "state" for kind, _ in games.taken()) == 5
    clearing = games.outbox.clearing()
    assert len(clearing) == 15 + 1
    assert all(parcel.payload == b"" and parcel.retain for parcel in clearing)


def test_clocks_and_names_are_as_they_are_read(games):
    games.start(white="\x1b[1m" + "x" * 900)
    games.move(clock_ms=900.0)
    games.move(clock_ms=800.0)
    state = games.outbox.take().parcels[-1]
    update = read_update(BROKER, state.topic, state.payload)
    assert update.clock_ms == {"first": 900.0, "second": 800.0}
    assert update.white.startswith("\\x1b[1mxxx")
    assert update.white.endswith("(607 characters more)")
