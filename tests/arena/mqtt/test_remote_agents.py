"""Games with agents that answer from another process."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agents.kind import BuildContext
from agents.mqtt import agent, link
from agents.mqtt.broker import Broker, packet_properties
from agents.mqtt.connection import Backoff
from agents.mqtt.protocol import Offer
from agents.mqtt.server import AgentServer
from agents.registry import build_agent
from agents.spec import parse_spec
from arena.config import build_config
from arena.lineup import Lineup
from arena.runner import play

ROOT = Path(__file__).parents[3]


@pytest.fixture
def serve(mosquitto, tmp_path):
    """A function that starts `arena agents serve SPEC` and waits until it does."""
    started = []

    def start(spec, name="far"):
        process = subprocess.Popen(
            [sys.executable, "-m", "arena", "agents", "serve", spec, "--mqtt", mosquitto.url, "--name", name],
            stdout=subprocess.PIPE,
            stderr=(tmp_path / "serve.err").open("a"),
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        started.append(process)
        said = process.stdout.readline()
        assert f"serving {spec}" in said, (said, (tmp_path / "serve.err").read_text())
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


class Serving:
    """A server in a thread of its own."""

    def __init__(self, url, spec, name):
        self._stopping, self._offered = asyncio.Event(), threading.Event()
        agent = build_agent(parse_spec(spec), name=name, context=BuildContext(None, None, ("chess",)))
        broker, offer = Broker.parse(url), Offer(spec=spec, games=("chess",))
        self._server = AgentServer(broker, name, agent, offer, backoff=Backoff(0.02, 0.05))
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        assert self._offered.wait(60)

    async def _serve(self):
        self._loop = asyncio.get_running_loop()
        await self._server.serve(self._stopping, self._offered.set)

    def stop(self):
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(60)
        return self._server.answered


@pytest.fixture
def serve_here(mosquitto):
    """A function that starts a server in this process."""
    started = []

    def start(spec, name="far"):
        started.append(Serving(mosquitto.url, spec, name))
        return started[-1]

    yield start
    for serving in started:
        serving.stop()


@pytest.fixture
def play_remote(mosquitto, tmp_path, monkeypatch):
    """A function that plays a run with remote agents, who are waited for `absence_s` when nobody serves them, and
    `grace_s` when their server has gone with a question."""

    def run(*agents, name="games.db", reader=None, grace_s=0.2, absence_s=200.0, **asked):
        config = build_config({"agent": agents, "seed": 5, "max_plies": 12, "move_timeout": 250, **asked})
        monkeypatch.setattr(link, "GRACE_S", grace_s)
        monkeypatch.setattr(agent, "ABSENCE_LIMIT_S", absence_s)
        monkeypatch.setattr(agent, "START_LIMIT_S", 60.0)
        lineup = Lineup(config, Broker.parse(mosquitto.url))
        return asyncio.run(play(config, db=tmp_path / name, lineup=lineup, readers=(reader,) if reader else ()))

    return run


class AtMove:
    """A reader that does something once, after a move."""

    def __init__(self, number, action):
        self.number, self.action, self.moves = number, action, 0

    def begin(self, run):
        pass

    def read(self, event):
        if event.type == "move_played":
            self.moves += 1
            if self.moves == self.number:
                self.action()


def test_a_remote_agent_plays_the_moves_that_it_would_play_here(serve, play_remote):
    server = serve("random")
    remote = play_remote("mqtt:far", "random")
    here = play_remote("random", "random", name="here.db")
    assert [game.moves for game in remote.games] == [game.moves for game in here.games]
    assert remote.games[0].result == "1/2-1/2"
    assert remote.games[0].new.white == "far-1"
    server.terminate()
    assert "6 moves were asked for" in server.communicate(timeout=120)[0]


MORTAL = """
import os, signal
from pathlib import Path
from agents.base import Agent, MoveReply

class Mortal(Agent):
    async def choose_move(self, request):
        dead = Path({dead!r})
        if request.ply == 7 and not dead.exists():
            dead.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return MoveReply.of(request.position.legal_moves()[0])
"""


def test_a_game_whose_agents_machine_dies_is_void_and_played_again(serve, play_remote, tmp_path):
    own = tmp_path / "own.py"
    own.write_text(MORTAL.format(dead=str(tmp_path / "dead")))
    doomed = serve(f"python:{own}:Mortal")

    def replace():
        doomed.wait()
        serve(f"python:{own}:Mortal")

    replacing = threading.Thread(target=replace)
    replacing.start()
    result = play_remote("mqtt:far", "random")
    replacing.join()
    assert [(game.result, game.termination, game.void, len(game.moves)) for game in result.games] == [
        ("*", "infrastructure", True, 6),
        ("1/2-1/2", "ply-limit", False, 12),
    ]
    assert result.status == "finished"


def test_a_server_that_stops_between_two_moves_is_replaced_by_another(serve_here, play_remote):
    first = serve_here("random")
    second = []

    def change():
        first.stop()
        second.append(serve_here("random"))

    result = play_remote("mqtt:far", "random", reader=AtMove(5, change))
    assert [(game.result, len(game.moves)) for game in result.games] == [("1/2-1/2", 12)]
    assert (first.stop(), second[0].stop()) == (3, 3)


def test_servers_of_one_name_share_the_work(serve_here, play_remote):
    slow = "python:agents.scripted:SlowAgent?delay_s=0.1"
    servers = [serve_here(slow), serve_here(slow)]
    result = play_remote("mqtt:far", games=4, concurrency=4, agents=8, max_plies=6)
    assert all(len(game.moves) == 6 for game in result.games)
    answered = [server.stop() for server in servers]
    assert sum(answered) == 24
    assert min(answered) > 0


def test_a_server_of_something_else_is_not_asked(serve_here, play_remote):
    first = serve_here("random")

    def change():
        first.stop()
        serve_here("python:agents.scripted:SlowAgent?delay_s=0")

    result = play_remote("mqtt:far", "random", reader=AtMove(5, change), absence_s=0.3)
    assert {game.termination for game in result.games} == {"infrastructure"}
    assert len(result.games) == 3
    assert result.status == "finished"


def test_a_restart_of_the_broker_costs_no_game(mosquitto, serve_here, play_remote):
    serve_here("random")

    def restart():
        mosquitto.kill()
        mosquitto.start()

    result = play_remote("mqtt:far", "random", reader=AtMove(5, restart), grace_s=120)
    assert [(game.result, len(game.moves)) for game in result.games] == [("1/2-1/2", 12)]


def test_a_crash_of_a_remote_agent_is_a_crash_of_the_agent(serve_here, play_remote):
    serve_here("python:agents.scripted:CrashingAgent?plies=2")
    result = play_remote("mqtt:far", "random")
    ends = [(game.result, game.termination) for game in result.games]
    assert ends == [("*", "crash"), ("*", "crash"), ("0-1", "crash")]


def test_a_remote_agent_that_is_too_slow_loses_on_time(serve_here, play_remote):
    serve_here("python:agents.scripted:SilentAgent")
    result = play_remote("mqtt:far", "random", move_timeout=0.3)
    assert [(game.result, game.termination) for game in result.games] == [("0-1", "time")]


def test_rubbish_for_a_server_and_answers_that_nobody_awaits_do_no_harm(mosquitto, serve_here, play_remote, caplog):
    server = serve_here("random")

    async def spoil():
        broker = Broker.parse(mosquitto.url)
        async with broker.client("someone") as client:
            await client.subscribe(broker.topic("agents", "+", "servers", "+"))
            offer = await anext(aiter(client.messages))
            wild = packet_properties("PUBLISH", ResponseTopic="elsewhere", CorrelationData=b"1")
            right = packet_properties("PUBLISH", ResponseTopic="arena/replies/me", CorrelationData=b"1")
            for payload, properties in ((b"{}", None), (b"{}", wild), (b"{", right)):
                await client.publish(f"{offer.topic}/requests", payload, qos=1, properties=properties)
            await client.publish("arena/agents/far/servers/other", b"no offer", qos=1, retain=True)

    asyncio.run(spoil())
    result = play_remote("mqtt:far", "random")
    assert [len(game.moves) for game in result.games] == [12]
    assert server._server.rejected.count == 3
    assert "arena/agents/far/servers/other" in caplog.text


def test_a_remote_agent_can_be_tried_out(mosquitto, serve_here, arena):
    serve_here("random")
    code, out, err = arena("agents", "try", "mqtt:far", "--mqtt", mosquitto.url, "--json")
    assert (code, err) == (0, "")
    tryout = json.loads(out)
    assert tryout["move"] is not None
    assert tryout["settings"] == {"target": "far", "served": "random"}
