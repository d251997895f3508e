"""Products of 8-bit integers on the CPU: y = W x with W int8 by output channel and x quantised row by row.

A product runs in three steps, compiled: `multiply` is all of them, and kernels/int8_layer.py puts others between them.

1. each row x is turned by a blockwise Hadamard transform if asked, scaled so that its largest entry becomes 127, and
   rounded: q [rows, inner], -127..127 in value;
2. integer sums of products of q and W, in int32, so that the order of summation cannot matter;
3. each sum is scaled back by its row's and its channel's factor, and the bias added.

No step looks at more than one row, so a row has the same bits alone and among any others, at any number of threads,
and the same on every processor: sums of integers are exact, and the rest is done in one order.

The inner loop (`_tile`) adds, in one instruction, the products of groups of neighbours: 64 products of bytes on a
processor with AVX-512 VNNI, 16 of 16-bit numbers on one with AVX2. Measured at 8 / 32 / 64 rows of SmolLM2's largest
matrix on one core: 920 / 980 / 960 G operations a second on a Zen 5 processor; 87 / 120 / 120 on one with AVX2 alone
(8 / 64 / 160 rows), where float32 through oneDNN reaches 20 / 50 / 60.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, prange, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from kernels.vector import (
    FLOATS,
    INTS,
    IS_WIDE,
    WIDTH,
    everywhere,
    hadamard,
    pointer_to,
    sums_and_differences,
    target_features,
    vectors_at,
)

PANEL = 2 * WIDTH
"""Output channels whose weights lie together: two vectors of sums."""

GROUP = 4 if IS_WIDE else 2
"""Inner places whose products one instruction adds to a sum: the bytes of 32 bits, or the 16-bit numbers."""

ROWS = 8 if IS_WIDE else 4
"""Rows that share each loaded weight: their sums, two vectors of weights and a row's group fit the registers."""

WHOLE: Any = np.uint8 if IS_WIDE else np.int16
"""The type of quantised numbers in memory."""

OFFSET = 128 if IS_WIDE else 0
"""What is added to them there: AVX-512 multiplies bytes without a sign by bytes with one. It comes off each sum again:
a multiple of the channel's sum of weights, where the sum starts."""

LARGEST = 127
"""Of a quantised number. -128 is left out, so that no product of two bytes and no sum of two products overflows."""

MAX_INNER = (2**31 - 1) // (LARGEST * LARGEST)
"""Sums of this many products fit int32."""

PARALLEL_ROWS = 16
"""From this many rows on it pays to quantise them on all threads."""

SMALLEST = 1e-36
"""Rows whose largest entry is below this count as zeros: 127 divided by it would not be finite."""

_OPTIONS = {"nogil": True, "boundscheck": False, "error_model": "numpy", "cache": True}
_WEIGHTS = ir.VectorType(ir.IntType(8), WIDTH * GROUP)
_INT16 = ir.VectorType(ir.IntType(16), WIDTH * 2)


# --- the innermost loop ----------------------------------------------------------------------------------------------


@intrinsic
def _tile(
    typing_context: Any,
    weights: Any, start: Any,
    q: Any, first: Any, width: Any,
    channels: Any, at: Any, out: Any,
    factors: Any, row: Any,
    y: Any, y_at: Any, y_stride: Any,
) -> Any:  # fmt: skip
    """Products of ROWS quantised rows, which begin at q[first] and are `width` long, with the panel of W at `start`,
    scaled by factors[row] and by the `channels` from `at` on, `out` in all: to y[y_at], rows `y_stride` apart."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def to(which: int, index: Any) -> Any:
            return pointer_to(context, builder, signature, [*args[: which + 1], index, *args[which + 2 :]], which)

        def two(which: int, index: Any, kind: Any) -> list[Any]:
            return [builder.load(at, align=1) for at in vectors_at(builder, to(which, index), 2, kind)]

        start, first, width, at, out, row, y_at, y_stride = (args[which] for which in (1, 3, 4, 6, 7, 9, 11, 12))
        offsets = two(5, builder.add(at, builder.mul(out, out.type(2))), INTS)
        sums = [[cgutils.alloca_once_value(builder, offset) for offset in offsets] for _ in range(ROWS)]
        lines = [builder.add(first, builder.mul(width, width.type(r))) for r in range(ROWS)]
        groups = builder.udiv(width, width.type(GROUP))
        with cgutils.for_range(builder, groups) as loop:
            place = builder.mul(loop.index, width.type(GROUP))
            of_weights = builder.add(start, builder.mul(place, place.type(PANEL)))
            pairs = two(0, of_weights, _WEIGHTS)
            for line, totals in zip(lines, sums, strict=True):
                group = builder.bitcast(to(2, builder.add(line, place)), ir.IntType(32).as_pointer())
                same = everywhere(builder, builder.load(group, align=1))
                for values, total in zip(pairs, totals, strict=True):
                    builder.store(_add_products(context, builder, builder.load(total), same, values), total)
        scales, biases = two(5, at, FLOATS), two(5, builder.add(at, out), FLOATS)
        for r, totals in enumerate(sums):
            factor = everywhere(builder, builder.load(to(8, builder.add(row, row.type(r)))))
            places = vectors_at(builder, to(10, builder.add(y_at, builder.mul(y_stride, y_stride.type(r)))), 2)
            for total, scale, bias, place in zip(totals, scales, biases, places, strict=True):
                scaled = builder.fmul(builder.fmul(builder.sitofp(builder.load(total), FLOATS), scale), factor)
                builder.store(builder.fadd(scaled, bias), place, align=4)
        return context.get_dummy_value()

    index = types.intp
    kinds = (weights, index, q, index, index, channels, index, index, factors, index, y, index, index)
    return types.void(*kinds), generate


def _add_products(context: Any, builder: Any, sums: Any, same: Any, weights: Any) -> Any:
    """sums + the products of a row's group, which is the `same` for all, and the group of each channel."""
    if IS_WIDE:
        instruction = ir.FunctionType(INTS, [INTS] * 3)
        dot = cgutils.get_or_insert_function(builder.module, instruction, "llvm.x86.avx512.vpdpbusd.512")
        return builder.call(dot, [sums, same, builder.bitcast(weights, INTS)])
    row, wide = builder.bitcast(same, _INT16), builder.sext(weights, _INT16)
    if "avx2" in target_features(context):
        instruction = ir.FunctionType(INTS, [_INT16, _INT16])
        madd = cgutils.get_or_insert_function(builder.module, instruction, "llvm.x86.avx2.pmadd.wd")
        return builder.add(sums, builder.call(madd, [wide, row]))
    for half in (0, 1):
        chosen = ir.Constant(INTS, [2 * lane + half for lane in range(WIDTH)])
        factors = [builder.sext(builder.shuffle_vector(v, v, chosen), INTS) for v in (wide, row)]
        sums = builder.add(sums, builder.mul(*factors))
    return sums


def is_fast() -> bool:
    """Whether this processor has an instruction that makes these products faster than float32 ones."""
    return "avx2" in target_features()


# --- the product ------------------------------------------------------------------------------------------------------


def pack(
    weight: NDArray[np.int8], scale: NDArray[np.float32], bias: NDArray[np.float32] | None = None
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """W [out, inner] in the order in which products read it: flat; panels of PANEL channels, in each the groups of
    inner places, in each group the channels. And what belongs to channels, float32 [3, out]: `scale` and `bias` [out],
    and the bits of what their sums start with, int32. Channels and places missing to a full panel or group are zeros.

    Raises ValueError for an inner size at which sums could overflow, and for -128.
    """
    out, inner = weight.shape
    if inner > MAX_INNER:
        raise ValueError(f"an inner size of {inner} can overflow 32-bit sums; the largest is {MAX_INNER}")
    if weight.size and weight.min() < -LARGEST:
        raise ValueError(f"weights must lie in -{LARGEST}..{LARGEST}; the smallest is {weight.min()}")
    full = -(-out // PANEL) * PANEL
    packed = np.zeros(full * padded(inner), np.int8)
    _pack(np.ascontiguousarray(weight), packed)
    channels = np.zeros((3, full), np.float32)
    channels[0, :out] = scale
    if bias is not None:
        channels[1, :out] = bias
    channels[2, :out].view(np.int32)[:] = -OFFSET * weight.sum(axis=1, dtype=np.int32)
    return packed, channels


@njit(**_OPTIONS)
def padded(inner: int) -> int:
    """The size of a row or column of full groups."""
    return -(-inner // GROUP) * GROUP


@njit(parallel=True, **_OPTIONS)
def _pack(weight: Any, packed: Any) -> None:
    out, inner = weight.shape
    width = padded(inner)
    for channel in prange(out):
        start = channel // PANEL * PANEL * width + channel % PANEL * GROUP
        for place in range(inner):
            packed[start + place // GROUP * GROUP * PANEL + place % GROUP] = weight[channel, place]


def unpack(packed: NDArray[np.int8], out: int, inner: int) -> NDArray[np.int8]:
    """W [out, inner] back from its packed form."""
    panels = packed.reshape(-(-out // PANEL), -1, PANEL, GROUP)
    return np.ascontiguousarray(panels.transpose(0, 2, 1, 3).reshape(len(panels) * PANEL, -1)[:out, :inner])


@njit(**_OPTIONS)
def _hadamard(x: Any, block: int) -> None:
    """The Walsh-Hadamard transform of each `block` of x, a power of two, in place, not normalised."""
    half = 1
    if block >= WIDTH:
        for place in range(0, x.size, WIDTH):
            hadamard(x, place)
        half = WIDTH
    while half < block:
        for start in range(0, x.size, 2 * half):
            if half >= WIDTH:
                for place in range(start, start + half, WIDTH):
                    sums_and_differences(x, place, x, place + half)
            else:
                for place in range(start, start + half):
                    x[place], x[place + half] = x[place] + x[place + half], x[place] - x[place + half]
        half *= 2


@njit(**_OPTIONS)
def quantise_row(x: Any, q: Any, block: int) -> Any:
    """x float32 [inner] -> q WHOLE [padded(inner)] and the factor that leads back. A `block` of more than 1 is
    transformed in place.

    What is not finite in x makes the factor not finite, and so everything that is computed from the row.
    """
    if block > 1:
        _hadamard(x, block)
    # Without their sign bit, floats are ordered as the integers of the same bits are, infinities and NaNs last.
    bits = x.view(np.int32)
    most = np.int32(0)
    for place in range(bits.size):
        most = max(most, bits[place] & np.int32(0x7FFFFFFF))
    largest = np.array([most], np.int32).view(np.float32)[0]
    up = np.float32(LARGEST) / largest if SMALLEST < largest < np.inf else np.float32(0.0)
    for place in range(x.size):
        q[place] = WHOLE(np.int32(np.rint(x[place] * up)) + np.int32(OFFSET))
    q[x.size :] = 0
    return largest / np.float32(LARGEST) / np.float32(math.sqrt(block))


@njit(parallel=True, **_OPTIONS)
def quantise(x: Any, block: int, threads: int) -> Any:
    """x float32 [rows, inner], contiguous -> q WHOLE [rows, inner] and factors float32 [rows], made full to ROWS and
    groups by zeros: row r of x, transformed by blocks of `block` if that is more than 1, is about (q[r] - OFFSET) *
    factors[r]."""
    rows, inner = x.shape
    full = -(-rows // ROWS) * ROWS
    q = np.zeros((full, padded(inner)), WHOLE)
    factors = np.zeros(full, np.float32)
    parts = threads if rows >= PARALLEL_ROWS else 1
    for part in prange(parts):
        for row in range(part, rows, parts):
            factors[row] = quantise_row(x[row].copy() if block > 1 else x[row], q[row], block)
    return q, factors


@njit(**_OPTIONS)
def _panels(q: Any, factors: Any, rows: int, weights: Any, channels: Any, y: Any, thread: int, threads: int) -> None:
    """The panels of `product` that fall to one of the threads."""
    out = channels.shape[1]
    width = weights.size // out
    for left in range(thread * PANEL, out, threads * PANEL):
        for row in range(0, rows, ROWS):
            _tile(
                weights, left * width, q, row * width, width, channels, left, out, factors, row,
                y, row * y.shape[1] + left, y.shape[1],
            )  # fmt: skip


@njit(parallel=True, **_OPTIONS)
def product(q: Any, factors: Any, rows: int, weights: Any, channels: Any, y: Any, threads: int) -> None:
    """y[r, n] for r < `rows` and every output channel n, from quantised rows: q WHOLE, flat, one row after the other,
    each of a padded size; factors float32. All of these have room for a multiple of ROWS rows.

    `weights` and `channels` are as `pack` gives them. The channels are shared out among `threads`; with one, it all
    runs where it is called.
    """
    if threads == 1:
        _panels(q, factors, rows, weights, channels, y, 0, 1)
    else:
        for thread in prange(threads):
            _panels(q, factors, rows, weights, channels, y, np.int64(thread), threads)


@njit(**_OPTIONS)
def multiply(x: Any, weights: Any, channels: Any, block: int, threads: int) -> Any:
    """y float32 [rows, out, made full to PANEL] for x float32 [rows, inner], contiguous; see `quantise` and `product`.
    The transform by `block` must be folded into W."""
    q, factors = quantise(x, block, threads)
    y = np.empty((factors.size, channels.shape[1]), np.float32)
    product(q.reshape(-1), factors, x.shape[0], weights, channels, y, threads)
    return y[: x.shape[0]]
