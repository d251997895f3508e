"""In which numbers the weights of a model are held, and the KV cache."""

from __future__ import annotations

from typing import Literal, get_args

WeightFormat = Literal["float32", "bfloat16", "int8"]
WeightChoice = Literal["auto", "float32", "bfloat16", "int8"]
"""`auto` leaves it to the processor: see `resolve`."""

KVFormat = Literal["float32", "bfloat16", "int8"]

KVChoice = Literal["auto", "float32", "bfloat16", "int8"]
"""`auto` leaves it to the processor and the weights: see `resolve_kv`."""

KV_FORMATS: tuple[KVFormat, ...] = get_args(KVFormat)

KV_CHOICES: tuple[KVChoice, ...] = get_args(KVChoice)

KV_MEMORY_MB = 850
"""MiB of the KV cache unless told otherwise: what 64 games of 40 plies need of the default model in float32, so that
nothing is computed again, and no more."""

WEIGHT_CHOICES: tuple[WeightChoice, ...] = get_args(WeightChoice)


def resolve(choice: WeightChoice) -> WeightFormat:
    """int8 for `auto` where the processor multiplies bytes or 16-bit numbers several at a time (x86 with AVX2 or
    VNNI), which is 1.3 to 4 times as fast as float32 there; float32 elsewhere."""
    if choice != "auto":
        return choice
    from kernels.int8 import is_fast

    return "int8" if is_fast() else "float32"


def resolve_kv(choice: KVChoice, weights: WeightFormat) -> KVFormat:
    """bfloat16 for `auto` where the processor multiplies it (x86 with AVX512-BF16): attention is some 1.4 times as fast
    as in float32 there, and takes half the memory. With weights in float32, and elsewhere, float32."""
    if choice != "auto":
        return choice
    if weights == "float32":
        return "float32"
    from kernels.vector import HAS_PAIRS

    return "bfloat16" if HAS_PAIRS else "float32"
