"""Games with agents that answer from another process."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agents.mqtt.broker import Broker
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


@pytest.fixture
def play_remote(mosquitto, tmp_path):
    def run(*agents, name="games.db", reader=None, grace_s=0.2, **asked):
        config = build_config({"agent": agents, "seed": 5, "max_plies": 12, **asked})
        lineup = Lineup(config, Broker.parse(mosquitto.url))
        lineup.remote._grace_s = grace_s
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
    assert "6 moves were asked for" in server.communicate(timeout=30)[0]


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


def test_a_server_that_dies_between_two_moves_is_replaced_by_another(serve, play_remote):
    doomed = serve("random")

    def die():
        doomed.kill()
        serve("random")

    result = play_remote("mqtt:far", "random", reader=AtMove(5, die))
    assert [(game.result, len(game.moves)) for game in result.games] == [("1/2-1/2", 12)]


def test_a_restart_of_the_broker_costs_no_game(mosquitto, serve, play_remote):
    serve("python:agents.scripted:SlowAgent?delay_s=0.01")

    def restart():
        mosquitto.kill()
        mosquitto.start()

    result = play_remote("mqtt:far", "random", reader=AtMove(5, restart), grace_s=20)
    assert [(game.result, len(game.moves)) for game in result.games] == [("1/2-1/2", 12)]


def test_a_crash_of_a_remote_agent_is_a_crash_of_the_agent(serve, play_remote):
    serve("python:agents.scripted:CrashingAgent?plies=2")
    result = play_remote("mqtt:far", "random")
    assert [(game.result, game.termination) for game in result.games] == [
        ("*", "crash"),
        ("*", "crash"),
        ("0-1", "crash"),
    ]


def test_a_remote_agent_that_is_too_slow_loses_on_time(serve, play_remote):
    serve("python:agents.scripted:SilentAgent")
    result = play_remote("mqtt:far", "random", move_timeout=0.3)
    assert [(game.result, game.termination) for game in result.games] == [("0-1", "time")]
