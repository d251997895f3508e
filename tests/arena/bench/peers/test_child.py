"""A peer's process: bounded, heard, and gone on every way out."""

import asyncio
import os
import signal
import subprocess
import sys

import psutil
import pytest

from arena.bench.peers.base import PeerError
from arena.bench.peers.child import Child, ready

FAMILY = """
import subprocess, sys, time
nested = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(nested.pid, flush=True)
time.sleep(600)
"""


def python(code):
    return [sys.executable, "-c", code]


async def gone(pid):
    """Whether the process ends within a minute; a zombie has ended."""
    for _ in range(1200):
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        await asyncio.sleep(0.05)
    return False


async def test_closing_ends_all_that_the_command_started():
    child = Child(python(FAMILY), memory_mb=1000)
    await child.start(piped=True)
    nested = int(await child.stdout.readline())
    assert psutil.pid_exists(nested)
    await child.close()
    assert not child.running
    assert await gone(nested)


def test_nothing_outlives_an_owner_that_is_killed():
    owner_code = f"""
import asyncio, sys
from arena.bench.peers.child import Child
async def main():
    child = Child([sys.executable, "-c", {FAMILY!r}], memory_mb=1000)
    await child.start(piped=True)
    print((await child.stdout.readline()).decode().strip(), flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""
    owner = subprocess.Popen(python(owner_code), stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": os.getcwd()})
    nested = int(owner.stdout.readline())
    assert psutil.pid_exists(nested)
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    assert asyncio.run(gone(nested))


async def test_a_child_that_holds_too_much_is_ended_and_the_reason_says_the_numbers():
    child = Child(python("x = bytearray(300 << 20); import time; time.sleep(600)"), memory_mb=150)
    await child.start()
    try:
        await asyncio.wait_for(child.wait(), 120)
        assert child.peak_mb > 150
        assert child.reason().startswith("killed: it held ")
        assert child.reason().endswith("MiB, more than the 150 it may")
    finally:
        await child.close()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; print('no weights', file=sys.stderr); sys.exit(3)", "exit code 3; its last words: no weights"),
        ("import os; os.abort()", "it ended by signal SIGABRT without a word"),
        ("import os; os.kill(os.getpid(), 4)", "it ended by signal SIGILL without a word"),
    ],
)  # fmt: skip
async def test_a_child_that_ends_early_says_why(code, said):
    child = Child(python(code), memory_mb=1000)
    await child.start()
    try:
        with pytest.raises(PeerError, match=f"did not start: .*{said}"):
            await ready(child, asyncio.get_running_loop().create_future(), 120)
    finally:
        await child.close()


async def test_a_child_that_is_never_ready_is_not_waited_for_longer_than_said():
    child = Child(python("print('loading', flush=True); import time; time.sleep(600)"), memory_mb=1000)
    await child.start()
    try:
        while not child.last_words():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        with pytest.raises(PeerError, match="was not ready after 1 s; its last words: loading"):
            await ready(child, asyncio.get_running_loop().create_future(), 1)
    finally:
        await child.close()
    assert not child.running


async def test_a_program_that_is_not_there_is_named():
    child = Child(["/no/such/program"], memory_mb=1000)
    await child.start()
    try:
        await asyncio.wait_for(child.wait(), 120)
        assert child.reason() == (
            "it ended with exit code 127; its last words: /no/such/program: No such file or directory"
        )
    finally:
        await child.close()
