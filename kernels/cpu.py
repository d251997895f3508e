"""Attention over paged KV on the CPU, in batched matrix products.

The keys of a sequence are cut at page borders. Each cut gives a query row a partial result: the maximum score m, the
sum of weights l and the weighted values o, the weights being exp(score - m). Partial results of a row are merged in
position order:

    M = max m_j        out = sum_j exp(m_j - M) o_j / sum_j exp(m_j - M) l_j

A cut is computed once for all rows that read its page, whatever sequences they belong to: their queries are stacked
into one product. So a shared system prompt is read once a step, not once a sequence.

Part 0 is the null part: its weight is zero. Lists of parts are padded with it, so that no row reads another's.

A row gets the same bits in any company, because
- cuts lie at fixed positions, so who shares a page decides how many rows stand in a product and nothing else;
- products have a multiple of `Q_TILE` rows, at which a row's bits do not depend on how many there are;
- maxima are exact, and sums run in position order (`embedding_bag` adds the members of a bag one after the other).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from kernels.attention import Attention, SequenceRows

Q_TILE = 8
"""Query rows of a product are padded to a multiple of this; see ROW_TILE in kernels/attention.py."""

WIDE_WORK = 32
"""A run of neighbouring pages with the same readers is used in place when pages times readers reach this; the other
pages are gathered into one product. It moves work about and changes no bit."""


class _Wide(NamedTuple):
    """Neighbouring pages [first, last) read by the same token rows. `rows` int64 [tokens], padded."""

    first: int
    last: int
    rows: Tensor
    bias: Tensor | None  # float32 [last - first, 1, tokens, 1, page_size]: 0 or -inf; None where nothing is hidden


class _Narrow(NamedTuple):
    """Pages with few readers, all with `rows` padded to the same count."""

    pages: Tensor  # int64 [items]
    rows: Tensor  # int64 [items, tokens]
    bias: Tensor  # float32 [items, 1, tokens, 1, page_size]


@dataclass(frozen=True, slots=True)
class _Plan:
    wide: tuple[_Wide, ...]
    narrow: tuple[_Narrow, ...]
    parts: Tensor  # int64 [rows, slots]: where the partial results of a row lie, in position order, then null parts


def _ceil_to(n: int, tile: int) -> int:
    return -(-n // tile) * tile


class CpuAttention(Attention):
    """Attention for any dtype that torch multiplies on the CPU. Holds nothing between calls."""

    def plan(self, sequences: Sequence[SequenceRows], rows: int, page_size: int) -> _Plan:
        # Who reads which page: token rows in ascending order, and the position that each page starts at.
        readers: dict[int, list[int]] = defaultdict(list)
        start_of: dict[int, int] = {}
        position_of = [0] * rows
        path_of: list[list[tuple[int, int]]] = [[] for _ in range(rows)]  # pages of a row, its place among the readers
        for sequence in sequences:
            end = sequence.first_position + sequence.count
            for row in range(sequence.first_row, sequence.first_row + sequence.count):
                position_of[row] = sequence.first_position + row - sequence.first_row
            for cut in range(-(-end // page_size)):
                page = sequence.pages[cut]
                start_of[page] = cut * page_size
                skipped = max(0, cut * page_size - sequence.first_position)
                group = readers[page]
                for row in range(sequence.first_row + skipped, sequence.first_row + sequence.count):
                    path_of[row].append((page, len(group)))
                    group.append(row)

        first_part: dict[int, int] = {}  # the partial results of a page lie in a row, those of its readers in order
        size = 1
        wide: list[_Wide] = []
        few: dict[int, list[int]] = defaultdict(list)  # padded reader count -> pages
        for first, last, group in _runs(readers):
            if len(group) * (last - first) < WIDE_WORK:
                few[_ceil_to(len(group), Q_TILE)].extend(range(first, last))
                continue
            padded = _padded(group)
            for page in range(first, last):
                first_part[page] = size
                size += len(padded)
            starts = [start_of[page] for page in range(first, last)]
            positions = [position_of[row] for row in padded]
            hidden = max(starts) + page_size - 1 > min(positions)
            bias = _bias(starts, [positions] * len(starts), page_size) if hidden else None
            wide.append(_Wide(first, last, torch.tensor(padded), bias))

        narrow: list[_Narrow] = []
        for width, pages in sorted(few.items()):
            padded_rows = [_padded(readers[page]) for page in pages]
            for page in pages:
                first_part[page] = size
                size += width
            bias = _bias(
                [start_of[page] for page in pages],
                [[position_of[row] for row in rows_] for rows_ in padded_rows],
                page_size,
            )
            narrow.append(_Narrow(torch.tensor(pages), torch.tensor(padded_rows), bias))

        longest = max(map(len, path_of))
        parts = [[first_part[page] + i for page, i in path] + [0] * (longest - len(path)) for path in path_of]
        return _Plan(tuple(wide), tuple(narrow), torch.tensor(parts))

    def attend(self, q: Tensor, k_pages: Tensor, v_pages: Tensor, plan: _Plan) -> Tensor:
        rows, heads, head_dim = q.shape
        kv_heads = k_pages.shape[1]
        group = heads // kv_heads
        scaled = (q * (1.0 / math.sqrt(head_dim))).view(rows, kv_heads, group, head_dim)

        null = (q.new_full((1, heads), -torch.inf), q.new_zeros(1, heads), q.new_zeros(1, heads, head_dim))
        parts = [null]
        for item in plan.wide:
            stacked = scaled[item.rows][None].expand(item.last - item.first, -1, -1, -1, -1)
            k, v = k_pages[item.first : item.last], v_pages[item.first : item.last]
            parts.append(_partial(stacked, k, v, item.bias))
        for items in plan.narrow:
            stacked = scaled[items.rows]
            parts.append(_partial(stacked, k_pages[items.pages], v_pages[items.pages], items.bias))
        m, sums, o = (torch.cat(column) for column in zip(*parts, strict=True))  # [parts, heads, ...]

        m_row = m[plan.parts]  # [rows, slots, heads]
        top = m_row.amax(dim=1, keepdim=True).nan_to_num_(neginf=0.0)
        weights = torch.exp(m_row - top)
        # A bag for each (row, head): entries (part, head) in position order.
        head_index = torch.arange(heads)
        bags = (plan.parts[:, None, :] * heads + head_index[None, :, None]).reshape(rows * heads, -1)
        bag_weights = weights.transpose(1, 2).reshape(rows * heads, -1)
        total = _bag_sum(sums.reshape(-1, 1), bags, bag_weights)
        merged = _bag_sum(o.reshape(-1, head_dim), bags, bag_weights) / total.clamp_min(1e-30)
        return merged.view(rows, heads, head_dim)


def _runs(readers: dict[int, list[int]]) -> list[tuple[int, int, list[int]]]:
    """Neighbouring pages with equal readers, as (first, last + 1, readers), by page number."""
    runs: list[tuple[int, int, list[int]]] = []
    for page in sorted(readers):
        if runs and runs[-1][1] == page and runs[-1][2] == readers[page]:
            runs[-1] = (runs[-1][0], page + 1, readers[page])
        else:
            runs.append((page, page + 1, readers[page]))
    return runs


def _padded(group: list[int]) -> list[int]:
    """Rows repeated to a multiple of the tile; results of the repeats are not read."""
    return group + [group[-1]] * (_ceil_to(len(group), Q_TILE) - len(group))


def _bias(starts: list[int], positions: list[list[int]], page_size: int) -> Tensor:
    """-inf where a key lies after the query's position: [pages, 1, tokens, 1, page_size] for pages that start at
    `starts` and their readers' `positions`."""
    keys = torch.tensor(starts)[:, None] + torch.arange(page_size)  # [pages, page_size]
    hidden = keys[:, None, :] > torch.tensor(positions)[:, :, None]  # [pages, tokens, page_size]
    return torch.zeros(hidden.shape).masked_fill_(hidden, -torch.inf)[:, None, :, None, :]


def _partial(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """q [pages, tokens, kv_heads, group, d]; k, v [pages, kv_heads, page_size, d].

    Returns m and l [pages * tokens, heads], o [pages * tokens, heads, d].
    """
    pages, tokens, kv_heads, group, d = q.shape
    stacked = q.transpose(1, 2).reshape(pages * kv_heads, tokens * group, d)
    scores = torch.bmm(stacked, k.reshape(pages * kv_heads, -1, d).transpose(1, 2))
    if bias is not None:
        scores.view(pages, kv_heads, tokens, group, -1).add_(bias)
    m = scores.amax(dim=-1, keepdim=True)
    weights = scores.sub_(m).exp_()
    total = weights.sum(dim=-1)
    o = torch.bmm(weights, v.reshape(pages * kv_heads, -1, d))

    def by_token(x: Tensor) -> Tensor:
        x = x.reshape(pages, kv_heads, tokens, group, -1).transpose(1, 2)
        return x.reshape(pages * tokens, kv_heads * group, -1)

    return by_token(m)[..., 0], by_token(total)[..., 0], by_token(o)


def _bag_sum(values: Tensor, bags: Tensor, weights: Tensor) -> Tensor:
    """sum_j weights[i, j] * values[bags[i, j]], the members of a bag in order of j: [bags, width]."""
    offsets = torch.arange(0, bags.numel(), bags.shape[1])
    return embedding_bag(bags.reshape(-1), values, offsets, mode="sum", per_sample_weights=weights.reshape(-1))
