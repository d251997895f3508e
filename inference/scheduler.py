"""Which tokens of which requests the next step computes. Pure Python, no tensors.

There are no phases: every sequence has tokens that it wants computed and tokens that are, and a step lets some of them
catch up. A prompt is many tokens behind, a decoding sequence one, a forced run of tokens a few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from inference.kv_pool import OutOfPages
from inference.radix import Branch, Match, PrefixCache


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """`max_batch_tokens` bounds the new tokens of a step, `max_running` the sequences in it.

    `continuous_batching` off: a batch runs until all its members are done before the next is formed.
    `chunked_prefill` off: a prompt is computed in one step, however long. `share_cold_prefixes` makes a request wait
    while another computes a prefix that it can use.
    """

    max_batch_tokens: int = 256
    max_running: int = 256
    continuous_batching: bool = True
    chunked_prefill: bool = True
    share_cold_prefixes: bool = True

    def __post_init__(self) -> None:
        if self.max_batch_tokens < 1:
            raise ValueError(f"max_batch_tokens must be at least 1, not {self.max_batch_tokens}")
        if self.max_running < 1:
            raise ValueError(f"max_running must be at least 1, not {self.max_running}")


@dataclass(slots=True, eq=False, weakref_slot=True)
class SequenceState:
    """A request as the scheduler sees it: tokens wanted, tokens computed, and the branch that holds their KV.

    `arrival` orders the waiting line and survives a preemption.
    """

    arrival: int
    tokens: list[int]
    prompt_length: int
    branch: Branch | None = None
    cached_tokens: int | None = None  # found in the cache when first admitted
    forwarded_tokens: int = 0
    passes: int = 0
    preemptions: int = 0
    widest_batch: int = 0

    @property
    def computed(self) -> int:
        return self.branch.length if self.branch else 0

    @property
    def pending(self) -> int:
        """Tokens wanted and not computed."""
        return len(self.tokens) - self.computed


@dataclass(frozen=True, slots=True)
class ScheduledRows:
    """`count` tokens of `sequence`, from position `start` on. `wants_logits`: the step catches up with its last
    token, so its next one can be decided."""

    sequence: SequenceState
    start: int
    count: int
    wants_logits: bool


@dataclass(slots=True)
class Scheduler:
    """Owns the waiting line and the running sequences; with the cache, it decides who gets which pages.

    Invariant: a sequence waits without a branch or runs with one. A step with work schedules at least one token.
    """

    config: SchedulerConfig
    cache: PrefixCache
    waiting: list[SequenceState] = field(default_factory=list)
    running: list[SequenceState] = field(default_factory=list)
    preemptions: int = 0

    def add(self, sequence: SequenceState) -> None:
        """Put a new sequence at the end of the waiting line."""
        self.waiting.append(sequence)

    def remove(self, sequence: SequenceState) -> None:
        """Take a sequence out, between steps, in whatever state it is. Its computed pages stay cached."""
        if sequence.branch is not None:
            self.cache.close(sequence.branch)
            sequence.branch = None
            self.running.remove(sequence)
        else:
            self.waiting.remove(sequence)

    def schedule(self) -> list[ScheduledRows]:
        """Plan one step and reserve its pages. Empty only if there is nothing to do."""
        plan: list[ScheduledRows] = []
        room = self._plan_running(plan)
        if self.config.continuous_batching or not self.running:
            self._admit(plan, room)
        for rows in plan:
            rows.sequence.passes += 1
            rows.sequence.forwarded_tokens += rows.count
            rows.sequence.widest_batch = max(rows.sequence.widest_batch, len(plan))
        return plan

    def commit(self, plan: Sequence[ScheduledRows]) -> None:
        """The planned step was computed."""
        for rows in plan:
            assert rows.sequence.branch is not None
            self.cache.commit(rows.sequence.branch)

    def check_invariants(self) -> None:
        """Assert what the class promises. For tests."""
        assert all(sequence.branch is None for sequence in self.waiting)
        assert all(sequence.branch is not None for sequence in self.running)
        assert len(self.running) <= self.config.max_running
        assert self.waiting == sorted(self.waiting, key=lambda s: s.arrival)
        for sequence in self.running:
            assert sequence.branch is not None
            held = [token for node in sequence.branch.nodes for token in node.tokens]
            assert held == sequence.tokens[: sequence.branch.length]
            assert len(sequence.branch.nodes) == -(-len(held) // self.cache.page_size)
        self.cache.check_invariants()

    def _plan_running(self, plan: list[ScheduledRows]) -> int:
        """Decoding sequences first, so that a long prompt does not hold them up; each kind by age.

        Returns the tokens that the step has room for. None while a running sequence waits for room or for pages:
        newcomers could overtake it for ever.
        """
        room = self.config.max_batch_tokens
        everyone = True
        for sequence in sorted(self.running, key=lambda s: (s.pending > 1, s.arrival)):
            # One without a branch was preempted a moment ago for another.
            count = self._share_of(sequence.pending, room, plan) if sequence.branch is not None else 0
            if count and self._make_space(sequence, count, plan):
                plan.append(self._rows(sequence, count))
                room -= count
            else:
                everyone = False
        return room if everyone else 0

    def _make_space(self, sequence: SequenceState, count: int, plan: Sequence[ScheduledRows]) -> bool:
        """Extend a running sequence, at the cost of younger ones if need be. False if others need the pages first."""
        while not self._extend(sequence, count):
            planned = {id(rows.sequence) for rows in plan}
            younger = [s for s in self.running if s.arrival > sequence.arrival and id(s) not in planned]
            if younger:
                self._preempt(max(younger, key=lambda s: s.arrival))
                continue
            if not plan:  # older ones come later in this step; holding on to these pages might starve them
                assert len(self.running) > 1, "a sequence that fits the pool alone found no page"
                self._preempt(sequence)
            return False
        return True

    def _admit(self, plan: list[ScheduledRows], room: int) -> None:
        """First come, first served, but a sequence that waits for another's prefix does not hold up the rest.

        A static batch takes in all it can when it is formed; its members wait inside for their share of a step, and
        share prefixes only with earlier batches.
        """
        continuous = self.config.continuous_batching
        for sequence in list(self.waiting):
            if len(self.running) >= self.config.max_running or (continuous and room <= 0):
                break
            # At least one token is left to compute: its logits decide what comes next.
            match = self.cache.match(sequence.tokens[:-1])
            if continuous and self.config.share_cold_prefixes and self._is_being_computed(sequence, match):
                continue
            count = self._share_of(len(sequence.tokens) - match.length, room, plan)
            if (continuous and count == 0) or not self.cache.fits(match, len(sequence.tokens)):
                break
            sequence.branch = self.cache.open_branch(match)
            if sequence.cached_tokens is None:
                sequence.cached_tokens = match.length
            self.waiting.remove(sequence)
            self.running.append(sequence)
            if count and self._extend(sequence, count):
                plan.append(self._rows(sequence, count))
                room -= count

    def _is_being_computed(self, sequence: SequenceState, match: Match) -> bool:
        """Whether a running prompt is about to give `sequence` a longer prefix than it can have now."""
        for other in self.running:
            assert other.branch is not None
            better = max(match.length, other.branch.computed) + 1  # tokens that they must share
            if better <= min(len(sequence.tokens) - 1, other.prompt_length) and (
                sequence.tokens[better - 1] == other.tokens[better - 1]
                and sequence.tokens[:better] == other.tokens[:better]
            ):
                return True
        return False

    def _share_of(self, pending: int, room: int, plan: Sequence[ScheduledRows]) -> int:
        """How many of `pending` tokens a step takes on that has room for `room` beside its plan."""
        if self.config.chunked_prefill:
            return min(pending, room)
        return pending if pending <= room or not plan else 0

    def _extend(self, sequence: SequenceState, count: int) -> bool:
        assert sequence.branch is not None
        start = sequence.computed
        try:
            self.cache.extend(sequence.branch, sequence.tokens[start : start + count])
        except OutOfPages:
            return False
        return True

    def _rows(self, sequence: SequenceState, count: int) -> ScheduledRows:
        end = sequence.computed  # the branch is already extended
        return ScheduledRows(sequence, end - count, count, end == len(sequence.tokens))

    def _preempt(self, sequence: SequenceState) -> None:
        """Take the pages of a running sequence away; it waits again, and recomputes what is evicted meanwhile."""
        assert sequence.branch is not None
        self.cache.close(sequence.branch)
        sequence.branch = None
        self.running.remove(sequence)
        at = next((i for i, other in enumerate(self.waiting) if other.arrival > sequence.arrival), len(self.waiting))
        self.waiting.insert(at, sequence)
        sequence.preemptions += 1
        self.preemptions += 1
