"""The inner loops of attention on the CPU, compiled by numba.

A task is a tile of token rows and a KV head. It walks the keys of its rows in position order, a block at a time, and
keeps for every query row what a flash kernel keeps (Dao et al. 2022): the largest score so far, the sum of
exponentials, and the weighted sum of values. Neighbouring rows of a tile that read the same page read it together,
while it is in the first cache: that is what sharing a prefix is worth.

A row gets the same bits in any company. All that rows share is loads: products run along the head dimension and along
the block in order, each in an accumulator of its own, sums have a fixed shape, and blocks follow in position order.
Nothing depends on the tile, on who shares a page, or on the number of threads. For the rows of a tree, blocks are put
together as they would lie in a page if the row's line were all that there is: the bits are those of that sequence.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from kernels.vector import BLOCK, COLUMNS, LOWEST, exponentials, make_panel

TILE = 16
"""Token rows of a task, or half as many where that leaves a thread without one."""

# A product and a sum may become one rounding, everywhere alike; nothing is reassociated.
_options = {"fastmath": {"contract", "nsz"}, "nogil": True, "cache": True}


_score_six, _score_three, _score_one = (make_panel(rows, apart=1, fresh=True) for rows in (6, 3, 1))
_add_six, _add_three, _add_one = (make_panel(rows, apart=BLOCK, fresh=False) for rows in (6, 3, 1))


@njit(**_options)
def _scores(s: Any, queries: Any, first: int, last: int, keys: Any, at: int, stride: int) -> None:
    """s[r] = queries[:, r] keys, for the rows first <= r < last; keys [head_dim, BLOCK], from a flat index on."""
    dim, size = queries.shape
    for left in range(0, BLOCK, COLUMNS):
        r = first
        while r + 6 <= last:
            _score_six(s, r * BLOCK + left, BLOCK, queries, r, size, keys, at + left, stride, dim)
            r += 6
        while r + 3 <= last:
            _score_three(s, r * BLOCK + left, BLOCK, queries, r, size, keys, at + left, stride, dim)
            r += 3
        while r < last:
            _score_one(s, r * BLOCK + left, BLOCK, queries, r, size, keys, at + left, stride, dim)
            r += 1


@njit(**_options)
def _add_values(acc: Any, s: Any, first: int, last: int, values: Any, at: int) -> None:
    """acc[r] += s[r] values, for the rows first <= r < last; values [BLOCK, acc's width], from a flat index on."""
    width = acc.shape[1]
    for left in range(0, width, COLUMNS):
        r = first
        while r + 6 <= last:
            _add_six(acc, r * width + left, width, s, r * BLOCK, 1, values, at + left, width, BLOCK)
            r += 6
        while r + 3 <= last:
            _add_three(acc, r * width + left, width, s, r * BLOCK, 1, values, at + left, width, BLOCK)
            r += 3
        while r < last:
            _add_one(acc, r * width + left, width, s, r * BLOCK, 1, values, at + left, width, BLOCK)
            r += 1


@njit(**_options)
def _block(
    queries: Any,
    keys: Any,
    key_at: int,
    key_stride: int,
    values: Any,
    value_at: int,
    length: int,
    start: int,
    limits: Any,
    first: int,
    last: int,
    s: Any,
    acc: Any,
    highest: Any,
    total: Any,
) -> None:
    """Take a block of keys, at positions start .. start + length - 1, into the results of the query rows first .. last;
    each row sees those at positions below its limit. What is behind `length` in `values` must be finite."""
    _scores(s, queries, first, last, keys, key_at, key_stride)
    for r in range(first, last):
        before = highest[r]
        added = exponentials(s, r * BLOCK, max(0, min(length, limits[r] - start)), highest, r)
        if highest[r] != before:
            shrink = np.float32(np.exp(before - highest[r]))
            total[r] *= shrink
            for d in range(acc.shape[1]):
                acc[r, d] *= shrink
        total[r] += added
    _add_values(acc, s, first, last, values, value_at)


@njit(**_options)
def _copy_block(
    k: Any,
    v: Any,
    k_scale: Any,
    v_scale: Any,
    page: int,
    kv_head: int,
    offset: int,
    length: int,
    keys: Any,
    values: Any,
) -> None:
    """`length` keys and values of a page, from `offset` on, in float32 to a block of their own: flat keys
    [head_dim, BLOCK] and values [BLOCK, width]."""
    dim, width = v.shape[3], values.size // BLOCK
    if k_scale is None:  # settled when this is compiled
        for d in range(dim):
            for t in range(length):
                keys[d * BLOCK + t] = k[page, kv_head, d, offset + t]
        for t in range(length):
            for d in range(dim):
                values[t * width + d] = v[page, kv_head, offset + t, d]
    else:
        for d in range(dim):
            for t in range(length):
                keys[d * BLOCK + t] = np.float32(k[page, kv_head, d, offset + t]) * k_scale[page, kv_head, offset + t]
        for t in range(length):
            scale = v_scale[page, kv_head, offset + t]
            for d in range(dim):
                values[t * width + d] = np.float32(v[page, kv_head, offset + t, d]) * scale


@njit(**_options)
def _tile(
    q: Any,
    fresh_k: Any,
    fresh_v: Any,
    k: Any,
    v: Any,
    k_scale: Any,
    v_scale: Any,
    flat_k: Any,
    flat_v: Any,
    pages: Any,
    sequence_of: Any,
    positions: Any,
    rows: Any,
    lineage: Any,
    shared: bool,
    kv_head: int,
    out: Any,
) -> None:
    """One task: the token rows `rows`, for the query heads of one KV head."""
    dim, page_size = v.shape[3], v.shape[2]
    width = -(-dim // COLUMNS) * COLUMNS
    kv_heads = k.shape[1]
    group = q.shape[1] // kv_heads
    count = rows.size
    size = count * group
    queries = np.empty((dim, size), np.float32)
    acc = np.zeros((size, width), np.float32)
    s = np.empty((size, BLOCK), np.float32)
    highest = np.full(size, np.float32(LOWEST), np.float32)
    total = np.zeros(size, np.float32)
    limits = np.zeros(size, np.int64)
    here, stride = np.int64(0), np.int64(BLOCK)  # as literals they would make two functions of `_block`
    in_place = flat_k.size and page_size % BLOCK == 0 and dim == width  # whole blocks are read where they are
    copied = 0 if in_place and not lineage.shape[1] else BLOCK
    keys = np.zeros(dim * copied, np.float32)
    values = np.zeros(copied * width, np.float32)
    scale = np.float32(1.0 / np.sqrt(dim))
    longest = 0
    for i in range(count):
        limit = 0
        if sequence_of[rows[i]] >= 0:
            limit = positions[rows[i]] + 1
            if lineage.shape[1] and lineage[rows[i], 0] >= 0:
                # The block in which its tree begins is put together below.
                offset = limit % page_size
                limit -= offset - offset // BLOCK * BLOCK
        longest = max(longest, -(-limit // page_size))
        for j in range(group):
            limits[i * group + j] = limit
            for d in range(dim):
                queries[d, i * group + j] = q[rows[i], kv_head * group + j, d] * scale
    for at in range(longest):
        begin = 0
        while begin < count:
            if limits[begin * group] <= at * page_size:
                begin += 1
                continue
            sequence = sequence_of[rows[begin]]
            page = pages[sequence, at]
            end = begin + 1
            while end < count and limits[end * group] > at * page_size:
                other = sequence_of[rows[end]]
                if pages[other, at] != page or (other != sequence and not shared):
                    break
                end += 1
            first, last = begin * group, end * group
            for offset in range(0, page_size, BLOCK):
                length = min(BLOCK, page_size - offset)
                start = at * page_size + offset
                if in_place:
                    at_keys = ((page * kv_heads + kv_head) * dim) * page_size + offset
                    at_values = ((page * kv_heads + kv_head) * page_size + offset) * dim
                    _block(
                        queries, flat_k, at_keys, page_size, flat_v, at_values, length, start, limits,
                        first, last, s, acc, highest, total,
                    )  # fmt: skip
                else:
                    _copy_block(k, v, k_scale, v_scale, page, kv_head, offset, length, keys, values)
                    _block(
                        queries, keys, here, stride, values, here, length, start, limits,
                        first, last, s, acc, highest, total,
                    )  # fmt: skip
            begin = end
    if lineage.shape[1]:
        for i in range(count):
            start = limits[i * group]
            known = positions[rows[i]] + 1
            depth = 0
            while depth < lineage.shape[1] and lineage[rows[i], depth] >= 0:
                depth += 1
            while depth and start < known + depth:
                offset = start % page_size
                length = min(BLOCK, page_size - offset)
                held = max(0, min(length, known - start))
                if held:
                    page = pages[sequence_of[rows[i]], start // page_size]
                    _copy_block(k, v, k_scale, v_scale, page, kv_head, offset, held, keys, values)
                for t in range(held, min(length, known + depth - start)):
                    row = lineage[rows[i], start + t - known]
                    for d in range(dim):
                        keys[d * BLOCK + t] = fresh_k[row, kv_head, d]
                        values[t * width + d] = fresh_v[row, kv_head, d]
                values[max(0, min(length, known + depth - start)) * width :] = 0.0  # nothing of other rows, a NaN say
                first, last = i * group, (i + 1) * group
                for r in range(first, last):
                    limits[r] = known + depth
                _block(
                    queries, keys, here, stride, values, here, length, start, limits,
                    first, last, s, acc, highest, total,
                )  # fmt: skip
                start += length
    for i in range(count):
        for j in range(group):
            r = i * group + j
            share = np.float32(1.0) / total[r] if sequence_of[rows[i]] >= 0 else np.float32(0.0)
            for d in range(dim):
                out[rows[i], kv_head * group + j, d] = acc[r, d] * share


@njit(**_options)
def store(k: Any, v: Any, slots: Any, all_k: Any, all_v: Any) -> None:
    """`KVCache.write` for one layer in float32: some ten times as fast as by torch's indexing."""
    page_size = all_v.shape[2]
    for row in range(slots.size):
        page, offset = slots[row] // page_size, slots[row] % page_size
        for head in range(k.shape[1]):
            for d in range(k.shape[2]):
                all_k[page, head, d, offset] = k[row, head, d]
                all_v[page, head, offset, d] = v[row, head, d]


@njit(parallel=True, **_options)
def attend(
    q: Any,
    fresh_k: Any,
    fresh_v: Any,
    k: Any,
    v: Any,
    k_scale: Any,
    v_scale: Any,
    flat_k: Any,
    flat_v: Any,
    pages: Any,
    sequence_of: Any,
    positions: Any,
    order: Any,
    lineage: Any,
    shared: bool,
    out: Any,
    threads: int,
) -> None:
    """out = softmax(q k^T / sqrt(head_dim)) v, for each row over the keys at positions 0 .. its own.

    q, out [rows, heads, head_dim]; k [pages, kv_heads, head_dim, page_size]; v [pages, kv_heads, page_size, head_dim];
    float32, contiguous; flat_k and flat_v the same, flat. If k and v are int8, k_scale and v_scale are float32 [pages,
    kv_heads, page_size], else None, and flat_k and flat_v are empty. int32: pages [sequences, longest], sequence_of
    [rows], negative for padding, whose output is zero; positions [rows]; order [rows]: the rows as they are put into
    tiles; lineage [rows, deepest]: rows whose fresh_k and fresh_v [rows, kv_heads, head_dim] are read after the pages,
    filled up with -1. With `shared` False, rows of different sequences never read a page together. `out` must not
    overlap `q`.
    """
    size = TILE if order.size >= TILE * threads else TILE // 2
    tiles = -(-order.size // size)
    for thread in prange(threads):
        # All tiles of a KV head one after the other: its pages are still in the second cache.
        for task in range(thread, tiles * k.shape[1], threads):
            first = task % tiles * size
            rows = order[first : first + size]
            kv_head = np.int64(task // tiles)  # numbers of parallel loops are unsigned
            _tile(
                q, fresh_k, fresh_v, k, v, k_scale, v_scale, flat_k, flat_v, pages, sequence_of, positions, rows,
                lineage, shared, kv_head, out,
            )  # fmt: skip
