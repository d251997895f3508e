"""The continuous batching of transformers, in a process of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence

from arena.bench.peers.base import PeerAnswer, PeerSettings, PeerUnableError, Question
from arena.bench.peers.lines import DRIVERS, LinesPeer

START_TIMEOUT_S = 300.0


class TransformersPeer(LinesPeer):
    """Paged cache with block sharing, bfloat16 where the processor has it. It cannot hold each request to choices of
    its own."""

    name = "transformers"
    settings = "sdpa, pages of 32"

    def __init__(self, settings: PeerSettings) -> None:
        super().__init__(settings, start_timeout_s=START_TIMEOUT_S)

    def check(self) -> None:
        self._settings.folder()

    def command(self) -> Sequence[str]:
        settings = {
            "model": str(self._settings.folder()),
            "slots": self._settings.slots,
            "context": self._settings.context,
            "threads": self._settings.threads,
        }
        return [sys.executable, str(DRIVERS / "transformers_driver.py"), json.dumps(settings)]

    def env(self) -> Mapping[str, str]:
        return {"PYTHONPATH": "", "TRANSFORMERS_VERBOSITY": "error"}

    async def ask(self, question: Question) -> PeerAnswer:
        if question.choices is not None:
            raise PeerUnableError("its continuous batching has no constrained decoding; it can do --answer free")
        return await super().ask(question)
