"""Which tokens of which requests the next step computes. Pure Python, no tensors.

There are no phases: every sequence has tokens that it wants computed and tokens that are, and a step lets some of them
catch up. A prompt is many tokens behind, a decoding sequence one, a forced run of tokens a few.

Who waits is admitted in the order of a virtual finishing time: the tokens that had been scheduled when it came, plus
those that it needs itself. So a request whose prefix is cached overtakes a cold one, and a cold one is overtaken only
by what came within as many tokens of work as it needs: nobody starves. What is about to run out of time goes first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from inference.choices import TreeRow
from inference.kv_pool import OutOfPages
from inference.radix import Branch, Match, Node, PrefixCache

URGENT_S = 1.0
"""A sequence whose deadline is nearer than this is admitted before all others."""

MAX_OVERTAKEN = 16
"""How many may be admitted past one for which there are no pages yet."""


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

    `arrival` numbers sequences by age; `max_new_tokens` bounds what may follow the prompt; `deadline` is on the clock
    of whoever calls `schedule`. `tree`: alternatives of what may follow, computed in the pass that decides, and kept
    nowhere.
    """

    arrival: int
    tokens: list[int]
    prompt_length: int
    max_new_tokens: int = 0
    deadline: float | None = None
    tree: Sequence[TreeRow] = ()
    branch: Branch | None = None
    found: tuple[int, Match] | None = None  # its longest cached prefix, and the version of the cache that had it
    virtual_finish: int = 0
    overtaken: int = 0
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
    """`count` tokens of `sequence`, from position `start` on. `decides`: the step catches up with its last token, so
    its next one can be decided; from `state`, if that was cached, in which case `count` is 0. The step that decides
    also computes the sequence's tree."""

    sequence: SequenceState
    start: int
    count: int
    decides: bool
    state: Any = None

    @property
    def tree(self) -> Sequence[TreeRow]:
        return self.sequence.tree if self.decides else ()

    @property
    def width(self) -> int:
        """Rows of the step."""
        return self.count + len(self.tree)


Computing = dict[tuple[int, ...], list[int]]
"""The token that each running sequence computes next, by its name (`Scheduler._name`): the lengths of those sequences.
Empty where prefixes are not shared within a step."""


@dataclass(slots=True)
class Scheduler:
    """Owns the waiting line and the running sequences; with the cache, it decides who gets which pages.

    Invariant: a sequence waits without a branch or runs with one. A step with work schedules at least one token, or
    decides one from a cached state.
    """

    config: SchedulerConfig
    cache: PrefixCache
    waiting: list[SequenceState] = field(default_factory=list)
    running: list[SequenceState] = field(default_factory=list)
    preemptions: int = 0
    scheduled_tokens: int = 0

    def add(self, sequence: SequenceState) -> None:
        """Put a new sequence in the waiting line."""
        match = self.cache.match(sequence.tokens)
        sequence.virtual_finish = self.scheduled_tokens + len(sequence.tokens) - match.length
        self._found(sequence, match)
        self.waiting.append(sequence)

    def remove(self, sequence: SequenceState) -> None:
        """Take a sequence out, between steps, in whatever state it is. Its computed pages stay cached."""
        if sequence.branch is not None:
            self.cache.close(sequence.branch)
            sequence.branch = None
            self.running.remove(sequence)
        else:
            self.waiting.remove(sequence)
            if sequence.found is not None:
                self.cache.unwant(sequence.found[1], sequence.virtual_finish)

    def schedule(self, now: float = 0.0) -> list[ScheduledRows]:
        """Plan one step and reserve its pages. Empty only if there is nothing to do."""
        plan: list[ScheduledRows] = []
        computing: Computing = {}
        room = self._plan_running(plan, computing)
        if self.waiting and (self.config.continuous_batching or not self.running):
            self._admit(plan, computing, room, now)
        for rows in plan:
            sequence, width = rows.sequence, rows.width
            sequence.passes += width > 0
            sequence.forwarded_tokens += width
            sequence.widest_batch = max(sequence.widest_batch, len(plan))
            self.scheduled_tokens += width
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
        for sequence in self.running:
            assert sequence.branch is not None
            held = [token for node in sequence.branch.nodes for token in node.tokens]
            assert held == sequence.tokens[: sequence.branch.length]
            assert len(sequence.branch.nodes) == -(-len(held) // self.cache.page_size)
        self.cache.check_invariants()

    def _plan_running(self, plan: list[ScheduledRows], computing: Computing) -> int:
        """Decoding sequences first, so that a long prompt does not hold them up; each kind by age.

        The rest of a prompt that would fill the step goes back into the line, if somebody there is to be done first.

        Returns the tokens that the step has room for. None while a running sequence waits for room or for pages:
        newcomers could overtake it for ever.
        """
        room = self.config.max_batch_tokens
        everyone = True
        first = min((s.virtual_finish for s in self.waiting), default=math.inf)
        for sequence in sorted(self.running, key=lambda s: (s.pending > 1, s.arrival)):
            branch = sequence.branch
            if branch is None:  # preempted a moment ago for another
                everyone = False
                continue
            if sequence.pending > room and first < sequence.virtual_finish and self.config.continuous_batching:
                self._set_aside(sequence)
                continue
            if self._shares_prefixes:
                name = self._name(branch.nodes, sequence.tokens, branch.computed)
                if name in computing or self.cache.has_next(branch, sequence.tokens[branch.computed]):
                    self._set_aside(sequence)  # and admit it again with what others compute
                    continue
                computing[name] = [len(sequence.tokens)]
            count = self._share_of(sequence, sequence.pending, room, plan)
            if count and self._make_space(sequence, count, plan):
                plan.append(self._rows(sequence, count))
                room -= plan[-1].width
            else:
                everyone = False
        return room if everyone else 0

    @property
    def _shares_prefixes(self) -> bool:
        """Whether a sequence waits for what another computes. The members of a static batch do not."""
        return self.config.continuous_batching and self.config.share_cold_prefixes

    def _name(self, nodes: Sequence[Node], tokens: list[int], position: int) -> tuple[int, ...]:
        """Names a token by all that comes before it: the page before its own, and the tokens in its own up to it."""
        page, offset = divmod(position, self.cache.page_size)
        return (id(nodes[page - 1]) if page else 0, *tokens[position - offset : position + 1])

    def _make_space(self, sequence: SequenceState, count: int, plan: Sequence[ScheduledRows]) -> bool:
        """Extend a running sequence, at the cost of younger ones if need be. False if others need the pages first."""
        while not self._extend(sequence, count):
            planned = {id(rows.sequence) for rows in plan}
            younger = [s for s in self.running if s.arrival > sequence.arrival and id(s) not in planned]
            # Who shares all its pages with others gives none back.
            victims = [s for s in younger if s.branch is not None and s.branch.alone]
            if victims:
                self._preempt(max(victims, key=lambda s: s.arrival))
                continue
            if not plan:  # older ones come later in this step; holding on to these pages might starve them
                assert len(self.running) > 1, "a sequence that fits the pool alone found no page"
                self._preempt(sequence)
            return False
        return True

    def _admit(self, plan: list[ScheduledRows], computing: Computing, room: int, now: float) -> None:
        """Let the waiting in, in order, as far as there is room.

        One that waits for a prefix that another is `computing` does not hold up the rest; one for which there are no
        pages does so when enough were admitted past it. A static batch takes in all it can when it is formed; its
        members wait inside for their share of a step, and share prefixes only with earlier batches.
        """
        continuous, promised = self.config.continuous_batching, sum(map(self._promised, self.running))
        for sequence in sorted(self.waiting, key=lambda s: (not _is_urgent(s, now), s.virtual_finish, s.arrival)):
            if len(self.running) >= self.config.max_running or (continuous and room <= 0):
                break
            match, state = self._match(sequence)
            name, length = self._name(match.nodes, sequence.tokens, match.length), len(sequence.tokens)
            # All its tokens, with the state of the last, only one of the same length gives.
            if state is None and (others := computing.get(name)) and (match.length + 1 < length or length in others):
                continue
            count = self._share_of(sequence, length - match.length, room, plan)
            if continuous and (count == 0 if state is None else len(sequence.tree) > room and plan):
                break
            if not self.cache.fits(match, self._bound(sequence), promised=promised):
                sequence.overtaken += 1
                if sequence.overtaken > MAX_OVERTAKEN or not continuous:
                    break
                continue
            sequence.branch, sequence.found = self.cache.open_branch(match), None
            if sequence.cached_tokens is None:
                sequence.cached_tokens = match.length
            self.waiting.remove(sequence)
            self.running.append(sequence)
            if state is not None:
                plan.append(ScheduledRows(sequence, match.length, 0, True, state))
                room -= plan[-1].width
                promised += self._promised(sequence)
                continue
            if self._shares_prefixes:
                computing.setdefault(name, []).append(length)
            if count and self._extend(sequence, count):
                plan.append(self._rows(sequence, count))
                room -= plan[-1].width
            promised += self._promised(sequence)

    def _match(self, sequence: SequenceState) -> tuple[Match, Any]:
        """The longest cached prefix, and the state of its last token if it is all of the sequence. Without a state one
        token is left to compute: what follows is decided from it."""
        match = self._longest(sequence)
        if match.length < len(sequence.tokens):
            return match, None
        return (match, match.state) if match.state is not None else (self.cache.match(sequence.tokens[:-1]), None)

    def _longest(self, sequence: SequenceState) -> Match:
        """The longest cached prefix of a sequence that waits, looked up again when it may be another."""
        if sequence.found is not None:
            version, match = sequence.found
            if self.cache.holds(match, version):
                return match
            match = self.cache.match(sequence.tokens, match if match.intact else None)
        else:
            match = self.cache.match(sequence.tokens)
        self._found(sequence, match)
        return match

    def _found(self, sequence: SequenceState, match: Match) -> None:
        sequence.found = (self.cache.version, match)
        self.cache.want(match, sequence.virtual_finish)

    def _bound(self, sequence: SequenceState) -> int:
        """Tokens for which there must be pages before a sequence is admitted: all that it can come to if its answer is
        short, so that short answers are never preempted; a page's worth of a long one."""
        return max(len(sequence.tokens), sequence.prompt_length + min(sequence.max_new_tokens, self.cache.page_size))

    def _promised(self, sequence: SequenceState) -> int:
        """Pages that a running sequence was admitted with and has not taken yet."""
        assert sequence.branch is not None
        return max(0, -(-self._bound(sequence) // self.cache.page_size) - len(sequence.branch.nodes))

    def _share_of(self, sequence: SequenceState, pending: int, room: int, plan: Sequence[ScheduledRows]) -> int:
        """How many of `pending` tokens a step takes on that has room for `room` beside its plan. With the last one
        comes the whole tree."""
        if pending + len(sequence.tree) <= room:
            return pending
        if not self.config.chunked_prefill:
            return 0 if plan else pending
        if pending == 1 and not plan:
            return 1
        return min(pending - 1 if sequence.tree else pending, room)

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
        self._set_aside(sequence)
        sequence.preemptions += 1
        self.preemptions += 1

    def _set_aside(self, sequence: SequenceState) -> None:
        """Let a running sequence wait again; what it computed stays cached."""
        assert sequence.branch is not None
        self.cache.close(sequence.branch)
        sequence.branch = None
        self.running.remove(sequence)
        self.waiting.append(sequence)


def _is_urgent(sequence: SequenceState, now: float) -> bool:
    return sequence.deadline is not None and sequence.deadline - now < URGENT_S
