"""How long a fresh process takes to its first token, and where the time goes."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from arena.errors import ArenaError, UsageError

if TYPE_CHECKING:
    from inference.engine import EngineConfig

PHASES = ("interpreter", "imports", "model", "engine", "first_token")
"""In their order: until our first line runs; until the engine's code is imported; until the model is read; until the
engine takes requests; until one token is there."""


@dataclass(frozen=True, slots=True)
class Phase:
    """Seconds of one phase over several starts."""

    best: float
    median: float


def first_token(config: EngineConfig, *, began: float, imported: float) -> dict[str, float]:
    """Start an engine in this process, and have it answer. Returns when each phase ended, on the clock that all
    processes share; `began` and `imported` are the ends of the first two. Raises ModelError."""
    from inference.engine import Engine
    from inference.types import Message, SamplingParams

    told = imported

    def progress(_: str) -> None:
        nonlocal told
        told = time.monotonic()  # the last that an engine tells of is its inner loops, once the model is read

    engine = Engine(config)
    engine.start(progress)
    ready = time.monotonic()
    try:
        asyncio.run(engine.generate([Message("user", "Hello")], SamplingParams(max_tokens=1, ignore_eos=True)))
        answered = time.monotonic()
    finally:
        engine.close()
    return dict(zip(PHASES, (began, imported, told, ready, answered), strict=True))


def start_of(arguments: Sequence[str], *, compiled: bool = True) -> dict[str, float]:
    """Seconds of each phase, of a process `arena` with these arguments that prints what `first_token` returns. Without
    `compiled` it finds none of the inner loops that earlier runs have compiled, and leaves those alone.

    Raises UsageError and ArenaError with the words of the process, if it fails.
    """
    if compiled:
        return _phases(*_run(arguments, os.environ))
    with tempfile.TemporaryDirectory() as empty:
        return _phases(*_run(arguments, os.environ | {"NUMBA_CACHE_DIR": empty}))


def help_seconds() -> float:
    """Of a process `arena --help`, from its start to its end."""
    spawned, _ = _run(["--help"], os.environ)
    return time.monotonic() - spawned


def summary(starts: Sequence[Mapping[str, float]]) -> dict[str, Phase]:
    """Each phase over all starts; and their sum, `total`, which is of whole starts."""
    columns = {phase: [start[phase] for start in starts] for phase in PHASES}
    columns["total"] = [sum(start.values()) for start in starts]
    return {name: Phase(min(seconds), median(seconds)) for name, seconds in columns.items()}


def _run(arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[float, str]:
    """When the process was started, and what it wrote."""
    spawned = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "arena", *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = done.stderr.strip().removeprefix("arena: ") or f"the process ended with {done.returncode}"
        raise (UsageError if done.returncode == UsageError.exit_code else ArenaError)(said)
    return spawned, done.stdout


def _phases(spawned: float, written: str) -> dict[str, float]:
    ends = json.loads(written)
    return {phase: ends[phase] - before for phase, before in zip(PHASES, (spawned, *ends.values()), strict=False)}
