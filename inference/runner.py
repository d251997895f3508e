"""Runs one planned step on the model: page operations, the forward pass, and the logits that are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from inference.batch import ForwardBatch
from inference.choices import Targets
from inference.radix import ClearPage, PageOperation
from inference.scheduler import ScheduledRows
from kernels.attention import ROW_TILE, Attention, KVCache, SequenceRows

if TYPE_CHECKING:
    from inference.models.transformer import Transformer


HEAD_ROWS = 64
"""Rows whose logits of the whole vocabulary are held at once."""


class StepRunner(Protocol):
    """What the core needs of whoever computes: tests put a simulated model here."""

    def run(self, operations: Sequence[PageOperation], plan: Sequence[ScheduledRows]) -> Sequence[Any]:
        """Do the operations in order, then the step. Returns the states of what decides, in the plan's order: of the
        last token of each entry that is computed to its end, followed by those of its tree. What a state is, the core
        does not know."""

    def logits(self, states: Sequence[Any], targets: Sequence[Targets | None]) -> Sequence[Tensor]:
        """What is asked of each state: the logits of its targets or their log-probabilities, or, for None, the logits
        [vocab] of all tokens."""


class ModelRunner:
    """Owns the KV cache of one model. A state is the hidden row [hidden] after the final norm.

    With `pad_rows` off, row counts are left as they are, and the bits of a row may depend on how many there are.
    """

    def __init__(
        self, transformer: Transformer, cache: KVCache, attention: Attention, *, pad_rows: bool = True
    ) -> None:
        self.transformer = transformer
        self.cache = cache
        self.attention = attention
        self._tile = ROW_TILE if pad_rows else 1

    def close(self) -> None:
        """Let the KV cache go. No step can follow."""
        del self.cache

    def run(self, operations: Sequence[PageOperation], plan: Sequence[ScheduledRows]) -> list[Tensor]:
        with torch.inference_mode():
            self._do(operations)
            computing = [rows for rows in plan if rows.width]
            if not computing:
                return []
            batch, wanted = self._batch(computing)
            hidden = self.transformer.forward(batch, self.cache, self.attention)
            return [row.clone() for row in hidden[:wanted]]  # a row that is kept must not keep the others

    def logits(self, states: Sequence[Tensor], targets: Sequence[Targets | None]) -> list[Tensor]:
        with torch.inference_mode():
            asked = list(zip(states, targets, strict=True))
            whole = iter(self._whole([(state, t) for state, t in asked if t is None or t.normalised]))
            return [
                next(whole) if t is None or t.normalised else self.transformer.logits_of(state, t.tokens)
                for state, t in asked
            ]

    def _whole(self, asked: Sequence[tuple[Tensor, Targets | None]]) -> Iterator[Tensor]:
        """What takes the logits of the whole vocabulary, a few rows at a time: they are large."""
        for first in range(0, len(asked), HEAD_ROWS):
            block = asked[first : first + HEAD_ROWS]
            states = [state for state, _ in block]
            rows = self.transformer.logits(torch.stack(states + states[-1:] * (-len(states) % self._tile)))
            for row, (_, targets) in zip(rows, block, strict=False):
                if targets is None:
                    yield row
                else:
                    yield torch.log_softmax(row.double(), dim=0)[list(targets.tokens)]

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
            tree = [row.parent for row in rows.tree]
            sequences.append(SequenceRows(len(tokens), rows.count, rows.start, pages, tree))
            tokens += rows.sequence.tokens[rows.start : end]
            positions += range(rows.start, end)
            slots += [pages[p // page_size] * page_size + p % page_size for p in range(rows.start, end)]
            if rows.decides and rows.count:
                outputs.append(len(tokens) - 1)
            outputs += range(len(tokens), len(tokens) + len(tree))
            tokens += [row.token for row in rows.tree]
            positions += [end - 1 + row.depth for row in rows.tree]
            slots += [0] * len(tree)  # the null page
        wanted = len(outputs)
        padding = -len(tokens) % self._tile
        for column in (tokens, positions, slots):
            column += [0] * padding
        outputs += outputs[-1:] * (-wanted % self._tile)
        batch = ForwardBatch(
            token_ids=torch.tensor(tokens),
            positions=torch.tensor(positions),
            slots=torch.tensor(slots),
            output_rows=torch.tensor(outputs, dtype=torch.int64),
            attention=self.attention.plan(sequences, len(tokens), page_size),
        )
        return batch, wanted
