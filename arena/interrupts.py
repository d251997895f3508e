"""Ctrl-C and termination while games run: first gently, then at once."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def on_interrupt(*steps: Callable[[], None]) -> Iterator[None]:
    """Inside, the first SIGINT or SIGTERM calls the first of `steps`, the next one the second, and so on.

    Past the last step, and outside, signals do what they did before. The steps run in the event loop. In another
    thread than the main one, which gets no signals, this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in SIGNALS}
    left = list(steps)

    def restore() -> None:
        for number, handler in before.items():
            if loop.remove_signal_handler(number):
                signal.signal(number, handler)

    def next_step() -> None:
        step = left.pop(0)
        if not left:
            restore()
        step()

    for number in SIGNALS:
        loop.add_signal_handler(number, next_step)
    try:
        yield
    finally:
        restore()
