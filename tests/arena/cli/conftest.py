"""The command line as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

PATIENT = """
import asyncio
from pathlib import Path
from agents.base import Agent, MoveReply
from agents.random import random_move

class Patient(Agent):
    def __init__(self, gate, ply: int):
        self.gate, self.ply = Path(gate), ply

    async def choose_move(self, request):
        while request.ply >= self.ply and not self.gate.exists():
            await asyncio.sleep(0.01)
        return MoveReply.of(random_move(request))
"""


class Gate:
    """Holds the games of agents that play at random until somebody opens it."""

    def __init__(self, folder):
        self._code, self._file = folder / "patient.py", folder / "open"
        self._code.write_text(PATIENT)

    def at(self, ply):
        """The spec of an agent that waits for the gate before that ply, and before each later one."""
        return f"python:{self._code}:Patient?gate={self._file}&ply={ply}"

    def open(self):
        self._file.touch()


@pytest.fixture
def gate(tmp_path):
    return Gate(tmp_path)


@pytest.fixture
def wait_for_moves(recorded):
    """A function that returns once so many plies are recorded."""

    def wait(plies):
        deadline = time.monotonic() + 120
        while sum(len(game.moves) for game in recorded().games) < plies:
            assert time.monotonic() < deadline, f"{plies} plies were never played"
            time.sleep(0.05)

    return wait


@pytest.fixture
def arena_process(db_path):
    """Starts `arena ARGS`, with pipes for a keyboard and a screen. What still runs in the end is killed."""
    started = []

    def start(*args):
        process = subprocess.Popen(
            [sys.executable, "-m", "arena", *map(str, args)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), "ARENA_DB": str(db_path)},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
