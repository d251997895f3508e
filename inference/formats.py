"""In which numbers the weights of a model are held, and the KV cache."""

from __future__ import annotations

from typing import Literal, get_args

WeightFormat = Literal["float32", "bfloat16", "int8"]
WeightChoice = Literal["auto", "float32", "bfloat16", "int8"]
"""`auto` leaves it to the processor: see `resolve`."""

KVFormat = Literal["float32", "int8"]

KV_FORMATS: tuple[KVFormat, ...] = get_args(KVFormat)

KV_MEMORY_MB = 850
"""MiB of the KV cache unless told otherwise: what 64 games of 40 plies need of the default model, so that nothing is
computed again, and no more."""

WEIGHT_CHOICES: tuple[WeightChoice, ...] = get_args(WeightChoice)


def resolve(choice: WeightChoice) -> WeightFormat:
    """int8 for `auto` where the processor multiplies bytes or 16-bit numbers several at a time (x86 with AVX2 or
    VNNI), which is 1.3 to 4 times as fast as float32 there; float32 elsewhere."""
    if choice != "auto":
        return choice
    from kernels.int8 import is_fast

    return "int8" if is_fast() else "float32"
