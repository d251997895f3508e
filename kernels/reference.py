"""Attention from its formula, in float64, one query row and one head at a time.

Slow on purpose. The tests hold every other implementation to it, so it shares no helper with them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from kernels.attention import Attention, KVCache, SequenceRows, lineage


class ReferenceAttention(Attention):
    """softmax(q k^T / sqrt(d)) v over the keys at positions 0..p of the row's own sequence."""

    def plan(self, sequences: Sequence[SequenceRows], rows: int, page_size: int) -> tuple[SequenceRows, ...]:
        return tuple(sequences)

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, cache: KVCache, layer: int, plan: Sequence[SequenceRows]
    ) -> Tensor:
        heads, head_dim = q.shape[1], q.shape[2]
        k_pages, v_pages = cache.keys(layer), cache.values(layer)
        k, v = cache.as_held(k), cache.as_held(v)
        kv_heads, page_size = k_pages.shape[1], k_pages.shape[2]
        out = torch.zeros(q.shape, dtype=torch.float64)
        for sequence in plan:
            end = sequence.first_row + sequence.count
            paths: list[list[int]] = [[] for _ in range(sequence.count)]
            paths += [[end + entry for entry in path] for path in lineage(sequence.tree)]
            for i, path in enumerate(paths):
                row = sequence.first_row + i
                position = sequence.first_position + min(i, sequence.count - 1)
                for head in range(heads):
                    kv_head = head // (heads // kv_heads)
                    keys, values = [], []
                    for p in range(position + 1):
                        page = sequence.pages[p // page_size]
                        keys.append(k_pages[page, kv_head, p % page_size].double())
                        values.append(v_pages[page, kv_head, p % page_size].double())
                    keys += [k[other, kv_head].double() for other in path]
                    values += [v[other, kv_head].double() for other in path]
                    scores = torch.stack(keys) @ q[row, head].double() / math.sqrt(head_dim)
                    weights = torch.exp(scores - scores.max())
                    out[row, head] = (weights / weights.sum()) @ torch.stack(values)
        return out.to(q.dtype)
