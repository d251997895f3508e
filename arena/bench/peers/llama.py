"""llama.cpp's server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from arena.bench.peers.base import Peer, PeerAnswer, PeerError, PeerSettings, Question
from arena.bench.peers.child import Child, open_port, ready
from arena.bench.peers.endpoint import grammar
from arena.bench.peers.http import JsonClient
from arena.bench.peers.llama_files import find_server, library_path, weights

START_TIMEOUT_S = 120.0
ANSWER_TIMEOUT_S = 600.0
POLL_S = 0.1
GRACE_S = 2.0  # from a connection that breaks to the end of its server
CONTEXT_STEP = 256  # tokens; it rounds contexts up to this itself


class LlamaPeer(Peer):
    """A slot for each game, which keeps the game's prompt; a grammar of the legal moves. What measured best of 18 sets
    of options: Q8_0 weights, no cache of prompts outside the slots, no repacking, attention without flash kernels."""

    name = "llama.cpp"
    settings = "Q8_0, a slot for each game, grammar"

    def __init__(
        self, settings: PeerSettings, server: Path | None, model: str | None, say: Callable[[str], None]
    ) -> None:
        """`model` other than that of the settings: a `.gguf` file. `say` is told what takes long."""
        self._settings = settings
        self._named = server
        self._model = model or settings.model_name
        self._say = say
        self._child: Child | None = None
        self._client: JsonClient | None = None
        self._peak_mb = 0.0

    def check(self) -> None:
        find_server(self._named)

    async def prepare(self) -> None:
        await asyncio.to_thread(weights, self._model, find_server(self._named), self._say)

    async def start(self) -> None:
        server = find_server(self._named)
        model = await asyncio.to_thread(weights, self._model, server, self._say)
        slots = self._settings.slots
        context = -(-self._settings.context // CONTEXT_STEP) * CONTEXT_STEP
        port = await open_port()
        command = [str(server), "-m", str(model), "--host", "127.0.0.1", "--port", str(port)]
        command += ["-t", str(self._settings.threads), "-np", str(slots), "-c", str(context * slots)]
        command += ["-b", "2048", "-ub", "512", "-cram", "0", "-nr", "-fa", "off"]
        self._child = Child(command, memory_mb=self._settings.memory_mb, env=library_path(server))
        await self._child.start()
        self._client = JsonClient(f"http://127.0.0.1:{port}", connections=slots, timeout_s=ANSWER_TIMEOUT_S)
        healthy: asyncio.Future[None] = asyncio.ensure_future(self._healthy(self._client))
        await ready(self._child, healthy, START_TIMEOUT_S)
        build = str((await self._client.get("/props")).get("build_info", "of unknown build"))
        self.version = f"llama.cpp {build}"

    async def ask(self, question: Question) -> PeerAnswer:
        assert self._child is not None
        assert self._client is not None
        free = question.choices is None
        body = {
            "prompt": question.prompt,
            "n_predict": question.max_tokens,
            "cache_prompt": True,
            "id_slot": question.slot,
            "top_k": 1,
            "ignore_eos": free,
            **({} if question.choices is None else {"grammar": grammar(question.choices)}),
        }
        asked = time.perf_counter()
        try:
            answer = await self._client.post("/completion", body)
        except PeerError as error:
            if await self._child.ended(GRACE_S):
                raise PeerError(self._child.reason()) from error
            raise
        latency_ms = (time.perf_counter() - asked) * 1e3
        timings = answer["timings"]
        return PeerAnswer(answer["content"], timings["prompt_n"], max(0.0, latency_ms - timings["predicted_ms"]))

    async def reset(self) -> None:
        await self.close()
        await self.start()

    async def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None
        if self._child is not None:
            self._peak_mb = max(self._peak_mb, self._child.peak_mb)
            await self._child.close()

    @property
    def peak_mb(self) -> float | None:
        return max(self._peak_mb, self._child.peak_mb if self._child is not None else 0.0)

    async def _healthy(self, client: JsonClient) -> None:
        while True:
            with suppress(PeerError):  # no answer yet, or one that it is loading
                await client.get("/health")
                return
            await asyncio.sleep(POLL_S)
