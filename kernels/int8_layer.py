"""All of a decoder layer but attention, with weights in 8 bits, in one compiled function.

Between two attentions no row of a step sees another: the output projection of one layer, its feed-forward part, and the
norm, projections and rotary positions that lead into the next attention look at a row alone. So each thread takes some
rows all the way, a few at a time, and what is made between two products stays in the second cache. Done operation by
operation, with all rows at each, a layer has some thirty places at which threads wait for each other; here it has one.

With too few rows for that, the threads take channels of each product instead. The bits are the same either way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from kernels.int8 import PANEL, ROWS, WHOLE, padded, product, quantise_row
from kernels.vector import WIDTH, gate, turn

BLOCK = 32
"""Rows that go through a layer together: enough that weights are seldom read again, few enough for the second cache."""

_OPTIONS = {"nogil": True, "boundscheck": False, "error_model": "numpy", "cache": True}


@njit(fastmath={"reassoc", "contract", "nsz"}, **_OPTIONS)
def _sum_of_squares(x: Any) -> Any:
    """In some fixed order, which the compiler chooses so that it can use vectors."""
    total = np.float32(0.0)
    for place in range(x.size):
        total += x[place] * x[place]
    return total


@njit(**_OPTIONS)
def _inverse_rms(x: Any, eps: Any) -> Any:
    """What brings x to a root mean square of 1."""
    return np.float32(1.0) / np.sqrt(_sum_of_squares(x) / np.float32(x.size) + eps)


@njit(**_OPTIONS)
def _head(y: Any, row: int, at: int, gain: Any, eps: Any, cos: Any, sin: Any, out: Any, head: int) -> None:
    """One head of Q or K, y[row] from `at` on, normalised if there is a gain, turned to its position: to `out`."""
    dim = out.shape[2]
    half = dim // 2
    if gain.size:
        x = y[row, at : at + dim]
        factor = _inverse_rms(x, eps)
        for d in range(dim):
            x[d] = x[d] * factor * gain[d]
    if half % WIDTH == 0:
        first, angle, to = row * y.shape[1] + at, row * dim, (row * out.shape[1] + head) * dim
        for low in range(0, half, WIDTH):
            high = half + low
            turn(out, to + low, y, first + low, y, first + high, cos, angle + low, sin, angle + low)
            turn(out, to + high, y, first + high, y, first + low, cos, angle + high, sin, angle + high)
    else:
        for d in range(dim):
            other = d + half if d < half else d - half
            out[row, head, d] = y[row, at + d] * cos[row, d] + y[row, at + other] * sin[row, d]


@njit(**_OPTIONS)
def _end(
    x: Any, mixed: Any, weights: Any, channels: Any, size: int, block: int, eps: Any,
    whole: Any, factors: Any, y: Any, inner: Any, threads: int,
) -> None:  # fmt: skip
    """From what attention mixed, [rows, heads * head_dim], to the end of the layer: added to the stream x."""
    rows, hidden = x.shape
    width = padded(mixed.shape[1])
    for row in range(rows):
        factors[row] = quantise_row(mixed[row], whole[row * width : (row + 1) * width], 1)
    product(whole, factors, rows, weights[0], channels[0], y, threads)
    width = padded(hidden)
    for row in range(rows):
        for place in range(hidden):
            x[row, place] += y[row, place]
        factors[row] = quantise_row(x[row], whole[row * width : (row + 1) * width], 1) * _inverse_rms(x[row], eps)
    product(whole, factors, rows, weights[1], channels[1], y, threads)
    width = padded(size)
    for row in range(rows):
        at = row * y.shape[1]
        for place in range(0, size, WIDTH):  # what is written behind the end is not looked at
            gate(inner, place, y, at + place, y, at + size + place)
        factors[row] = quantise_row(inner[:size], whole[row * width : (row + 1) * width], block)
    product(whole, factors, rows, weights[2], channels[2], y, threads)
    for row in range(rows):
        for place in range(hidden):
            x[row, place] += y[row, place]


@njit(**_OPTIONS)
def _begin(
    x: Any, weights: Any, channels: Any, gains: Any, eps: Any, cos: Any, sin: Any, q: Any, k: Any, v: Any,
    whole: Any, factors: Any, y: Any, threads: int,
) -> None:  # fmt: skip
    """From the stream x [rows, hidden] to the Q, K and V of the next attention."""
    rows, hidden = x.shape
    width = padded(hidden)
    for row in range(rows):
        factors[row] = quantise_row(x[row], whole[row * width : (row + 1) * width], 1) * _inverse_rms(x[row], eps)
    product(whole, factors, rows, weights[3], channels[3], y, threads)
    dim = q.shape[2]
    for row in range(rows):
        at = 0
        for head in range(q.shape[1]):
            _head(y, row, at, gains[0], eps, cos, sin, q, head)
            at += dim
        for head in range(k.shape[1]):
            _head(y, row, at, gains[1], eps, cos, sin, k, head)
            at += dim
        for head in range(v.shape[1]):
            for d in range(dim):
                v[row, head, d] = y[row, at + d]
            at += dim


@njit(parallel=True, **_OPTIONS)
def between(
    x: Any, mixed: Any, cos: Any, sin: Any, q: Any, k: Any, v: Any, weights: Any, channels: Any, gains: Any, size: int,
    block: int, eps: Any, workspace: Any, factors: Any, y: Any, inner: Any, threads: int,
) -> None:  # fmt: skip
    """From one attention to the next, or to it from the embedding, or from the last one to the end.

    x float32 [rows, hidden] is the residual stream, which is changed in place; mixed float32 [rows, heads * head_dim],
    what attention made, or of no rows if there was none yet; cos and sin float32 [rows, head_dim], as
    inference/models/rotary.py has them; q float32 [rows, heads, head_dim], k and v [rows, kv_heads, head_dim], are
    filled, or of no rows if no attention follows. All are contiguous.

    `weights` and `channels` are four matrices, as `kernels.int8.product` takes them: the output, gate_up and down of
    the layer that ends, and the qkv of the one that begins. `size` is the number of inner activations, `block` that of
    the transform folded into down. `gains`, of the heads of q and k, float32 [head_dim], may be empty; those of the
    other norms must be folded into the matrices.

    The last arrays are `make_workspace(...)`. The work is shared out among `threads`.
    """
    rows = x.shape[0]
    groups = -(-rows // ROWS)
    if 2 * groups <= threads:
        whole, of_rows, room = workspace.reshape(-1), factors.reshape(-1), y.reshape(-1, y.shape[2])
        if mixed.size:
            _end(x, mixed, weights, channels, size, block, eps, whole, of_rows, room, inner[0], threads)
        if q.size:
            _begin(x, weights, channels, gains, eps, cos, sin, q, k, v, whole, of_rows, room, threads)
    else:
        for thread in prange(threads):
            mine = np.int64(thread)
            whole, of_rows, room = workspace[mine], factors[mine], y[mine]
            last = min((mine + 1) * groups // threads * ROWS, rows)
            for first in range(mine * groups // threads * ROWS, last, BLOCK):
                end = min(first + BLOCK, last)
                part = slice(first, end)
                if mixed.size:
                    _end(
                        x[part], mixed[part], weights, channels, size, block, eps, whole, of_rows, room, inner[mine], 1
                    )
                if q.size:
                    _begin(
                        x[part], weights, channels, gains, eps, cos[part], sin[part], q[part], k[part], v[part],
                        whole, of_rows, room, 1,
                    )  # fmt: skip


def make_workspace(widest_in: int, widest_out: int, threads: int) -> tuple[Any, Any, Any, Any]:
    """Memory for what `between` makes on the way, for matrices of at most so many channels: quantised rows, their
    factors, the results of a product, and the inner activations of a row."""
    return (
        np.zeros((threads, BLOCK * padded(widest_in)), WHOLE),
        np.zeros((threads, BLOCK), np.float32),
        np.zeros((threads, BLOCK, widest_out + PANEL), np.float32),
        np.zeros((threads, widest_in + WIDTH), np.float32),
    )
