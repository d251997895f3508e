"""Ctrl-C and termination: while games run first gently, then at once; around them, without leaving anything behind."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StoppedError(KeyboardInterrupt):
    """Raised where the program is, when a person insists on its end: see `on_interrupt`."""


@contextmanager
def on_interrupt(*steps: Callable[[], None]) -> Iterator[None]:
    """Inside, the first SIGINT or SIGTERM calls the first of `steps`, the next one the second, and so on.

    The steps run in the event loop. A signal past the last step raises StoppedError wherever the main thread is:
    the way out when an agent blocks the loop. Outside, signals do what they did before. In another thread than the
    main one, which gets no signals, this does nothing.
    """
    if not _in_main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    left = list(steps)

    def receive(number: int, frame: FrameType | None) -> None:
        if not left:
            raise StoppedError
        loop.call_soon_threadsafe(left.pop(0))  # wakes the loop, which may be waiting

    with _handled(receive):
        yield


@contextmanager
def termination_as_interrupt() -> Iterator[None]:
    """Inside, SIGTERM does what Ctrl-C does, so that a screen is put back and an engine closed."""
    if not _in_main_thread():
        yield
        return
    with _handled(lambda number, frame: signal.raise_signal(signal.SIGINT), (signal.SIGTERM,)):
        yield


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Inside, Ctrl-C and termination do nothing: for a short wait that must not be cut short.

    Waiting for a thread is one: a `Thread.join` that an exception interrupts takes the thread for ended (in Python
    3.11 and 3.12), and an interpreter that ends while torch computes in it is aborted.
    """
    if not _in_main_thread():
        yield
        return
    with _handled(signal.SIG_IGN):
        yield


@contextmanager
def _handled(
    handler: Callable[[int, FrameType | None], None] | signal.Handlers, signals: tuple[signal.Signals, ...] = SIGNALS
) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in signals}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier if earlier is not None else signal.SIG_DFL)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
