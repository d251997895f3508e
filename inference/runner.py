"""Runs one planned step on the model: page operations, the forward pass, the logits that were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from inference.batch import ForwardBatch
from inference.radix import ClearPage, PageOperation
from inference.scheduler import ScheduledRows
from kernels.attention import ROW_TILE, Attention, KVCache, SequenceRows

if TYPE_CHECKING:
    from inference.models.transformer import Transformer


class StepRunner(Protocol):
    """What the core needs of whoever computes: tests put a simulated model here."""

    def run(self, operations: Sequence[PageOperation], plan: Sequence[ScheduledRows]) -> Sequence[Tensor]:
        """Do the operations in order, then the step. Returns logits [vocab] for each entry that wants them, in the
        plan's order."""


class ModelRunner:
    """Owns the KV cache of one model."""

    def __init__(self, transformer: Transformer, cache: KVCache, attention: Attention) -> None:
        self.transformer = transformer
        self.cache = cache
        self.attention = attention

    def run(self, operations: Sequence[PageOperation], plan: Sequence[ScheduledRows]) -> list[Tensor]:
        with torch.inference_mode():
            self._do(operations)
            batch, wanted = self._batch(plan)
            hidden = self.transformer.forward(batch, self.cache, self.attention)
            return list(self.transformer.logits(hidden)[:wanted]) if wanted else []

    def _do(self, operations: Sequence[PageOperation]) -> None:
        for operation in operations:
            if isinstance(operation, ClearPage):
                self.cache.clear_page(operation.page)
            else:
                self.cache.copy_page(operation.source, operation.target, operation.tokens)

    def _batch(self, plan: Sequence[ScheduledRows]) -> tuple[ForwardBatch, int]:
        """The step as tensors, and the number of outputs before padding."""
        page_size = self.cache.page_size
        tokens: list[int] = []
        positions: list[int] = []
        slots: list[int] = []
        outputs: list[int] = []
        sequences: list[SequenceRows] = []
        for rows in plan:
            branch = rows.sequence.branch
            assert branch is not None
            pages = branch.pages
            end = rows.start + rows.count
            sequences.append(SequenceRows(len(tokens), rows.count, rows.start, pages))
            tokens += rows.sequence.tokens[rows.start : end]
            positions += range(rows.start, end)
            slots += [pages[p // page_size] * page_size + p % page_size for p in range(rows.start, end)]
            if rows.wants_logits:
                outputs.append(len(tokens) - 1)
        wanted = len(outputs)
        padding = -len(tokens) % ROW_TILE
        for column in (tokens, positions, slots):
            column += [0] * padding
        outputs += outputs[-1:] * (-wanted % ROW_TILE)
        batch = ForwardBatch(
            token_ids=torch.tensor(tokens),
            positions=torch.tensor(positions),
            slots=torch.tensor(slots),
            output_rows=torch.tensor(outputs, dtype=torch.int64),
            attention=self.attention.plan(sequences, len(tokens), page_size),
        )
        return batch, wanted
