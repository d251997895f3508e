"""How a UCI agent uses its engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from agents.base import Clock
from agents.uci.process import SearchLimits

DEFAULT_NODES = 20_000
"""Searched for a move when neither the settings nor a clock limit the search: some 50 ms of Stockfish's time."""


@dataclass(frozen=True, slots=True)
class UciSettings:
    """Limits of a search (`movetime` in milliseconds; several may be given, the first reached ends it), strength, and
    size. `options` are the engine's own, by name.

    `elo` sets UCI_LimitStrength and UCI_Elo, `skill` the option Skill Level. An engine forgets everything before each
    move, so that its answer follows from the position alone, unless `keep_hash`: then only before each game, which
    makes it a little stronger, and what it plays depend on where a run was interrupted.

    Raises ValueError naming the setting and what would be right.
    """

    nodes: int | None = None
    depth: int | None = None
    movetime: int | None = None
    skill: int | None = None
    elo: int | None = None
    hash: int | None = None  # MiB
    threads: int = 1
    keep_hash: bool = False
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("nodes", "depth", "movetime", "hash", "threads"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")
        if self.skill is not None and self.elo is not None:
            raise ValueError("skill and elo are two ways to weaken an engine: give one of them")
        for name, value in self.options.items():
            if not name.strip() or not (name + value).isprintable():
                raise ValueError(f"option {name!r} cannot have the value {value!r}: both must be printable text")
        if twice := {name.lower() for name, _ in self._own()} & {name.lower() for name in self.options}:
            raise ValueError(f"option {min(twice)!r} is set twice, once by a setting of its own")

    def engine_options(self) -> tuple[tuple[str, str], ...]:
        """The options to set, in order, as name and value."""
        return (*self._own(), *self.options.items())

    def limits(self, clock: Clock | None) -> SearchLimits:
        """The limits of a search with that much time on the clocks. With limits of their own, clocks count as well."""
        own = {"nodes": self.nodes, "depth": self.depth, "movetime": self.movetime}
        if clock is not None:
            increment = round(clock.increment_ms)
            # An engine of which the flag is about to fall still wants a positive number.
            first, second = max(1, round(clock.first_ms)), max(1, round(clock.second_ms))
            return SearchLimits(**own, wtime=first, btime=second, winc=increment, binc=increment)
        return SearchLimits(**own) if any(own.values()) else SearchLimits(nodes=DEFAULT_NODES)

    @property
    def repeatable(self) -> bool:
        """Whether the engine, without a clock, answers a position the same way each time: as far as these settings go,
        with engines that draw no random numbers but to weaken themselves."""
        weakened = self.skill is not None or self.elo is not None or bool(self.options)
        return self.movetime is None and self.threads == 1 and not self.keep_hash and not weakened

    def in_force(self) -> dict[str, str | int | bool | dict[str, str]]:
        """The settings that have an effect, as plain values."""
        given = {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) is not None}
        given |= {"options": dict(self.options), "repeatable": self.repeatable}
        if not any((self.nodes, self.depth, self.movetime)):
            given["without_clock"] = f"{DEFAULT_NODES} nodes"
        return given

    def _own(self) -> tuple[tuple[str, str], ...]:
        hash_size = () if self.hash is None else (("Hash", str(self.hash)),)
        skill = () if self.skill is None else (("Skill Level", str(self.skill)),)
        elo = () if self.elo is None else (("UCI_LimitStrength", "true"), ("UCI_Elo", str(self.elo)))
        threads = () if self.threads == 1 else (("Threads", str(self.threads)),)
        return (*threads, *hash_size, *skill, *elo)
