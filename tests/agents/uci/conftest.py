"""Scripted engines, and what they were told."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from agents.base import MoveRequest
from agents.uci.process import EXTRA_PLACES
from games import get_game

ENGINE = """
import sys, time, os
log, mode, answers = sys.argv[1], sys.argv[2], sys.argv[3:]
def say(line): print(line, flush=True)
open(log + ".pids", "a").write(f"{os.getpid()}\\n")
if mode == "orphans":  # a wrapper that does not hand its place over
    import subprocess
    child = subprocess.Popen(["sleep", "600"])
    open(log + ".pids", "a").write(f"{child.pid}\\n")
if mode == "garbage":
    while True: print("\\x07" * 80); time.sleep(0.01)
if mode == "endless line":
    while True: sys.stdout.write("x" * 65536)
if mode == "dead":
    sys.exit("no network file")
for line in sys.stdin:
    line = line.strip()
    open(log, "a").write(line + "\\n")
    if line == "uci":
        say("id name Scripted 1.0")
        say("option name Hash type spin default 16 min 1 max 64")
        say("option name Skill Level type spin default 20 min 0 max 20")
        say("option name Style type combo default Calm var Calm var Wild Side")
        say("option name Fast type check default false")
        say("option name UCI_Variant type combo default chess var chess var janggi")
        if mode == "mute": continue
        say("uciok")
    elif line == "isready": say("readyok")
    elif line == "quit" and mode != "stubborn": sys.exit()
    elif line.startswith("go"):
        if mode == "dies": print("out of memory", file=sys.stderr); os._exit(7)
        if mode == "hangs": time.sleep(600)
        if mode == "slow": time.sleep(0.3)
        say("info depth 1 score cp 13")
        say("bestmove " + (answers.pop(0) if answers else "e2e4") + " ponder e7e5")
"""


@dataclass
class Script:
    """A scripted engine: the `command` that runs it, and what came of it."""

    command: list[str]
    log: Path

    def told(self) -> list[str]:
        """What it was told by now, in all of its lives."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    def pids(self) -> list[int]:
        """Its processes so far, ended ones included."""
        path = Path(f"{self.log}.pids")
        return [int(pid) for pid in path.read_text().split()] if path.exists() else []

    def alive(self) -> list[int]:
        return [pid for pid in self.pids() if is_alive(pid)]


def is_alive(pid: int) -> bool:
    """Whether there is such a process; a child of ours that waits to be reaped counts, another's does not."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # ended since, or no Linux
        return not Path("/proc/self").exists()
    return state[0] != "Z" or int(state[1]) == os.getpid()


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Engines that do what they are told have all the time they need for it."""
    monkeypatch.setattr("agents.uci.process.QUIT_LIMIT_S", 60.0)
    monkeypatch.setattr("agents.uci.pool.START_LIMIT_S", 60.0)


@pytest.fixture(name="is_alive")
def is_alive_fixture():
    return is_alive


@pytest.fixture
def script(tmp_path):
    """A function that makes a scripted engine of a mode, with its answers to `go`."""

    def make(mode="plays", *answers):
        program, log = tmp_path / "scripted", tmp_path / "told.txt"
        program.write_text(f"#!{sys.executable} -IS\n{textwrap.dedent(ENGINE)}")
        program.chmod(0o755)
        return Script([str(program), str(log), mode, *answers], log)

    return make


@pytest.fixture
def request_for():
    """A function that makes the request for a move in a game."""

    def make(moves="", *, game="chess", game_id=1, deadline_s=None, clock=None):
        position = get_game(game).position(None, moves.split())
        return MoveRequest(position, game_id, len(position.moves) + 1, 5, deadline_s, clock)

    return make


def _program(name):
    path = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *EXTRA_PLACES]))
    return path or pytest.skip(f"{name} is not installed")


@pytest.fixture
def stockfish():
    return _program("stockfish")


@pytest.fixture
def fairy_stockfish():
    return _program("fairy-stockfish")
