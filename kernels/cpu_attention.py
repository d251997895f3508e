"""The inner loops of attention on the CPU, compiled by numba.

A task is a tile of token rows and a KV head. It walks the keys of its rows in position order, a block at a time, and
keeps for every query row what a flash kernel keeps (Dao et al. 2022): the largest score so far, the sum of
exponentials, and the weighted sum of values. Neighbouring rows of a tile that read the same page read it together,
while it is in the first cache: that is what sharing a prefix is worth.

A row gets the same bits in any company. All that rows share is loads: products run along the head dimension and along
the block in order, each in an accumulator of its own, sums have a fixed shape, and blocks follow in position order.
Nothing depends on the tile, on who shares a page, or on the number of threads. For the rows of a tree, blocks are put
together as they would lie in a page if the row's line were all that there is: the bits are those of that sequence.

Products are taken in float32, or, where the cache holds bfloat16 and the processor multiplies it (`vector.HAS_PAIRS`),
in pairs of that: an int32 holds two neighbours, dimensions of a key or tokens of a value. Sums are float32 either way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange, types
from numba.extending import overload

from kernels.vector import BLOCK, COLUMNS, LOWEST, exponentials, from_bfloat16, make_panel, to_bfloat16

TILE = 16
"""Token rows of a task, or half as many where that leaves a thread without one."""

# A product and a sum may become one rounding, everywhere alike; nothing is reassociated.
_options = {"fastmath": {"contract", "nsz"}, "nogil": True, "cache": True}


_score_six, _score_three, _score_one = (make_panel(rows, apart=1, fresh=True) for rows in (6, 3, 1))
_add_six, _add_three, _add_one = (make_panel(rows, apart=BLOCK, fresh=False) for rows in (6, 3, 1))


@njit(**_options)
def _scores(s: Any, queries: Any, first: int, last: int, keys: Any, at: int, stride: int) -> None:
    """s[r] = queries[:, r] keys, for the rows first <= r < last; keys [head_dim, BLOCK], from a flat index on. With
    pairs, `dim` counts these."""
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
    width, length = acc.shape[1], BLOCK // _numbers(values)
    for left in range(0, width, COLUMNS):
        r = first
        while r + 6 <= last:
            _add_six(acc, r * width + left, width, s, r * BLOCK, 1, values, at + left, width, length)
            r += 6
        while r + 3 <= last:
            _add_three(acc, r * width + left, width, s, r * BLOCK, 1, values, at + left, width, length)
            r += 3
        while r < last:
            _add_one(acc, r * width + left, width, s, r * BLOCK, 1, values, at + left, width, length)
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
    weights: Any,
    acc: Any,
    highest: Any,
    total: Any,
) -> None:
    """Take a block of keys, at positions start .. start + length - 1, into the results of the query rows first .. last;
    each row sees those at positions below its limit. What is behind `length` in `values` must be finite. `weights` is
    the memory of the scores `s`, as what `values` holds."""
    _scores(s, queries, first, last, keys, key_at, key_stride)
    for r in range(first, last):
        before = highest[r]
        added = exponentials(weights, s, r * BLOCK, max(0, min(length, limits[r] - start)), highest, r)
        if highest[r] != before:
            shrink = np.float32(np.exp(before - highest[r]))
            total[r] *= shrink
            for d in range(acc.shape[1]):
                acc[r, d] *= shrink
        total[r] += added
    _add_values(acc, weights, first, last, values, value_at)


def _numbers(array: Any) -> Any:
    """In an element of the array."""
    raise NotImplementedError("compiled code only")


@overload(_numbers, inline="always")
def _compile_numbers(array: Any) -> Any:
    number = 2 if array.dtype == types.int32 else 1

    def constant(array: Any) -> Any:
        return number

    return constant


def _hold_queries(queries: Any, column: int, q: Any, row: int, head: int, scale: Any) -> Any:
    """queries[:, column] = q[row, head] * scale."""
    raise NotImplementedError("compiled code only")


@overload(_hold_queries)
def _compile_hold_queries(queries: Any, column: Any, q: Any, row: Any, head: Any, scale: Any) -> Any:
    def numbers(queries: Any, column: Any, q: Any, row: Any, head: Any, scale: Any) -> Any:
        for d in range(q.shape[2]):
            queries[d, column] = q[row, head, d] * scale

    def pairs(queries: Any, column: Any, q: Any, row: Any, head: Any, scale: Any) -> Any:
        for d in range(0, q.shape[2], 2):
            low, high = to_bfloat16(q[row, head, d] * scale), to_bfloat16(q[row, head, d + 1] * scale)
            queries[d // 2, column] = low | high << 16

    return pairs if queries.dtype == types.int32 else numbers


def _hold_token(keys: Any, values: Any, width: int, t: int, k: Any, v: Any) -> None:
    """Token t of a block, and nothing behind it in its pair: k and v float32 [head_dim] into flat keys [head_dim,
    BLOCK] and values [BLOCK, width]."""
    raise NotImplementedError("compiled code only")


@overload(_hold_token)
def _compile_hold_token(keys: Any, values: Any, width: Any, t: Any, k: Any, v: Any) -> Any:
    def numbers(keys: Any, values: Any, width: Any, t: Any, k: Any, v: Any) -> Any:
        for d in range(k.size):
            keys[d * BLOCK + t] = k[d]
            values[t * width + d] = v[d]

    def pairs(keys: Any, values: Any, width: Any, t: Any, k: Any, v: Any) -> Any:
        for d in range(0, k.size, 2):
            keys[d // 2 * BLOCK + t] = to_bfloat16(k[d]) | to_bfloat16(k[d + 1]) << 16
        for d in range(k.size):
            place, bits = t // 2 * width + d, to_bfloat16(v[d])
            values[place] = (values[place] & 0xFFFF) | bits << 16 if t % 2 else bits

    return pairs if keys.dtype == types.int32 else numbers


def _copy_block(
    k: Any, v: Any, k_scale: Any, v_scale: Any, page: int, kv_head: int, offset: int, length: int, keys: Any,
    values: Any, width: int,
) -> None:  # fmt: skip
    """`length` keys and values of a page, from `offset` on, to a block of their own: flat keys [head_dim, BLOCK] and
    values [BLOCK, width]."""
    raise NotImplementedError("compiled code only")


@overload(_copy_block)
def _compile_copy_block(
    k: Any, v: Any, k_scale: Any, v_scale: Any, page: Any, kv_head: Any, offset: Any, length: Any, keys: Any,
    values: Any, width: Any,
) -> Any:  # fmt: skip
    def as_they_are(
        k: Any, v: Any, k_scale: Any, v_scale: Any, page: Any, kv_head: Any, offset: Any, length: Any, keys: Any,
        values: Any, width: Any,
    ) -> Any:  # fmt: skip
        each = _numbers(v)
        for d in range(k.shape[2]):
            for t in range(length):
                keys[d * BLOCK + t] = k[page, kv_head, d, offset + t]
        for t in range(-(-length // each)):
            for d in range(v.shape[3]):
                values[t * width + d] = v[page, kv_head, offset // each + t, d]

    def widened(
        k: Any, v: Any, k_scale: Any, v_scale: Any, page: Any, kv_head: Any, offset: Any, length: Any, keys: Any,
        values: Any, width: Any,
    ) -> Any:  # fmt: skip
        for d in range(k.shape[2]):
            for t in range(length):
                pair = k[page, kv_head, d, offset + t]
                keys[2 * d * BLOCK + t] = from_bfloat16(pair)
                keys[(2 * d + 1) * BLOCK + t] = from_bfloat16(pair >> 16)
        for t in range(length):
            place = offset + t
            for d in range(v.shape[3]):
                values[t * width + d] = from_bfloat16(v[page, kv_head, place // 2, d] >> (16 if place % 2 else 0))

    def scaled(
        k: Any, v: Any, k_scale: Any, v_scale: Any, page: Any, kv_head: Any, offset: Any, length: Any, keys: Any,
        values: Any, width: Any,
    ) -> Any:  # fmt: skip
        for d in range(k.shape[2]):
            for t in range(length):
                keys[d * BLOCK + t] = np.float32(k[page, kv_head, d, offset + t]) * k_scale[page, kv_head, offset + t]
        for t in range(length):
            scale = v_scale[page, kv_head, offset + t]
            for d in range(v.shape[3]):
                values[t * width + d] = np.float32(v[page, kv_head, offset + t, d]) * scale

    if k.dtype == types.int8:
        return scaled
    return as_they_are if k.dtype == keys.dtype else widened


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
    dim, page_size = v.shape[3], k.shape[3]
    each = _numbers(flat_k)  # products are taken in what this holds
    width = -(-dim // COLUMNS) * COLUMNS
    kv_heads = k.shape[1]
    group = q.shape[1] // kv_heads
    count = rows.size
    size = count * group
    queries = np.empty((dim // each, size), flat_k.dtype)
    acc = np.zeros((size, width), np.float32)
    s = np.empty((size, BLOCK), np.float32)
    weights = s.view(flat_k.dtype)
    highest = np.full(size, np.float32(LOWEST), np.float32)
    total = np.zeros(size, np.float32)
    limits = np.zeros(size, np.int64)
    here, stride = np.int64(0), np.int64(BLOCK)  # as literals they would make two functions of `_block`
    in_place = flat_k.size and page_size % BLOCK == 0 and dim == width  # whole blocks are read where they are
    copied = 0 if in_place and not lineage.shape[1] else BLOCK
    keys = np.zeros(dim * copied // each, flat_k.dtype)
    values = np.zeros(copied * width // each, flat_k.dtype)
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
            _hold_queries(queries, i * group + j, q, rows[i], kv_head * group + j, scale)
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
                    at_keys = ((page * kv_heads + kv_head) * (dim // each)) * page_size + offset
                    at_values = ((page * kv_heads + kv_head) * page_size + offset) // each * dim
                    _block(
                        queries, flat_k, at_keys, page_size, flat_v, at_values, length, start, limits,
                        first, last, s, weights, acc, highest, total,
                    )  # fmt: skip
                else:
                    _copy_block(k, v, k_scale, v_scale, page, kv_head, offset, length, keys, values, width)
                    _block(
                        queries, keys, here, stride, values, here, length, start, limits,
                        first, last, s, weights, acc, highest, total,
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
                    _copy_block(k, v, k_scale, v_scale, page, kv_head, offset, held, keys, values, width)
                for t in range(held, min(length, known + depth - start)):
                    row = lineage[rows[i], start + t - known]
                    _hold_token(keys, values, width, t, fresh_k[row, kv_head], fresh_v[row, kv_head])
                used = max(0, min(length, known + depth - start))
                values[-(-used // each) * width :] = 0  # nothing of other rows, a NaN say
                first, last = i * group, (i + 1) * group
                for r in range(first, last):
                    limits[r] = known + depth
                _block(
                    queries, keys, here, stride, values, here, length, start, limits,
                    first, last, s, weights, acc, highest, total,
                )  # fmt: skip
                start += length
    for i in range(count):
        for j in range(group):
            r = i * group + j
            share = np.float32(1.0) / total[r] if sequence_of[rows[i]] >= 0 else np.float32(0.0)
            for d in range(dim):
                out[rows[i], kv_head * group + j, d] = acc[r, d] * share


def _store(k: Any, v: Any, slots: Any, all_k: Any, all_v: Any) -> None:
    raise NotImplementedError("compiled code only")


@overload(_store)
def _compile_store(k: Any, v: Any, slots: Any, all_k: Any, all_v: Any) -> Any:
    def numbers(k: Any, v: Any, slots: Any, all_k: Any, all_v: Any) -> None:
        page_size = all_k.shape[3]
        for row in range(slots.size):
            page, offset = slots[row] // page_size, slots[row] % page_size
            for head in range(k.shape[1]):
                for d in range(k.shape[2]):
                    all_k[page, head, d, offset] = k[row, head, d]
                    all_v[page, head, offset, d] = v[row, head, d]

    def halves(k: Any, v: Any, slots: Any, all_k: Any, all_v: Any) -> None:
        page_size = all_k.shape[3]
        for row in range(slots.size):
            page, offset = slots[row] // page_size, slots[row] % page_size
            for head in range(k.shape[1]):
                for d in range(k.shape[2]):
                    all_k[page, head, d // 2, offset, d % 2] = to_bfloat16(k[row, head, d])
                    all_v[page, head, offset // 2, d, offset % 2] = to_bfloat16(v[row, head, d])

    return numbers if all_k.dtype == types.float32 else halves


@njit(**_options)
def store(k: Any, v: Any, slots: Any, all_k: Any, all_v: Any) -> None:
    """`KVCache.write` for one layer in float32, or in bfloat16 given as int16: some ten times as fast as by torch's
    indexing."""
    _store(k, v, slots, all_k, all_v)


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
    kv_heads, page_size], else None. k and v may be pairs, of dimensions and of tokens: half as many. Those that are not
    multiplied as they are have empty float32 flat_k and flat_v. int32: pages [sequences, longest], sequence_of
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
