"""The engines of a run: one for each model that its agents ask, shared by those who ask the same."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from arena.config import EngineSettings
from arena.errors import UsageError
from arena.interrupts import uninterrupted

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.types import EngineStats

logger = logging.getLogger(__name__)

CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


class EngineConditions(Protocol):
    """What engines are made for: their settings, and how many games play at once."""

    @property
    def engine(self) -> EngineSettings: ...
    @property
    def concurrency(self) -> int: ...


class Engines:
    """Owns an engine for each model that was asked for, from `start` to `close`, which may be called in any state and
    again. Engines of one process take turns at their steps: each wants all cores."""

    def __init__(self, config: EngineConditions) -> None:
        self._config = config
        self._engines: dict[str, Engine] = {}
        self._started: set[str] = set()

    def of(self, model: str | None) -> Engine:
        """The engine of `model`; None is the run's own. It is made when it is first asked for, and loads nothing."""
        name = model or self._config.engine.model
        if name not in self._engines:
            self._engines[name] = make_engine(self._config, name)
        return self._engines[name]

    def __bool__(self) -> bool:
        """Whether anybody asked for a model."""
        return bool(self._engines)

    @property
    def alive(self) -> bool:
        """Whether all of them take requests."""
        return all(engine.alive for engine in self._engines.values())

    @property
    def model(self) -> str | None:
        """The models' names, as they are recorded with a run; None without any. All must be started."""
        return " + ".join(engine.model_name for engine in self._engines.values()) or None

    @property
    def model_checksum(self) -> str | None:
        """The checksums of the models, in the same order."""
        return " + ".join(engine.model_checksum for engine in self._engines.values()) or None

    @property
    def weights(self) -> str:
        """How the weights are held, the same for all of them. They must be started."""
        return next(engine.model.weights for engine in self._engines.values())

    def environment(self) -> dict[str, Any]:
        """What results may depend on besides the requests; the same for all of them."""
        return next((engine.environment() for engine in self._engines.values()), {})

    def stats(self) -> tuple[EngineStats, ...]:
        """Each engine's figures after its last step."""
        return tuple(engine.stats() for engine in self._engines.values())

    def start(self, progress: Callable[[str], None] | None = None) -> None:
        """Loads the models, fetching them first if need be, and starts the engines. Blocks for seconds; may be called
        again. `progress` is told what takes long. Raises UsageError for a model that cannot be had, and for models
        that together do not fit in memory.
        """
        waiting = {name: engine for name, engine in self._engines.items() if name not in self._started}
        if not waiting:
            return
        from inference.catalogue import catalogue, is_installed
        from inference.errors import ModelError
        from inference.formats import resolve, resolve_kv
        from inference.pull import pull

        tell = progress or logger.info
        try:
            for name in waiting:
                if name in catalogue() and not is_installed(name):
                    pull(name, tell)
            if len(self._engines) > 1:
                self._plan_memory()
            for name, engine in waiting.items():
                weights = resolve(self._config.engine.weights)
                kv = resolve_kv(self._config.engine.kv, weights)
                tell(f"loading {name}, weights in {weights}, keys and values in {kv}")
                engine.start(tell)
                self._started.add(name)
        except ModelError as error:
            raise UsageError(str(error)) from error

    def _plan_memory(self) -> None:
        from inference.loader import weight_bytes

        weights = {name: weight_bytes(name) for name in self._engines}
        check_memory(weights, kv_bytes=self._config.engine.kv_memory_mb * 2**20, total=memory_bytes())

    def close(self) -> None:
        """Stops them. Takes a step at most, in which Ctrl-C does nothing."""
        with uninterrupted():
            for engine in self._engines.values():
                engine.close()


def check_memory(weights: dict[str, int], *, kv_bytes: int, total: int) -> None:
    """Raises UsageError unless weights (bytes by model) and a KV cache each fit in `total` bytes of memory."""
    needed = sum(weights.values()) + kv_bytes * len(weights)
    if needed <= total:
        return
    each = "; ".join(f"{name} {_mib(size)} of weights and {_mib(kv_bytes)} of KV" for name, size in weights.items())
    raise UsageError(
        f"{len(weights)} models need {_mib(needed)} and the machine has {_mib(total)}: {each}. "
        "Take fewer or smaller models, or less --kv-memory."
    )


def memory_bytes() -> int:
    """The memory that this process may use at most: the machine's, or what its control group is held to."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = CGROUP_LIMIT.read_text().strip()
    except OSError:  # no such groups on this system
        return physical
    return min(physical, int(limit)) if limit.isdecimal() else physical


def _mib(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB"


def make_engine(config: EngineConditions, model: str) -> Engine:
    """An engine for `model` that is not started."""
    from inference.engine import Engine, EngineConfig  # torch takes a second to import

    settings = config.engine.model_dump() | {"model": model}
    # Weighing whole moves takes a request for each node of the trie of legal moves, so a game can have dozens waiting.
    return Engine(EngineConfig(**settings, max_waiting=max(1024, 64 * config.concurrency)))
