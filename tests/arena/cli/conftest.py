"""The command line as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


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
