"""Looks at every step that an engine takes: tokens forwarded twice, and how much of the KV memory is put to use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from inference.choices import Targets
from inference.radix import PageOperation
from inference.runner import StepRunner
from inference.scheduler import ScheduledRows

if TYPE_CHECKING:
    from torch import Tensor


class Observer:
    """A StepRunner around another.

    `duplicates` counts tokens that were forwarded although the same token after the same prefix had been before. Sums
    over steps: `tokens` held by the sequences of the step, `paged` token places of the distinct pages that hold them,
    `contiguous` places that a server without paging sets aside for them, `context_length` a sequence.
    """

    def __init__(self, inner: StepRunner, *, page_size: int, context_length: int) -> None:
        self._inner = inner
        self._page_size = page_size
        self._context_length = context_length
        self._seen: set[int] = set()
        self._prefix: WeakKeyDictionary[object, list[int]] = WeakKeyDictionary()
        self.duplicates = 0
        self.tokens = 0
        self.distinct_tokens = 0
        self.paged = 0
        self.contiguous = 0

    def run(self, operations: Sequence[PageOperation], plan: Sequence[ScheduledRows]) -> Sequence[Any]:
        pages: dict[int, int] = {}  # page -> tokens in it
        for rows in plan:
            self._count(rows)
            assert rows.sequence.branch is not None
            pages.update((node.page, len(node.tokens)) for node in rows.sequence.branch.nodes)
            self.tokens += rows.start + rows.count
        self.distinct_tokens += sum(pages.values())
        self.paged += len(pages) * self._page_size
        self.contiguous += len(plan) * self._context_length
        return self._inner.run(operations, plan)

    def logits(self, states: Sequence[Any], targets: Sequence[Targets | None]) -> Sequence[Tensor]:
        return self._inner.logits(states, targets)

    def reset(self) -> None:
        """Start the sums again; what was forwarded before is still known."""
        self.duplicates = self.tokens = self.distinct_tokens = self.paged = self.contiguous = 0

    @property
    def paged_waste(self) -> float:
        """Share of the places in used pages that hold no token."""
        return 1.0 - self.distinct_tokens / self.paged if self.paged else 0.0

    @property
    def contiguous_waste(self) -> float:
        """The same, if every sequence had its whole context set aside, and shared nothing."""
        return 1.0 - self.tokens / self.contiguous if self.contiguous else 0.0

    def _count(self, rows: ScheduledRows) -> None:
        # Hashes of every prefix of the sequence, as far as they were needed: index i stands for the first i tokens.
        hashes = self._prefix.setdefault(rows.sequence, [0])
        end = rows.start + rows.count
        for token in rows.sequence.tokens[len(hashes) - 1 : end]:
            hashes.append(hash((hashes[-1], token)))
        for prefix in hashes[rows.start + 1 : end + 1]:
            if prefix in self._seen:
                self.duplicates += 1
            else:
                self._seen.add(prefix)
