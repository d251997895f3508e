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

TILE = 8
"""Token rows of a task."""

BLOCK = 64
"""Keys worked on at once; a page is one block or more, the last one filled up. Loops over a whole block have a constant
length, which unrolls them: 1.4 times as fast."""

LOWEST = np.float32(-1e30)
"""A score below all others, and finite, so that differences are."""

# A product and a sum may become one rounding, everywhere alike; nothing is reassociated.
_options = {"fastmath": {"contract", "nsz"}, "nogil": True, "cache": True}


@njit(inline="always", **_options)
def _scores(q: Any, keys: Any, offset: int, s: Any, first: int, last: int, spare: int, dim: int, count: int) -> None:
    """s[r, :count] = q[r] keys[:, offset:][:count] for first <= r < last, two rows at a time; `spare` is scratch."""
    for r in range(first, last, 2):
        other = r + 1 if r + 1 < last else spare
        for t in range(count):
            s[r, t] = np.float32(0.0)
            s[other, t] = np.float32(0.0)
        for d in range(0, dim, 4):
            a0, a1, a2, a3 = q[r, d], q[r, d + 1], q[r, d + 2], q[r, d + 3]
            b0, b1, b2, b3 = q[other, d], q[other, d + 1], q[other, d + 2], q[other, d + 3]
            for t in range(count):
                k0, k1 = keys[d, offset + t], keys[d + 1, offset + t]
                k2, k3 = keys[d + 2, offset + t], keys[d + 3, offset + t]
                s[r, t] = (((s[r, t] + a0 * k0) + a1 * k1) + a2 * k2) + a3 * k3
                s[other, t] = (((s[other, t] + b0 * k0) + b1 * k1) + b2 * k2) + b3 * k3


@njit(inline="always", **_options)
def _add_values(
    s: Any, values: Any, offset: int, acc: Any, first: int, last: int, spare: int, dim: int, count: int
) -> None:
    """acc[r] += s[r, :count] values[offset:][:count] for first <= r < last, two rows at a time."""
    fours = count // 4 * 4
    for r in range(first, last, 2):
        other = r + 1 if r + 1 < last else spare
        for t in range(0, fours, 4):
            a0, a1, a2, a3 = s[r, t], s[r, t + 1], s[r, t + 2], s[r, t + 3]
            b0, b1, b2, b3 = s[other, t], s[other, t + 1], s[other, t + 2], s[other, t + 3]
            at = offset + t
            for d in range(dim):
                v0, v1, v2, v3 = values[at, d], values[at + 1, d], values[at + 2, d], values[at + 3, d]
                acc[r, d] = (((acc[r, d] + a0 * v0) + a1 * v1) + a2 * v2) + a3 * v3
                acc[other, d] = (((acc[other, d] + b0 * v0) + b1 * v1) + b2 * v2) + b3 * v3
        for t in range(fours, count):
            a0, b0 = s[r, t], s[other, t]
            for d in range(dim):
                acc[r, d] += a0 * values[offset + t, d]
                acc[other, d] += b0 * values[offset + t, d]


@njit(**_options)
def _softmax(s: Any, r: int, seen: int, highest: np.float32, floats: Any, bits: Any) -> Any:
    """Turn s[r, :seen] into exp(s - max) and the rest of the block into 0.

    The maximum includes `highest`. `floats` and `bits` are one memory of BLOCK words. Returns the maximum and the sum.

    exp(x) = 2^n e^y with n = round(x / ln 2): e^y by the polynomial of Cephes' expf, 2^n by its exponent bits. Adding
    1.5 * 2^23 to a float rounds it and leaves the whole number in its low bits.
    """
    for t in range(seen, BLOCK):
        s[r, t] = LOWEST
    for t in range(32):
        floats[t] = s[r, t + 32] if s[r, t + 32] > s[r, t] else s[r, t]
    for t in range(16):
        floats[t] = floats[t + 16] if floats[t + 16] > floats[t] else floats[t]
    for t in range(8):
        floats[t] = floats[t + 8] if floats[t + 8] > floats[t] else floats[t]
    for t in range(8):
        highest = floats[t] if floats[t] > highest else highest
    for t in range(BLOCK):
        x = s[r, t] - highest
        x = np.float32(-87.0) if x < np.float32(-87.0) else x  # a NaN stays one
        shifted = x * np.float32(1.44269504) + np.float32(12582912.0)
        floats[t] = shifted
        n = shifted - np.float32(12582912.0)
        y = (x - n * np.float32(0.693359375)) + n * np.float32(2.12194440e-4)
        z = np.float32(1.9875691500e-4)
        z = z * y + np.float32(1.3981999507e-3)
        z = z * y + np.float32(8.3334519073e-3)
        z = z * y + np.float32(4.1665795894e-2)
        z = z * y + np.float32(1.6666665459e-1)
        z = z * y + np.float32(5.0000001201e-1)
        s[r, t] = ((z * y) * y + y) + np.float32(1.0)
    for t in range(BLOCK):
        bits[t] = (bits[t] << 23) + np.int32(127 << 23)
    for t in range(BLOCK):
        s[r, t] = s[r, t] * floats[t]
    for t in range(seen, BLOCK):
        s[r, t] = np.float32(0.0)
    for t in range(32):
        floats[t] = s[r, t] + s[r, t + 32]
    for t in range(16):
        floats[t] += floats[t + 16]
    for t in range(8):
        floats[t] += floats[t + 8]
    total = np.float32(0.0)
    for t in range(8):
        total += floats[t]
    return highest, total


@njit(inline="always", **_options)
def _block(
    queries: Any,
    keys: Any,
    values: Any,
    offset: int,
    length: int,
    start: int,
    limits: Any,
    first: int,
    last: int,
    s: Any,
    acc: Any,
    highest: Any,
    total: Any,
    floats: Any,
    bits: Any,
) -> None:
    """Take a block of keys, at positions start .. start + length - 1, into the results of the query rows first .. last;
    each row sees those at positions below its limit. `keys` and `values` have them at `offset`."""
    dim = queries.shape[1]
    spare = highest.size
    if length == BLOCK:
        _scores(queries, keys, offset, s, first, last, spare, dim, BLOCK)
    else:
        _scores(queries, keys, offset, s, first, last, spare, dim, length)
    for r in range(first, last):
        before = highest[r]
        highest[r], added = _softmax(s, r, max(0, min(length, limits[r] - start)), before, floats, bits)
        shrink = np.float32(np.exp(before - highest[r]))
        total[r] = total[r] * shrink + added
        for d in range(dim):
            acc[r, d] *= shrink
    if dim == 64:
        _add_values(s, values, offset, acc, first, last, spare, 64, length)
    else:
        _add_values(s, values, offset, acc, first, last, spare, dim, length)


@njit(**_options)
def _tile(
    q: Any,
    fresh_k: Any,
    fresh_v: Any,
    k: Any,
    v: Any,
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
    group = q.shape[1] // k.shape[1]
    count = rows.size
    spare = count * group
    queries = np.zeros((spare + 1, dim), np.float32)
    acc = np.zeros((spare + 1, dim), np.float32)
    s = np.empty((spare + 1, BLOCK), np.float32)
    highest = np.full(spare, LOWEST, np.float32)
    total = np.zeros(spare, np.float32)
    limits = np.zeros(spare, np.int64)
    floats = np.empty(BLOCK, np.float32)
    bits = floats.view(np.int32)
    scale = np.float32(1.0 / np.sqrt(dim))
    longest = 0
    for i in range(count):
        limit = 0
        if sequence_of[rows[i]] >= 0:
            limit = positions[rows[i]] + 1
            if (
                lineage.shape[1] and lineage[rows[i], 0] >= 0
            ):  # the block in which its tree begins is put together below
                offset = limit % page_size
                limit -= offset - offset // BLOCK * BLOCK
        longest = max(longest, -(-limit // page_size))
        for j in range(group):
            limits[i * group + j] = limit
            for d in range(dim):
                queries[i * group + j, d] = q[rows[i], kv_head * group + j, d] * scale
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
            for offset in range(0, page_size, BLOCK):
                length = min(BLOCK, page_size - offset)
                start = at * page_size + offset
                first, last = begin * group, end * group
                keys, values = k[page, kv_head], v[page, kv_head]
                _block(
                    queries,
                    keys,
                    values,
                    offset,
                    length,
                    start,
                    limits,
                    first,
                    last,
                    s,
                    acc,
                    highest,
                    total,
                    floats,
                    bits,
                )
            begin = end
    if lineage.shape[1]:
        keys = np.zeros((dim, BLOCK), np.float32)
        values = np.zeros((BLOCK, dim), np.float32)
        for i in range(count):
            start = limits[i * group]
            known = positions[rows[i]] + 1
            depth = 0
            while depth < lineage.shape[1] and lineage[rows[i], depth] >= 0:
                depth += 1
            while depth and start < known + depth:
                offset = start % page_size
                length = min(BLOCK, page_size - offset)
                for t in range(length):
                    if start + t < known:
                        page = pages[sequence_of[rows[i]], start // page_size]
                        for d in range(dim):
                            keys[d, t] = k[page, kv_head, d, offset + t]
                            values[t, d] = v[page, kv_head, offset + t, d]
                    elif start + t < known + depth:
                        row = lineage[rows[i], start + t - known]
                        for d in range(dim):
                            keys[d, t] = fresh_k[row, kv_head, d]
                            values[t, d] = fresh_v[row, kv_head, d]
                first, last = i * group, (i + 1) * group
                for r in range(first, last):
                    limits[r] = known + depth
                _block(
                    queries, keys, values, 0, length, start, limits, first, last, s, acc, highest, total, floats, bits
                )
                start += length
    for i in range(count):
        for j in range(group):
            r = i * group + j
            share = np.float32(1.0) / total[r] if sequence_of[rows[i]] >= 0 else np.float32(0.0)
            for d in range(dim):
                out[rows[i], kv_head * group + j, d] = acc[r, d] * share


@njit(parallel=True, **_options)
def attend(
    q: Any,
    fresh_k: Any,
    fresh_v: Any,
    k: Any,
    v: Any,
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

    q, out [rows, heads, head_dim]; k [pages, kv_heads, head_dim, page_size]; v [pages, kv_heads, page_size, head_dim],
    float32, contiguous, head_dim a multiple of 4. int32: pages [sequences, longest], sequence_of [rows], negative for
    padding, whose output is zero; positions [rows]; order [rows]: the rows as they are put into tiles; lineage
    [rows, deepest]: rows whose fresh_k and fresh_v [rows, kv_heads, head_dim] are read after the pages, filled up with
    -1. With `shared` False, rows of different sequences never read a page together. `out` must not overlap `q`.
    """
    kv_heads = k.shape[1]
    tasks = -(-order.size // TILE) * kv_heads
    for thread in prange(threads):
        for task in range(thread, tasks, threads):
            first = task // kv_heads * TILE
            rows = order[first : first + TILE]
            kv_head = task % kv_heads
            _tile(q, fresh_k, fresh_v, k, v, pages, sequence_of, positions, rows, lineage, shared, kv_head, out)
