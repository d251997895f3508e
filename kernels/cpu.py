"""Attention over paged KV on the CPU: torch's flash kernel on fixed cuts, merged by log-sum-exp.

The keys of a sequence are cut at page borders. Each cut gives a query row a partial result: the attention o_j over the
keys of the cut alone, and s_j, the log of its sum of exponentials. Partial results are merged in position order:

    out = sum_j w_j o_j / sum_j w_j        w_j = exp(s_j - max_j s_j)

A cut is computed once for all rows that read its page, whatever sequences they belong to: their queries are stacked
into one product. So a shared system prompt is read once a step, not once a sequence.

A row gets the same bits in any company, because
- cuts lie at fixed positions, so who shares a page decides how many rows stand in a product and nothing else;
- products have a multiple of `Q_TILE` rows, at which a row's bits do not depend on how many there are;
- maxima are exact, and sums run in position order (`embedding_bag` adds the members of a bag one after the other).

The kernel's traps: a NaN behind the mask leaks, so a KVCache is finite everywhere; a row that sees no key reports 0 for
its log-sum-exp, so no row is given a page that begins after its position.
"""

from __future__ import annotations

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

WIDE_PAGES, WIDE_WORK = 4, 32
"""A run of neighbouring pages with the same readers is used in place if it has so many pages, or so many pages times
readers; the other pages are gathered into one product, which copies them. It moves work about and changes no bit."""


class _Wide(NamedTuple):
    """Neighbouring pages [first, last) read by the same query rows."""

    first: int
    last: int
    rows: Tensor  # int64 [queries], padded
    bias: Tensor | None  # float32 [last - first, 1, queries, page_size]: 0 or -inf; None where nothing is hidden


class _Narrow(NamedTuple):
    """Pages with few readers, all padded to the same number of query rows."""

    pages: Tensor  # int64 [items]
    rows: Tensor  # int64 [items, queries]
    bias: Tensor  # float32 [items, 1, queries, page_size]


@dataclass(frozen=True, slots=True)
class _Plan:
    wide: tuple[_Wide, ...]
    narrow: tuple[_Narrow, ...]
    bags: Tensor  # int64 [rows * heads, slots]: (part, kv_head) of a row's head in position order, then null parts


def _ceil_to(n: int, tile: int) -> int:
    return -(-n // tile) * tile


_APART = 1 << 32
"""Added to page numbers, once for each sequence, so that sequences that share a page do not share its product."""


class CpuAttention(Attention):
    """Attention for any dtype that torch multiplies on the CPU. Holds nothing between calls.

    The `heads` query heads of a token that share a KV head are query rows of one product. With `shared` off, a page
    that several sequences share is read for each of them alone: slower, and the same bits.
    """

    def __init__(self, heads: int, kv_heads: int, *, shared: bool = True) -> None:
        self.heads = heads
        self.kv_heads = kv_heads
        self.group = heads // kv_heads
        self.shared = shared

    def plan(self, sequences: Sequence[SequenceRows], rows: int, page_size: int) -> _Plan:
        # Who reads which page: token rows in ascending order, and the position that each page starts at.
        readers: dict[int, list[int]] = defaultdict(list)
        start_of: dict[int, int] = {}
        position_of = [0] * rows
        path_of: list[list[tuple[int, int]]] = [[] for _ in range(rows)]  # pages of a row, its place among the readers
        for index, sequence in enumerate(sequences):
            apart = 0 if self.shared else index * _APART
            end = sequence.first_position + sequence.count
            for row in range(sequence.first_row, sequence.first_row + sequence.count):
                position_of[row] = sequence.first_position + row - sequence.first_row
            for cut in range(-(-end // page_size)):
                page = sequence.pages[cut] + apart
                start_of[page] = cut * page_size
                skipped = max(0, cut * page_size - sequence.first_position)
                group = readers[page]
                for row in range(sequence.first_row + skipped, sequence.first_row + sequence.count):
                    path_of[row].append((page, len(group)))
                    group.append(row)
        query_positions = torch.tensor(position_of).repeat_interleave(self.group)

        first_part: dict[int, int] = {}  # the partial results of a page lie in a row, those of its readers in order
        size = 1
        wide: list[_Wide] = []
        few: dict[int, list[int]] = defaultdict(list)  # padded number of query rows -> pages
        for first, last, group in _runs(readers):
            width = _ceil_to(len(group) * self.group, Q_TILE)
            if last - first < WIDE_PAGES and len(group) * (last - first) < WIDE_WORK:
                few[width].extend(range(first, last))
                continue
            for page in range(first, last):
                first_part[page] = size
                size += width
            queries = self._queries([group], width)[0]
            starts = torch.tensor([start_of[page] for page in range(first, last)])
            positions = query_positions[queries]
            hidden = int(starts.max()) + page_size - 1 > int(positions.min())
            bias = _bias(starts, positions[None], page_size) if hidden else None
            wide.append(_Wide(first % _APART, (last - 1) % _APART + 1, queries, bias))

        narrow: list[_Narrow] = []
        for width, pages in sorted(few.items()):
            for page in pages:
                first_part[page] = size
                size += width
            queries = self._queries([readers[page] for page in pages], width)
            bias = _bias(torch.tensor([start_of[page] for page in pages]), query_positions[queries], page_size)
            narrow.append(_Narrow(torch.tensor(pages) % _APART, queries, bias))

        longest = max(map(len, path_of))
        none = -self.group  # so that every head of a null part is part 0
        firsts = [
            [first_part[page] + i * self.group for page, i in path] + [none] * (longest - len(path)) for path in path_of
        ]
        of_head = torch.arange(self.group).repeat(self.kv_heads)  # the query rows of a token, for each of its heads
        parts = (torch.tensor(firsts)[:, None, :] + of_head[None, :, None]).clamp_min_(0)
        kv_head = torch.arange(self.kv_heads).repeat_interleave(self.group)
        bags = (parts * self.kv_heads + kv_head[None, :, None]).flatten(0, 1)
        return _Plan(tuple(wide), tuple(narrow), bags)

    def attend(self, q: Tensor, k_pages: Tensor, v_pages: Tensor, plan: _Plan) -> Tensor:
        rows, heads, head_dim = q.shape
        queries = q.view(rows, self.kv_heads, self.group, head_dim).transpose(0, 1)
        queries = queries.reshape(self.kv_heads, rows * self.group, head_dim)

        null = (torch.full((1, self.kv_heads), -torch.inf), torch.zeros(1, self.kv_heads, head_dim))
        results = [null]
        for item in plan.wide:
            k, v = k_pages[item.first : item.last], v_pages[item.first : item.last]
            results.append(_attend(queries[:, item.rows].expand(len(k), -1, -1, -1), k, v, item.bias))
        for items in plan.narrow:
            stacked = queries[:, items.rows].transpose(0, 1)
            results.append(_attend(stacked, k_pages[items.pages], v_pages[items.pages], items.bias))
        log_sums, o = (torch.cat(column) for column in zip(*results, strict=True))  # [parts, kv_heads, ...]

        bags = plan.bags
        scores = log_sums.view(-1)[bags]
        weights = torch.exp(scores - scores.amax(dim=1, keepdim=True).nan_to_num_(neginf=0.0))
        merged = _bag_sum(o.view(-1, head_dim), bags, weights)
        total = _bag_sum(o.new_ones(o.shape[0] * self.kv_heads, 1), bags, weights)
        return (merged / total.clamp_min(1e-30)).view(rows, heads, head_dim).to(q.dtype)

    def _queries(self, groups: Sequence[list[int]], width: int) -> Tensor:
        """The query rows of each group of token rows, the last repeated to `width`: int64 [groups, width]. Results
        of the repeats are not read."""
        padded = [group + [group[-1]] * (-(-width // self.group) - len(group)) for group in groups]
        all_heads = torch.tensor(padded)[:, :, None] * self.group + torch.arange(self.group)
        return all_heads.flatten(1)[:, :width]


def _runs(readers: dict[int, list[int]]) -> list[tuple[int, int, list[int]]]:
    """Neighbouring pages with equal readers, as (first, last + 1, readers), by page number."""
    runs: list[tuple[int, int, list[int]]] = []
    for page in sorted(readers):
        if runs and runs[-1][1] == page and runs[-1][2] == readers[page]:
            runs[-1] = (runs[-1][0], page + 1, readers[page])
        else:
            runs.append((page, page + 1, readers[page]))
    return runs


def _bias(starts: Tensor, positions: Tensor, page_size: int) -> Tensor:
    """-inf where a key lies after the query's position, else 0: [pages, 1, queries, page_size] for pages that start at
    `starts` [pages] and `positions` [pages or 1, queries]."""
    keys = starts[:, None] + torch.arange(page_size)
    hidden = keys[:, None, :] > positions[:, :, None]
    return torch.zeros(hidden.shape).masked_fill_(hidden, -torch.inf)[:, None]


def _attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
    """q [pages, kv_heads, queries, d]; k, v [pages, kv_heads, page_size, d].

    Returns the partial results of each page in float32: the log-sum-exp [pages * queries, kv_heads] and the attention
    [pages * queries, kv_heads, d].
    """
    o, log_sums = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, attn_mask=bias)
    return log_sums.transpose(1, 2).flatten(0, 1), o.transpose(1, 2).flatten(0, 1).float()


def _bag_sum(values: Tensor, bags: Tensor, weights: Tensor) -> Tensor:
    """sum_j weights[i, j] * values[bags[i, j]], the members of a bag in order of j: [bags, width]."""
    offsets = torch.arange(0, bags.numel(), bags.shape[1])
    return embedding_bag(bags.reshape(-1), values, offsets, mode="sum", per_sample_weights=weights.reshape(-1))
