"""The driver's half of the lines of JSON. Runs in an interpreter that has none of our packages."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

Message = dict[str, Any]


def claim_stdout() -> int:
    """The real stdout, for answers only: whatever else is printed goes to stderr."""
    descriptor = os.dup(1)
    os.dup2(2, 1)
    return descriptor


async def serve(descriptor: int, version: str, answer: Callable[[Message], Awaitable[Message]]) -> None:
    """Answer every line of stdin with a line on `descriptor`, concurrently, until stdin ends."""
    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()

    def tell(message: Message) -> None:
        os.write(descriptor, json.dumps(message).encode() + b"\n")

    async def handle(message: Message) -> None:
        try:
            told = await answer(message)
        except Exception as error:  # whatever the peer raises is its answer
            told = {"error": f"{type(error).__name__}: {error}"}
        tell({"id": message["id"], **told})

    tell({"ready": version})
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        task = loop.create_task(handle(json.loads(line)))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
