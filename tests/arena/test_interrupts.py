"""What signals do around and during a run."""

import asyncio
import signal
import threading
import time

import pytest

from arena.interrupts import StoppedError, on_interrupt, termination_as_interrupt, uninterrupted


@pytest.fixture(autouse=True)
def ctrl_c_is_heard():
    """A shell that starts the tests in the background has them ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_steps_are_called_in_turn_in_the_loop_and_then_the_program_is_stopped():
    async def play():
        done = asyncio.Event()
        called = []
        with on_interrupt(lambda: called.append("drain"), done.set):
            signal.raise_signal(signal.SIGINT)
            await asyncio.sleep(0.01)
            assert called == ["drain"]
            assert not done.is_set()
            signal.raise_signal(signal.SIGTERM)
            await done.wait()
            with pytest.raises(StoppedError):
                signal.raise_signal(signal.SIGINT)

    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    asyncio.run(play())
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_termination_does_what_ctrl_c_does():
    with termination_as_interrupt(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)


def test_nothing_cuts_an_uninterrupted_wait_short():
    def interrupt():
        signal.raise_signal(signal.SIGINT)
        time.sleep(0.2)

    thread = threading.Thread(target=interrupt)
    with uninterrupted():
        thread.start()
        thread.join()
        assert not thread.is_alive()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_another_thread_than_the_main_one_gets_no_signals():
    def use():
        with uninterrupted(), termination_as_interrupt():
            done.append(1)

    done = []
    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert done == [1]
