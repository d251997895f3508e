"""The engine without threads: requests in, steps, completions out. Whoever calls `step` is the only one who calls."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from inference.deciders import Decider, Verdict
from inference.errors import (
    EngineFailedError,
    InferenceError,
    InvalidRequestError,
    RequestTimeoutError,
    RequestTooLargeError,
)
from inference.kv_pool import PagePool
from inference.metrics import Metrics
from inference.radix import NoPrefixCache, PrefixCache
from inference.runner import StepRunner
from inference.scheduler import ScheduledRows, Scheduler, SchedulerConfig, SequenceState
from inference.types import EngineStats, Timing, Usage


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds that a request may wait for admission, and take in all. None is without limit."""

    wait_s: float | None = None
    total_s: float | None = None


@dataclass(slots=True, eq=False)
class Request:
    """One request in the core. `on_progress` runs in the step loop after each decided token, `on_done` once at the
    end, with the error if it failed. Times are seconds on the core's clock."""

    prompt: Sequence[int]
    decider: Decider
    on_done: Callable[[Request, InferenceError | None], None]
    on_progress: Callable[[Request], None] | None = None
    limits: Limits = Limits()
    sequence: SequenceState | None = None
    submitted_at: float = 0.0
    admitted_at: float | None = None
    first_token_at: float | None = None
    last_token_at: float = 0.0
    done: bool = False

    def usage(self) -> Usage:
        sequence = self.sequence
        if sequence is None:
            return Usage(prompt_tokens=len(self.prompt), generated_tokens=self.decider.generated)
        return Usage(
            prompt_tokens=len(self.prompt),
            cached_tokens=sequence.cached_tokens or 0,
            forwarded_tokens=sequence.forwarded_tokens,
            generated_tokens=self.decider.generated,
            passes=sequence.passes,
            preemptions=sequence.preemptions,
            batch_size=sequence.widest_batch,
        )

    def timing(self, now: float) -> Timing:
        admitted = self.admitted_at if self.admitted_at is not None else now
        first = self.first_token_at if self.first_token_at is not None else now
        return Timing(
            queue_ms=(admitted - self.submitted_at) * 1e3,
            prefill_ms=(first - admitted) * 1e3,
            decode_ms=(now - first) * 1e3,
            total_ms=(now - self.submitted_at) * 1e3,
            ttft_ms=(first - self.submitted_at) * 1e3,
        )


@dataclass(slots=True)
class EngineCore:
    """Owns the requests in flight; through the scheduler and the cache, their tokens and pages.

    Invariant, after every step: each request in flight is waiting or running exactly once, and free + cached + locked
    pages are all there are.
    """

    runner: StepRunner
    pages: int
    page_size: int
    context_length: int
    config: SchedulerConfig = field(default_factory=SchedulerConfig)
    prefix_cache: bool = True
    clock: Callable[[], float] = time.perf_counter
    metrics: Metrics = field(default_factory=Metrics)
    cache: PrefixCache = field(init=False)
    scheduler: Scheduler = field(init=False)
    _requests: dict[int, Request] = field(init=False, default_factory=dict)  # by arrival
    _arrivals: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.cache = (PrefixCache if self.prefix_cache else NoPrefixCache)(PagePool(self.pages), self.page_size)
        self.scheduler = Scheduler(self.config, self.cache)

    @property
    def has_work(self) -> bool:
        return bool(self._requests)

    def check(self, prompt: Sequence[int], max_new_tokens: int) -> None:
        """Raises InvalidRequestError for an empty prompt, RequestTooLargeError for what can never fit. Reads nothing
        that changes, so any thread may call it."""
        if not prompt:
            raise InvalidRequestError("the prompt is empty: at least one token is needed")
        total = len(prompt) + max_new_tokens
        asked = f"{len(prompt)} prompt tokens and up to {max_new_tokens} new ones"
        if total > self.context_length:
            raise RequestTooLargeError(f"{asked} exceed the model's context of {self.context_length} tokens")
        if -(-total // self.page_size) > self.pages:
            raise RequestTooLargeError(
                f"{asked} need {-(-total // self.page_size)} KV pages of {self.page_size} tokens; "
                f"the pool has {self.pages} in all"
            )

    def add(self, request: Request) -> None:
        """Take a request in. It is done at once if nothing needs the model."""
        request.submitted_at = request.submitted_at or self.clock()
        try:
            self.check(request.prompt, request.decider.max_new_tokens)
        except InferenceError as error:
            self._fail(request, error)
            return
        verdict = request.decider.opening()
        self.metrics.generated_tokens += request.decider.generated
        if verdict.finish is not None:
            self._finish(request)
            return
        self._arrivals += 1
        total_s = request.limits.total_s
        request.sequence = SequenceState(
            arrival=self._arrivals,
            tokens=[*request.prompt, *verdict.append],
            prompt_length=len(request.prompt),
            max_new_tokens=request.decider.max_new_tokens,
            deadline=None if total_s is None else request.submitted_at + total_s,
            tree=request.decider.tree,
        )
        self._requests[self._arrivals] = request
        self.scheduler.add(request.sequence)

    def cancel(self, request: Request) -> None:
        """Drop a request between steps, in whatever state. Its pages are free or cached; `on_done` is not called."""
        if not request.done:
            self._forget(request)
            self.metrics.cancelled += 1

    def step(self) -> None:
        """One forward pass, if there is anything to compute, and what follows from it."""
        self._expire()
        planning = self.clock()
        plan = self.scheduler.schedule(planning)
        if not plan:
            return
        started = self.clock()
        self._note_admissions(plan, started)
        deciding = [rows for rows in plan if rows.decides]
        try:
            computed = iter(self.runner.run(self.cache.take_operations(), plan))
            states = [
                [next(computed) if rows.state is None else rows.state, *(next(computed) for _ in rows.tree)]
                for rows in deciding
            ]
            deciders = [self._requests[rows.sequence.arrival].decider for rows in deciding]
            targets = [target for decider in deciders for target in (decider.targets, *decider.tree_targets)]
            logits = iter(self.runner.logits([state for some in states for state in some], targets))
        except Exception as error:
            # Which request it was cannot be told, nor whether copied pages were filled: nothing of them is kept.
            for sequence in list(self.scheduler.running):
                failure = EngineFailedError(f"the forward pass failed: {error}")
                failure.__cause__ = error
                self._fail(self._requests[sequence.arrival], failure)
            self.cache.flush()
            return
        self.scheduler.commit(plan)
        now = self.clock()
        tokens = sum(rows.width for rows in plan)
        self.metrics.step(len(plan), tokens, (now - started) * 1e3, (started - planning) * 1e3)
        for rows, some in zip(deciding, states, strict=True):
            assert rows.sequence.branch is not None
            self.cache.keep_state(rows.sequence.branch, some[0])
        for rows, some in zip(deciding, states, strict=True):
            self._decide(self._requests[rows.sequence.arrival], [next(logits) for _ in some], now)

    def abort_all(self, error: InferenceError) -> None:
        """Fail everything in flight. All are told before their pages are given back, which may fail after a fault."""
        requests = list(self._requests.values())
        self._requests.clear()
        for request in requests:
            self._fail(request, error)
        for request in requests:
            assert request.sequence is not None
            self.scheduler.remove(request.sequence)

    def stats(self, waiting_outside: int = 0) -> EngineStats:
        """A snapshot; `waiting_outside` requests are on their way to the core."""
        return self.metrics.snapshot(
            waiting=len(self.scheduler.waiting) + waiting_outside,
            running=len(self.scheduler.running),
            preemptions=self.scheduler.preemptions,
            evicted_pages=self.cache.evictions,
            pages_total=self.pages,
            pages_free=self.cache.pool.free,
            pages_cached=self.cache.cached,
            pages_locked=self.cache.locked,
        )

    def check_invariants(self) -> None:
        """Assert what the class promises. For tests."""
        self.scheduler.check_invariants()
        held = [*self.scheduler.waiting, *self.scheduler.running]
        assert sorted(s.arrival for s in held) == sorted(self._requests)
        if not held:
            assert self.cache.locked == 0
        if not self.prefix_cache:
            assert self.cache.cached == 0

    def _note_admissions(self, plan: Sequence[ScheduledRows], now: float) -> None:
        for rows in plan:
            request = self._requests[rows.sequence.arrival]
            if request.admitted_at is None:
                request.admitted_at = now
                self.metrics.admitted(len(request.prompt), rows.sequence.cached_tokens or 0)

    def _decide(self, request: Request, logits: Sequence[torch.Tensor], now: float) -> None:
        if not all(map(_is_finite, logits)):
            self._fail(request, EngineFailedError("the model's logits are not finite for this prompt"))
            return
        if request.first_token_at is None:
            request.first_token_at = now
            self.metrics.first_token((now - request.submitted_at) * 1e3)
        else:
            self.metrics.next_token((now - request.last_token_at) * 1e3)
        request.last_token_at = now
        before = request.decider.generated
        try:
            verdict: Verdict = request.decider.decide(logits[0], logits[1:])
        except Exception as error:
            failure = EngineFailedError(f"choosing the next token failed: {error}")
            failure.__cause__ = error
            self._fail(request, failure)
            return
        self.metrics.generated_tokens += request.decider.generated - before
        if verdict.finish is not None:
            self._finish(request)
            return
        assert request.sequence is not None
        request.sequence.tokens += verdict.append
        if request.on_progress is not None:
            request.on_progress(request)

    def _expire(self) -> None:
        now = self.clock()
        for request in list(self._requests.values()):
            age = now - request.submitted_at
            wait_s, total_s = request.limits.wait_s, request.limits.total_s
            if request.admitted_at is None and wait_s is not None and age > wait_s:
                self._fail(request, RequestTimeoutError(f"waited {age:.1f} s; the limit is {wait_s:g} s"))
            elif total_s is not None and age > total_s:
                self._fail(request, RequestTimeoutError(f"took {age:.1f} s; the limit is {total_s:g} s"))

    def _finish(self, request: Request) -> None:
        self._forget(request)
        self.metrics.finished += 1
        request.on_done(request, None)

    def _fail(self, request: Request, error: InferenceError) -> None:
        self._forget(request)
        self.metrics.failed += 1
        request.on_done(request, error)

    def _forget(self, request: Request) -> None:
        request.done = True
        if request.sequence is not None and self._requests.pop(request.sequence.arrival, None) is not None:
            self.scheduler.remove(request.sequence)


def _is_finite(logits: torch.Tensor) -> bool:
    if not logits.numel():
        return True
    low, high = logits.aminmax()  # NaN if there is one; ten times faster than to look at each
    return math.isfinite(low) and math.isfinite(high)
