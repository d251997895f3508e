"""Products of 8-bit integers on the CPU: y = W x with W int8 by output channel and x quantised row by row.

A product runs in three steps, compiled: `multiply` is all of them, and kernels/int8_layer.py puts others between them.

1. each row x is turned by a blockwise Hadamard transform if asked, scaled so that its largest entry becomes 127, and
   rounded: q [rows, inner], int16 in memory, -127..127 in value;
2. integer sums of products of q and W, in int32, so that the order of summation cannot matter;
3. each sum is scaled back by its row's and its channel's factor, and the bias added.

No step looks at more than one row, so a row has the same bits alone and among any others, at any number of threads.

The inner loop (`_dot`) multiplies 16 pairs of int16 and adds neighbours in one instruction, which is twice as many
products an instruction as float32 has on AVX2, and W takes a quarter of the memory traffic. Measured on one core of an
AVX2 processor at 8 / 64 / 160 rows of SmolLM2's shapes, all matrices of the model in turn: 87 / 120 / 120 G operations
a second, where float32 through oneDNN reaches 20 / 50 / 60.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import njit, prange, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model
from numpy.typing import NDArray

PANEL = 16
"""Output channels whose weights lie together: two vectors of 8 sums."""

ROWS = 4
"""Rows that share each loaded weight. ROWS * 2 vectors of sums, the weights and a row's pair fit 16 registers."""

LARGEST = 127
"""Of a quantised number. -128 is left out, so that no product of two bytes and no sum of two products overflows."""

MAX_INNER = (2**31 - 1) // (LARGEST * LARGEST)
"""Sums of this many products fit int32."""

PARALLEL_ROWS = 16
"""From this many rows on it pays to quantise them on all threads."""

SMALLEST = 1e-36
"""Rows whose largest entry is below this count as zeros: 127 divided by it would not be finite."""

_OPTIONS = {"nogil": True, "boundscheck": False, "error_model": "numpy", "cache": True}


# --- vectors: 8 int32, or the same 256 bits seen as 16 int16 ----------------------------------------------------------


class Lanes(types.Type):
    """A value that the compiler keeps in one vector register."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


lanes = Lanes()
_INT32 = ir.VectorType(ir.IntType(32), 8)
_INT16 = ir.VectorType(ir.IntType(16), 16)
_INT8 = ir.VectorType(ir.IntType(8), 16)
_FLOATS = ir.VectorType(ir.FloatType(), 8)


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _INT32)


def _pointer(context: Any, builder: Any, signature: Any, args: Any, kind: Any) -> Any:
    """To element args[1] of the flat array args[0], as a pointer to `kind`."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.bitcast(builder.gep(array.data, [args[1]]), kind.as_pointer())


@intrinsic
def _zero(typing_context: Any) -> Any:
    """8 zeros."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(_INT32, None)

    return lanes(), generate


@intrinsic
def _load_weights(typing_context: Any, array: Any, index: Any) -> Any:
    """16 int8 from `index` on, as int16."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        narrow = builder.load(_pointer(context, builder, signature, args, _INT8), align=1)
        return builder.bitcast(builder.sext(narrow, _INT16), _INT32)

    return lanes(array, types.intp), generate


@intrinsic
def _load_pair(typing_context: Any, array: Any, index: Any) -> Any:
    """The two int16 at `index`, 8 times."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pair = builder.load(_pointer(context, builder, signature, args, ir.IntType(32)), align=2)
        first = builder.insert_element(ir.Constant(_INT32, ir.Undefined), pair, ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(first, first, ir.Constant(_INT32, None))

    return lanes(array, types.intp), generate


@intrinsic
def _finish(typing_context: Any, sums: Any, channels: Any, at: Any, out: Any, factor: Any, y: Any, y_at: Any) -> Any:
    """8 sums scaled by `channels` from `at` on and by `factor`, and the bias, `out` places behind, added: to y."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        sums, _, at, out, factor, _, y_at = args

        def place(which: int, index: Any) -> Any:
            array = context.make_array(signature.args[which])(context, builder, args[which])
            return builder.bitcast(builder.gep(array.data, [index]), _FLOATS.as_pointer())

        scale, bias = (builder.load(place(1, index), align=4) for index in (at, builder.add(at, out)))
        single = builder.insert_element(ir.Constant(_FLOATS, ir.Undefined), factor, ir.Constant(ir.IntType(32), 0))
        scaled = builder.fmul(builder.sitofp(sums, _FLOATS), scale)
        scaled = builder.fmul(scaled, builder.shuffle_vector(single, single, ir.Constant(_INT32, None)))
        builder.store(builder.fadd(scaled, bias), place(5, y_at), align=4)
        return context.get_dummy_value()

    return types.void(lanes, channels, types.intp, types.intp, types.float32, y, types.intp), generate


@intrinsic
def _dot(typing_context: Any, sums: Any, weights: Any, pair: Any) -> Any:
    """sums + the products of neighbours, two by two: vpmaddwd where the processor has it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        sums, weights, pair = args[0], *(builder.bitcast(value, _INT16) for value in args[1:])
        if _has_avx2(context):
            instruction = ir.FunctionType(_INT32, [_INT16, _INT16])
            madd = cgutils.get_or_insert_function(builder.module, instruction, "llvm.x86.avx2.pmadd.wd")
            return builder.add(sums, builder.call(madd, [weights, pair]))
        for half in (0, 1):
            chosen = ir.Constant(_INT32, [2 * lane + half for lane in range(8)])
            wide = [builder.sext(builder.shuffle_vector(v, v, chosen), _INT32) for v in (weights, pair)]
            sums = builder.add(sums, builder.mul(*wide))
        return sums

    return lanes(lanes, lanes, lanes), generate


def _has_avx2(context: Any) -> bool:
    """Whether code is being made for a processor with AVX2."""
    return "+avx2" in context.codegen().magic_tuple()[2].split(",")


def is_fast() -> bool:
    """Whether this processor has the instruction that makes these products faster than float32 ones."""
    return bool(get_host_cpu_features().get("avx2"))


# --- the product ------------------------------------------------------------------------------------------------------


def pack(
    weight: NDArray[np.int8], scale: NDArray[np.float32], bias: NDArray[np.float32] | None = None
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """W [out, inner] in the order in which products read it: flat; panels of 16 channels, in each the pairs of inner
    places, in each pair the channels. And what belongs to channels, float32 [2, out]: `scale` and `bias` [out].
    Channels and places that are missing to a full panel or pair are zeros.

    Raises ValueError for an inner size at which sums could overflow, and for -128.
    """
    out, inner = weight.shape
    if inner > MAX_INNER:
        raise ValueError(f"an inner size of {inner} can overflow 32-bit sums; the largest is {MAX_INNER}")
    if weight.size and weight.min() < -LARGEST:
        raise ValueError(f"weights must lie in -{LARGEST}..{LARGEST}; the smallest is {weight.min()}")
    full = -(-out // PANEL) * PANEL
    packed = np.zeros(full * (inner + inner % 2), np.int8)
    _pack(np.ascontiguousarray(weight), packed)
    channels = np.zeros((2, full), np.float32)
    channels[0, :out] = scale
    if bias is not None:
        channels[1, :out] = bias
    return packed, channels


@njit(parallel=True, **_OPTIONS)
def _pack(weight: Any, packed: Any) -> None:
    out, inner = weight.shape
    width = inner + inner % 2
    for channel in prange(out):
        start = channel // PANEL * PANEL * width + channel % PANEL * 2
        for place in range(inner):
            packed[start + place // 2 * 2 * PANEL + place % 2] = weight[channel, place]


def unpack(packed: NDArray[np.int8], out: int, inner: int) -> NDArray[np.int8]:
    """W [out, inner] back from its packed form."""
    panels = packed.reshape(-(-out // PANEL), -1, PANEL, 2)
    return np.ascontiguousarray(panels.transpose(0, 2, 1, 3).reshape(len(panels) * PANEL, -1)[:out, :inner])


@njit(**_OPTIONS)
def _hadamard(x: Any, block: int) -> None:
    """The Walsh-Hadamard transform of each `block` of x, a power of two, in place, not normalised."""
    half = 1
    if block >= 8:  # loops of 1, 2 and 4 turns are slow: these three stages at once
        half = 8
        for i in range(0, x.size, 8):
            a0, a1, a2, a3 = x[i] + x[i + 1], x[i] - x[i + 1], x[i + 2] + x[i + 3], x[i + 2] - x[i + 3]
            a4, a5, a6, a7 = x[i + 4] + x[i + 5], x[i + 4] - x[i + 5], x[i + 6] + x[i + 7], x[i + 6] - x[i + 7]
            b0, b1, b2, b3 = a0 + a2, a1 + a3, a0 - a2, a1 - a3
            b4, b5, b6, b7 = a4 + a6, a5 + a7, a4 - a6, a5 - a7
            x[i], x[i + 1], x[i + 2], x[i + 3] = b0 + b4, b1 + b5, b2 + b6, b3 + b7
            x[i + 4], x[i + 5], x[i + 6], x[i + 7] = b0 - b4, b1 - b5, b2 - b6, b3 - b7
    while half < block:
        for start in range(0, x.size, 2 * half):
            low, high = x[start : start + half], x[start + half : start + 2 * half]
            for place in range(half):
                a, b = low[place], high[place]
                low[place] = a + b
                high[place] = a - b
        half *= 2


@njit(**_OPTIONS)
def quantise_row(x: Any, q: Any, block: int) -> Any:
    """x float32 [inner] -> q int16 [inner or one more] and the factor that leads back. A `block` of more than 1 is
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
        q[place] = np.int16(np.int32(np.rint(x[place] * up)))
    q[x.size :] = 0
    return largest / np.float32(LARGEST) / np.float32(math.sqrt(block))


@njit(parallel=True, **_OPTIONS)
def quantise(x: Any, block: int, threads: int) -> Any:
    """x float32 [rows, inner], contiguous -> q int16 [rows, inner] and factors float32 [rows], made full to ROWS and
    pairs by zeros: row r of x, transformed by blocks of `block` if that is more than 1, is about q[r] * factors[r]."""
    rows, inner = x.shape
    full = -(-rows // ROWS) * ROWS
    q = np.zeros((full, inner + inner % 2), np.int16)
    factors = np.zeros(full, np.float32)
    parts = threads if rows >= PARALLEL_ROWS else 1
    for part in prange(parts):
        for row in range(part, rows, parts):
            factors[row] = quantise_row(x[row].copy() if block > 1 else x[row], q[row], block)
    return q, factors


@njit(**_OPTIONS)
def _tile(weights: Any, start: int, q: Any, row: int, width: int, factors: Any, channels: Any, at: int, y: Any) -> None:
    """Products of ROWS rows, from `row` on, with the panel of W at `start`, whose first channel is `at`: to y."""
    a0, a1, b0, b1 = _zero(), _zero(), _zero(), _zero()
    c0, c1, d0, d1 = _zero(), _zero(), _zero(), _zero()
    first = row * width
    for place in range(0, width, 2):
        w0 = _load_weights(weights, start + PANEL * place)
        w1 = _load_weights(weights, start + PANEL * place + PANEL)
        pair = _load_pair(q, first + place)
        a0, a1 = _dot(a0, w0, pair), _dot(a1, w1, pair)
        pair = _load_pair(q, first + width + place)
        b0, b1 = _dot(b0, w0, pair), _dot(b1, w1, pair)
        pair = _load_pair(q, first + 2 * width + place)
        c0, c1 = _dot(c0, w0, pair), _dot(c1, w1, pair)
        pair = _load_pair(q, first + 3 * width + place)
        d0, d1 = _dot(d0, w0, pair), _dot(d1, w1, pair)
    out, to, stride = channels.shape[1], row * y.shape[1] + at, y.shape[1]
    _finish(a0, channels, at, out, factors[row], y, to)
    _finish(a1, channels, at + 8, out, factors[row], y, to + 8)
    _finish(b0, channels, at, out, factors[row + 1], y, to + stride)
    _finish(b1, channels, at + 8, out, factors[row + 1], y, to + stride + 8)
    _finish(c0, channels, at, out, factors[row + 2], y, to + 2 * stride)
    _finish(c1, channels, at + 8, out, factors[row + 2], y, to + 2 * stride + 8)
    _finish(d0, channels, at, out, factors[row + 3], y, to + 3 * stride)
    _finish(d1, channels, at + 8, out, factors[row + 3], y, to + 3 * stride + 8)


@njit(**_OPTIONS)
def _panels(q: Any, factors: Any, rows: int, weights: Any, channels: Any, y: Any, thread: int, threads: int) -> None:
    """The panels of `product` that fall to one of the threads."""
    out = channels.shape[1]
    width = weights.size // out
    for left in range(thread * PANEL, out, threads * PANEL):
        for row in range(0, rows, ROWS):
            _tile(weights, left * width, q, row, width, factors, channels, left, y)


@njit(parallel=True, **_OPTIONS)
def product(q: Any, factors: Any, rows: int, weights: Any, channels: Any, y: Any, threads: int) -> None:
    """y[r, n] for r < `rows` and every output channel n, from quantised rows: q int16, flat, one row after the other,
    each of an even size; factors float32. All of these have room for a multiple of ROWS rows.

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
