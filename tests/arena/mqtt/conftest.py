"""A publisher, a broker, and someone who looks on."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time

import pytest

from agents.mqtt.broker import Broker
from agents.mqtt.connection import Backoff
from arena.config import build_config
from arena.live.boards import Boards
from arena.mqtt.messages import Move
from arena.mqtt.publisher import Publisher
from arena.mqtt.subscriber import Subscriber
from arena.runner import play

AT_ONCE = Backoff(0.02, 0.05)


class Watcher:
    """Subscribes in a thread of its own, and keeps what was news."""

    def __init__(self, url, run=None):
        self.boards = Boards()
        self.heard = []
        self.news = []
        self._stopping = asyncio.Event()
        self._ready, self.subscribed = threading.Event(), threading.Event()
        self._subscriber = Subscriber(Broker.parse(url), self._take, run, backoff=AT_ONCE)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._listen()))
        self._thread.start()
        assert self._ready.wait(60)

    @property
    def rejected(self):
        return self._subscriber.rejected.count

    async def _listen(self):
        self._loop = asyncio.get_running_loop()
        self._ready.set()
        await self._subscriber.listen(self._stopping, self.subscribed.set)

    def _take(self, update):
        self.heard.append(update)
        if self.boards.take(update):
            self.news.append(update)

    def stop(self):
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(60)
        assert not self._thread.is_alive()

    def moves(self):
        """The plies that were news, by game."""
        found = {}
        for update in self.news:
            if isinstance(update, Move):
                found.setdefault(update.game_id, []).append(update.ply)
        return found


def wait_until(condition):
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never came to that")


@pytest.fixture(name="wait_until")
def wait_until_fixture():
    return wait_until


@pytest.fixture
def watch():
    """A function that makes a Watcher, and waits until it misses nothing if the broker is there; all are stopped in
    the end."""
    made = []

    def make(broker, run=None):
        watcher = Watcher(broker.url, run)
        made.append(watcher)
        if broker.running:
            assert watcher.subscribed.wait(60)
        return watcher

    yield make
    for watcher in made:
        with contextlib.suppress(RuntimeError):
            watcher.stop()


@pytest.fixture
def publisher_at():
    def make(broker, **options):
        return Publisher(Broker.parse(broker.url), "abc123", **{"backoff": AT_ONCE, "flush_s": 60.0, **options})

    return make


class Look:
    """A reader that calls `at_ply[n]` once n plies of every game are read, with the plies of each; meanwhile the games
    stand still."""

    def __init__(self, at_ply):
        self._at_ply = dict(at_ply)

    def begin(self, run):
        self._plies = dict.fromkeys((game.game_id for game in run.games), 0)

    def read(self, event):
        if event.type == "move_played":
            self._plies[event.game_id] = event.ply
            self._at_ply.pop(min(self._plies.values()), lambda plies: None)(self._plies)


def play_run(db, *readers, at_ply=None, **asked):
    """Plays a run with `readers` into `db`: its games, each as moves, result and termination."""
    slow = ("python:agents.scripted:SlowAgent?delay_s=0.005",)
    config = build_config({"agent": slow, "agents": 4, "seed": 5, "max_plies": 16, **asked})
    with contextlib.ExitStack() as stack:
        for reader in readers:
            stack.enter_context(reader)
        result = asyncio.run(play(config, db=db, readers=(*readers, Look(at_ply or {}))))
    return [(game.moves, game.result, game.termination) for game in result.games]


@pytest.fixture(scope="session")
def play_run_in():
    return play_run


@pytest.fixture(name="play_run")
def play_run_fixture(tmp_path):
    """`play_run` into a database of the test's own."""

    def run(*readers, name="games.db", **asked):
        return play_run(tmp_path / name, *readers, **asked)

    return run
