"""Attention over paged KV on the CPU: worked out once a step, computed once a layer by compiled loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernels.attention import Attention, KVCache, SequenceRows, lineage

NOTHING = torch.empty(0)


@dataclass(frozen=True, slots=True)
class _Plan:
    """int32 arrays, as `cpu_attention.attend` takes them."""

    pages: Any  # [sequences, longest]
    sequence_of: Any  # [rows]
    positions: Any  # [rows]
    order: Any  # [rows]
    lineage: Any  # [rows, deepest]


class CpuAttention(Attention):
    """Attention with sums in float32. Holds nothing between calls.

    With `shared` off, a page that several sequences share is read for each of them alone: slower, and the same bits.
    """

    def __init__(self, *, shared: bool = True) -> None:
        self.shared = shared

    @staticmethod
    @cache
    def prepare(dtype: torch.dtype = torch.float32) -> None:
        """Compile the loops for a KV cache of `dtype`, or load what an earlier run compiled, rather than in the first
        step."""
        pages, q = KVCache(1, 2, 1, 8, 8, dtype=dtype), torch.zeros(1, 1, 8)
        pages.write(0, torch.tensor([8]), q, q)
        attention = CpuAttention()
        attention.attend(q, q, q, pages, 0, attention.plan([SequenceRows(0, 1, 0, [1])], 1, 8))

    def plan(self, sequences: Sequence[SequenceRows], rows: int, page_size: int) -> _Plan:
        longest = max((len(sequence.pages) for sequence in sequences), default=0)
        pages = np.zeros((len(sequences), longest), np.int32)
        sequence_of = np.full(rows, -1, np.int32)
        positions = np.zeros(rows, np.int32)
        order: list[int] = []
        lines: dict[int, list[int]] = {}  # of the rows of trees
        # Sequences that share pages become neighbours, and so do their rows in the tiles.
        for index, sequence in sorted(enumerate(sequences), key=lambda item: list(item[1].pages)):
            pages[index, : len(sequence.pages)] = sequence.pages
            end = sequence.first_row + sequence.count
            if len(sequence.pages) * page_size < sequence.first_position + sequence.count:
                raise ValueError(
                    f"{len(sequence.pages)} pages of {page_size} tokens do not hold position "
                    f"{sequence.first_position + sequence.count - 1}"
                )
            positions[sequence.first_row : end] = np.arange(sequence.count) + sequence.first_position
            positions[end : end + len(sequence.tree)] = sequence.first_position + sequence.count - 1
            sequence_of[sequence.first_row : end + len(sequence.tree)] = index
            order += range(sequence.first_row, end + len(sequence.tree))
            for path in lineage(sequence.tree):
                lines[end + path[-1]] = [end + entry for entry in path]
        order += np.flatnonzero(sequence_of < 0).tolist()
        ancestors = np.full((rows, max(map(len, lines.values()), default=0)), -1, np.int32)
        for row, line in lines.items():
            ancestors[row, : len(line)] = line
        return _Plan(pages, sequence_of, positions, np.array(order, np.int32), ancestors)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, cache: KVCache, layer: int, plan: _Plan) -> Tensor:
        from kernels.cpu_attention import attend
        from kernels.vector import HAS_PAIRS

        queries = q.float().contiguous()
        fresh_k = fresh_v = queries  # nobody reads them
        if plan.lineage.size:
            fresh_k, fresh_v = (cache.as_held(x.float()).contiguous() for x in (k, v))
        all_k, all_v = cache.k[layer], cache.v[layer]
        if all_k.dtype == torch.bfloat16:  # pairs
            all_k, all_v = all_k.view(torch.int32).squeeze(-1), all_v.view(torch.int32).squeeze(-1)
        as_it_is = all_k.dtype == torch.float32 or (all_k.dtype == torch.int32 and HAS_PAIRS)
        flat_k, flat_v = (all_k.view(-1), all_v.view(-1)) if as_it_is else (NOTHING, NOTHING)
        k_scale, v_scale = cache.k_scale[layer], cache.v_scale[layer]
        out = torch.empty_like(queries)
        attend(
            queries.numpy(),
            fresh_k.numpy(),
            fresh_v.numpy(),
            all_k.numpy(),
            all_v.numpy(),
            None if k_scale is None else k_scale.numpy(),
            None if v_scale is None else v_scale.numpy(),
            flat_k.numpy(),
            flat_v.numpy(),
            plan.pages,
            plan.sequence_of,
            plan.positions,
            plan.order,
            plan.lineage,
            self.shared,
            out.numpy(),
            torch.get_num_threads(),
        )
        return out.to(q.dtype)
