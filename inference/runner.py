"""Runs one planned step on the model: page operations, the forward pass, and the logits that are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

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

    def run(self, operations: Sequence[PageOperation], plan: Sequence[ScheduledRows]) -> Sequence[Any]:
        """Do the operations in order, then the step. Returns the state of the last token of each entry that is
        computed to its end, in the plan's order; what a state is, the core does not know."""

    def logits(self, states: Sequence[Any], targets: Sequence[Sequence[int] | None]) -> Sequence[Tensor]:
        """float32 logits that follow from each state: those of the target tokens, or of all [vocab] for None."""


class ModelRunner:
    """Owns the KV cache of one model. A state is the hidden row [hidden] after the final norm."""

    def __init__(self, transformer: Transformer, cache: KVCache, attention: Attention) -> None:
        self.transformer = transformer
        self.cache = cache
        self.attention = attention

    def run(self, operations: Sequence[PageOperation], plan: Sequence[ScheduledRows]) -> list[Tensor]:
        with torch.inference_mode():
            self._do(operations)
            computing = [rows for rows in plan if rows.count]
            if not computing:
                return []
            batch, wanted = self._batch(computing)
            hidden = self.transformer.forward(batch, self.cache, self.attention)
            return [row.clone() for row in hidden[:wanted]]  # a row that is kept must not keep the others

    def logits(self, states: Sequence[Tensor], targets: Sequence[Sequence[int] | None]) -> list[Tensor]:
        with torch.inference_mode():
            whole = [state for state, tokens in zip(states, targets, strict=True) if tokens is None]
            padded = whole + whole[-1:] * (-len(whole) % ROW_TILE)
            every = iter(self.transformer.logits(torch.stack(padded)) if padded else ())
            return [
                next(every) if tokens is None else self.transformer.logits_of(state, tokens)
                for state, tokens in zip(states, targets, strict=True)
            ]

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
            if rows.decides:
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
