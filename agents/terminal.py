"""A plain terminal, line by line, in an event loop."""

from __future__ import annotations

import asyncio
import os
import sys
from functools import cache


class Terminal:
    """Asks on stderr, so that stdout stays free for results, and reads answers from the file `fd`.

    Owns what was typed ahead. Nothing blocks the event loop, and a question that is cancelled leaves no thread behind.
    """

    def __init__(self, fd: int = 0) -> None:
        self._fd = fd
        self._typed = b""

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    async def ask(self, question: str) -> str:
        """The next line that is typed, stripped. Raises EOFError at the end of the input."""
        print(question, end="", file=sys.stderr, flush=True)
        while b"\n" not in self._typed:
            data = await self._read()
            if not data:
                self.say("")
                if not self._typed.strip():
                    raise EOFError
                self._typed += b"\n"  # the last line may lack its end
                break
            self._typed += data
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode(errors="replace").strip()

    async def _read(self) -> bytes:
        loop = asyncio.get_running_loop()
        readable: asyncio.Future[None] = loop.create_future()

        def ready() -> None:
            if not readable.done():
                readable.set_result(None)

        try:
            loop.add_reader(self._fd, ready)
        except PermissionError:  # a file, /dev/null: the loop cannot watch what never keeps anybody waiting
            return os.read(self._fd, 4096)
        try:
            await readable
        finally:
            loop.remove_reader(self._fd)
        return os.read(self._fd, 4096)


@cache
def own_terminal() -> Terminal:
    """The terminal of this process: one, so that whoever is asked next gets what was typed ahead."""
    return Terminal()
