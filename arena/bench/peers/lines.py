"""Peers that are libraries: a driver runs in an interpreter that has them, and talks in lines of JSON.

To the driver: `{"id", "prompt", "max_tokens", "choices"}`, or `{"id", "reset": true}`. From it: once
`{"ready": VERSION}`, then for each id `{"id", "text", "computed", "ttft_ms"}` or `{"id", "error"}`.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from arena.bench.peers.base import Peer, PeerAnswer, PeerError, PeerSettings, Question
from arena.bench.peers.child import Child, ready

DRIVERS = Path(__file__).with_name("drivers")


class LinesPeer(Peer):
    """Owns the driver's process and the questions that it has not answered."""

    def __init__(self, settings: PeerSettings, *, start_timeout_s: float) -> None:
        self._settings = settings
        self._start_timeout_s = start_timeout_s
        self._child: Child | None = None
        self._reader: asyncio.Task[None] | None = None
        self._ids = itertools.count()
        self._open: dict[int, asyncio.Future[dict[str, Any]]] = {}

    def command(self) -> Sequence[str]:
        """What runs the driver. Raises PeerMissingError."""
        raise NotImplementedError

    def env(self) -> Mapping[str, str]:
        """Added to the environment of the driver."""
        return {}

    async def start(self) -> None:
        self._child = Child(self.command(), memory_mb=self._settings.memory_mb, env=self.env())
        await self._child.start(piped=True)
        started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reader = asyncio.create_task(self._read(self._child, started))
        await ready(self._child, started, self._start_timeout_s)

    async def ask(self, question: Question) -> PeerAnswer:
        answer = await self._send(
            {"prompt": question.prompt, "max_tokens": question.max_tokens, "choices": question.choices}
        )
        return PeerAnswer(answer["text"], answer.get("computed"), answer.get("ttft_ms"))

    async def reset(self) -> None:
        await self._send({"reset": True})

    async def close(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
        if self._child is not None:
            await self._child.close()

    @property
    def peak_mb(self) -> float | None:
        return self._child.peak_mb if self._child is not None else None

    async def _send(self, message: dict[str, Any]) -> dict[str, Any]:
        assert self._child is not None
        if not self._child.running:
            raise PeerError(self._child.reason())
        number = next(self._ids)
        future = self._open[number] = asyncio.get_running_loop().create_future()
        try:
            with suppress(ConnectionError):  # it has just ended: the reader says why
                self._child.stdin.write(json.dumps({"id": number, **message}).encode() + b"\n")
                await self._child.stdin.drain()
            answer: dict[str, Any] = await future
        finally:
            del self._open[number]
        if "error" in answer:
            raise PeerError(f"it answered with an error: {answer['error']}")
        return answer

    async def _read(self, child: Child, started: asyncio.Future[None]) -> None:
        async for line in child.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                self._fail(PeerError(f"it wrote {line[:80]!r} where an answer was due"))
                return
            if "ready" in message:
                self.version = message["ready"]
                started.set_result(None)
            elif (future := self._open.get(message["id"])) is not None and not future.done():
                future.set_result(message)
        await child.wait()
        self._fail(PeerError(child.reason()))

    def _fail(self, error: PeerError) -> None:
        for future in self._open.values():
            if not future.done():
                future.set_exception(error)
