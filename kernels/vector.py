"""The innermost loops of a layer, written in vectors: what a compiler does not find by itself.

Compiled loops call these like functions. Arrays are contiguous, of any shape, and places are flat indices. Their
elements are float32, or, where it is said, int32 that hold a pair of bfloat16 each, the first in the low half.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic


def target_features(context: Any = None) -> frozenset[str]:
    """What the processor has that code is made for, in LLVM's words: the one at hand, unless numba is told otherwise
    (NUMBA_CPU_NAME, NUMBA_CPU_FEATURES)."""
    _, _, features = (context or cpu_target.target_context).codegen().magic_tuple()
    return frozenset(feature.removeprefix("+") for feature in features.split(",") if feature.startswith("+"))


IS_WIDE = {"avx512f", "avx512bw", "avx512vl", "avx512vnni"} <= target_features()
"""Whether there are the 32 registers of AVX-512, and its instruction for products of bytes."""

HAS_PAIRS = IS_WIDE and "avx512bf16" in target_features()
"""Whether there is an instruction for products of pairs of bfloat16: twice as many as of float32, and from half the
memory."""

if HAS_PAIRS:
    binding.initialize_native_asmparser()  # its instructions are written as assembly

WIDTH = 16 if IS_WIDE else 8
"""Elements of a vector: a register of AVX-512 or AVX2; two of a processor with narrower ones."""

VECTORS = 4 if IS_WIDE else 2
"""Vectors in a row of a panel: with six rows, their sums, a row of B and an element of A fill the registers."""

COLUMNS = VECTORS * WIDTH
"""Columns that a panel works on at once."""

BLOCK = 64
"""Scores that become exponentials at once."""

LOWEST = -1e30
"""A score below all others, and finite, so that differences are."""

FLOATS = ir.VectorType(ir.FloatType(), WIDTH)
INTS = ir.VectorType(ir.IntType(32), WIDTH)
_BOUNDARY = 4  # bytes


def make_panel(rows: int, *, apart: int, fresh: bool) -> Any:
    """A function `panel(c, c_at, c_stride, a, a_at, a_stride, b, b_at, b_stride, depth)` of a few rows of C += A B:

    C[r, n] += sum over k of A[r, k] B[k, n], for r < `rows`, n < COLUMNS, k < `depth`, in ascending k; with `fresh`
    it starts from zeros. A matrix begins at `at`. The rows of B and C are `stride` elements apart; those of A lie
    `apart`, which the compiler must know to keep one pointer for all of them, and its columns are a `stride` apart.

    Where A and B hold pairs, `depth` counts these, and an element of the product is that of both of a pair added up.

    Rows differ in their A alone, and each element of C has an accumulator of its own: the bits of a row are the same
    whatever rows come with it.
    """

    @intrinsic
    def panel(
        typing_context: Any,
        c: Any, c_at: Any, c_stride: Any,
        a: Any, a_at: Any, a_stride: Any,
        b: Any, b_at: Any, b_stride: Any,
        depth: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            first_of_c, first_of_a, first_of_b = (pointer_to(context, builder, signature, args, at) for at in (0, 3, 6))
            of_c = [builder.gep(first_of_c, [builder.mul(args[2], args[2].type(row))]) for row in range(rows)]
            places = [place for row in of_c for place in vectors_at(builder, row, VECTORS)]
            start = [ir.Constant(FLOATS, None) if fresh else builder.load(place, align=_BOUNDARY) for place in places]
            paired = isinstance(b.dtype, types.Integer)
            kind, multiply_add = (INTS, _multiply_add_pairs) if paired else (FLOATS, _multiply_add)
            sums = [cgutils.alloca_once_value(builder, value) for value in start]  # which become registers
            with cgutils.for_range(builder, args[9]) as loop:
                line = builder.gep(first_of_b, [builder.mul(loop.index, args[8])])
                parts = [builder.load(place, align=_BOUNDARY) for place in vectors_at(builder, line, VECTORS, kind)]
                column = builder.gep(first_of_a, [builder.mul(loop.index, args[5])])
                for row in range(rows):
                    factor = everywhere(builder, builder.load(builder.gep(column, [loop.index.type(row * apart)])))
                    for total, values in zip(sums[row * VECTORS :], parts, strict=False):
                        builder.store(multiply_add(context, builder, factor, values, builder.load(total)), total)
            for place, total in zip(places, sums, strict=True):
                builder.store(builder.load(total), place, align=_BOUNDARY)
            return context.get_dummy_value()

        return types.void(c, *[types.intp] * 2, a, *[types.intp] * 2, b, *[types.intp] * 2, types.intp), generate

    return panel


@intrinsic
def turn(
    typing_context: Any,
    out: Any, out_at: Any,
    x: Any, x_at: Any,
    y: Any, y_at: Any,
    cos: Any, cos_at: Any,
    sin: Any, sin_at: Any,
) -> Any:  # fmt: skip
    """`turn(out, out_at, x, x_at, y, y_at, cos, cos_at, sin, sin_at)`: WIDTH elements of out = x cos + y sin."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        to, *of = (
            vectors_at(builder, pointer_to(context, builder, signature, args, at), 1)[0] for at in range(0, 10, 2)
        )
        x, y, cos, sin = (builder.load(place, align=_BOUNDARY) for place in of)
        builder.store(builder.fadd(builder.fmul(x, cos), builder.fmul(y, sin)), to, align=_BOUNDARY)
        return context.get_dummy_value()

    index = types.intp
    return types.void(out, index, x, index, y, index, cos, index, sin, index), generate


@intrinsic
def sums_and_differences(typing_context: Any, x: Any, low_at: Any, high: Any, high_at: Any) -> Any:
    """`sums_and_differences(x, low_at, x, high_at)`: WIDTH times, low, high = low + high, low - high."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        places = [vectors_at(builder, pointer_to(context, builder, signature, args, at), 1)[0] for at in (0, 2)]
        low, high = (builder.load(place, align=_BOUNDARY) for place in places)
        builder.store(builder.fadd(low, high), places[0], align=_BOUNDARY)
        builder.store(builder.fsub(low, high), places[1], align=_BOUNDARY)
        return context.get_dummy_value()

    return types.void(x, types.intp, high, types.intp), generate


@intrinsic
def hadamard(typing_context: Any, x: Any, at: Any) -> Any:
    """`hadamard(x, at)`: the Walsh-Hadamard transform of WIDTH elements, in place, not normalised."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        (place,) = vectors_at(builder, pointer_to(context, builder, signature, args, 0), 1)
        vector, half = builder.load(place, align=_BOUNDARY), 1
        while half < WIDTH:
            others = ir.Constant(INTS, [lane ^ half for lane in range(WIDTH)])
            signs = ir.Constant(FLOATS, [-1.0 if lane & half else 1.0 for lane in range(WIDTH)])
            other = builder.shuffle_vector(vector, vector, others)
            vector = builder.fadd(other, builder.fmul(vector, signs))
            half *= 2
        builder.store(vector, place, align=_BOUNDARY)
        return context.get_dummy_value()

    return types.void(x, types.intp), generate


@intrinsic
def exponentials(typing_context: Any, out: Any, s: Any, at: Any, seen: Any, highest: Any, row: Any) -> Any:
    """`exponentials(out, s, at, seen, highest, row)`: from out[at] on, exp(s - max) of the first `seen` of BLOCK scores
    from s[at] on and 0 for the others, where max is the largest of them and of highest[row], which it becomes. Returns
    their sum. `out` may hold pairs, and be the same memory."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def larger(x: Any, y: Any) -> Any:
            return builder.select(builder.fcmp_ordered(">", x, y), x, y)

        places = vectors_at(builder, pointer_to(context, builder, signature, args, 1), BLOCK // WIDTH)
        count = everywhere(builder, builder.trunc(args[3], ir.IntType(32)))
        is_seen = [
            builder.icmp_signed("<", ir.Constant(INTS, list(range(first, first + WIDTH))), count)
            for first in range(0, BLOCK, WIDTH)
        ]
        scores = [
            builder.select(seen, builder.load(place, align=_BOUNDARY), _constant(LOWEST))
            for seen, place in zip(is_seen, places, strict=True)
        ]
        of_row = pointer_to(context, builder, signature, args, 4)
        most = larger(_reduce(builder, scores, larger), builder.load(of_row))
        builder.store(most, of_row)
        shift = everywhere(builder, most)

        values = [
            builder.select(seen, _exp(context, builder, builder.fsub(score, shift)), _constant(0.0))
            for seen, score in zip(is_seen, scores, strict=True)
        ]
        to = pointer_to(context, builder, signature, [args[0], args[2]], 0)
        if isinstance(out.dtype, types.Integer):
            pairs = [_to_pairs(builder, *values[first : first + 2]) for first in range(0, len(values), 2)]
            for pair, place in zip(pairs, vectors_at(builder, to, len(pairs), INTS), strict=True):
                builder.store(pair, place, align=_BOUNDARY)
        else:
            for value, place in zip(values, vectors_at(builder, to, len(values)), strict=True):
                builder.store(value, place, align=_BOUNDARY)
        return _reduce(builder, values, builder.fadd)

    return types.float32(out, s, types.intp, types.intp, highest, types.intp), generate


@intrinsic
def to_bfloat16(typing_context: Any, x: Any) -> Any:
    """The bits, an int32 in 0 .. 65535, of the bfloat16 nearest to a float32, of two the even one; of NaN, a NaN."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits = builder.bitcast(args[0], ir.IntType(32))
        upper = builder.lshr(bits, bits.type(16))
        half = builder.add(builder.and_(upper, bits.type(1)), bits.type(0x7FFF))
        nearest = builder.lshr(builder.add(bits, half), bits.type(16))
        is_number = builder.fcmp_ordered("==", args[0], args[0])
        return builder.select(is_number, nearest, builder.or_(upper, bits.type(0x40)))

    return types.int32(types.float32), generate


@intrinsic
def from_bfloat16(typing_context: Any, bits: Any) -> Any:
    """The float32 whose upper half are these bits, an int32; what is above them does not matter."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(builder.shl(args[0], args[0].type(16)), ir.FloatType())

    return types.float32(types.int32), generate


@intrinsic
def gate(typing_context: Any, out: Any, out_at: Any, x: Any, x_at: Any, y: Any, y_at: Any) -> Any:
    """`gate(out, out_at, x, x_at, y, y_at)`: WIDTH elements of out = silu(x) * y, with silu(x) = x / (1 + exp(-x))."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        to, of_x, of_y = (
            vectors_at(builder, pointer_to(context, builder, signature, args, at), 1)[0] for at in (0, 2, 4)
        )
        x, y = (builder.load(place, align=_BOUNDARY) for place in (of_x, of_y))
        negative = builder.fcmp_ordered("<", x, _constant(0.0))
        small = _exp(context, builder, builder.select(negative, x, builder.fneg(x)))  # of -|x|, which cannot overflow
        share = builder.fdiv(builder.select(negative, small, _constant(1.0)), builder.fadd(_constant(1.0), small))
        builder.store(builder.fmul(builder.fmul(x, share), y), to, align=_BOUNDARY)
        return context.get_dummy_value()

    return types.void(out, types.intp, x, types.intp, y, types.intp), generate


def _exp(context: Any, builder: Any, x: Any) -> Any:
    """Of a vector that is not positive. Below -87 it is as good as nothing; NaN stays NaN.

    exp(x) = 2^n e^y with n = round(x / ln 2): e^y by the polynomial of Cephes' expf, 2^n by its exponent bits. Adding
    1.5 * 2^23 to a float rounds it and leaves the whole number in its low bits.
    """
    x = builder.select(builder.fcmp_ordered("<", x, _constant(-87.0)), _constant(-87.0), x)
    rounded = _multiply_add(context, builder, x, _constant(1.44269504), _constant(12582912.0))
    n = builder.fsub(rounded, _constant(12582912.0))
    y = _multiply_add(context, builder, n, _constant(-0.693359375), x)
    y = _multiply_add(context, builder, n, _constant(2.12194440e-4), y)
    z = _constant(1.9875691500e-4)
    for coefficient in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1):
        z = _multiply_add(context, builder, z, y, _constant(coefficient))
    z = builder.fadd(_multiply_add(context, builder, builder.fmul(z, y), y, y), _constant(1.0))
    exponent = builder.shl(builder.bitcast(rounded, INTS), ir.Constant(INTS, [23] * WIDTH))
    power = builder.add(exponent, ir.Constant(INTS, [127 << 23] * WIDTH))
    return builder.fmul(z, builder.bitcast(power, FLOATS))


def _constant(value: float) -> Any:
    return ir.Constant(FLOATS, [value] * WIDTH)


def pointer_to(context: Any, builder: Any, signature: Any, args: Any, which: int) -> Any:
    """To element args[which + 1] of the array args[which]."""
    array = context.make_array(signature.args[which])(context, builder, args[which])
    return builder.gep(array.data, [args[which + 1]])


def vectors_at(builder: Any, pointer: Any, count: int, kind: Any = FLOATS) -> list[Any]:
    """Pointers to `count` vectors, one after the other."""
    first = builder.bitcast(pointer, kind.as_pointer())
    return [builder.gep(first, [ir.IntType(64)(at)]) for at in range(count)]


def everywhere(builder: Any, value: Any) -> Any:
    """A vector of one value."""
    kind = ir.VectorType(value.type, WIDTH)
    single = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.IntType(32)(0))
    return builder.shuffle_vector(single, single, ir.Constant(INTS, None))


def _reduce(builder: Any, vectors: Sequence[Any], combine: Callable[[Any, Any], Any]) -> Any:
    """One number of all elements: vectors are combined pairwise, then the halves of the last one."""
    while len(vectors) > 1:
        half = len(vectors) // 2
        vectors = [combine(x, y) for x, y in zip(vectors[:half], vectors[half:], strict=True)]
    (vector,) = vectors
    width = WIDTH
    while width > 1:
        width //= 2
        low, high = (
            builder.shuffle_vector(
                vector, vector, ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(first, first + width)))
            )
            for first in (0, width)
        )
        vector = combine(low, high)
    return builder.extract_element(vector, ir.IntType(32)(0))


def _multiply_add(context: Any, builder: Any, x: Any, y: Any, z: Any) -> Any:
    """x * y + z, rounded once where the processor can, which it then does everywhere."""
    triple, _, features = context.codegen().magic_tuple()
    if "+fma" in features.split(",") or triple.startswith(("aarch64", "arm64")):
        kind = ir.FunctionType(FLOATS, [FLOATS] * 3)
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{WIDTH}f32"), [x, y, z])
    return builder.fadd(builder.fmul(x, y), z)


def _multiply_add_pairs(context: Any, builder: Any, x: Any, y: Any, z: Any) -> Any:
    """z + the products of the pairs in x and y, both of each. Written as assembly since LLVM has the instruction under
    other types from version to version."""
    kind = ir.FunctionType(FLOATS, [INTS, INTS, FLOATS])
    return builder.asm(kind, "vdpbf16ps $2, $1, $0", "=v,v,v,0", [x, y, z], False)


def _to_pairs(builder: Any, x: Any, y: Any) -> Any:
    """The elements of x, then of y, as bfloat16, two and two."""
    return builder.asm(ir.FunctionType(INTS, [FLOATS] * 2), "vcvtne2ps2bf16 $1, $2, $0", "=v,v,v", [x, y], False)
