"""Multiplication by a weight matrix: the one place where the model spends its time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Protocol

import torch
from torch import Tensor


class Linear(Protocol):
    """y = x W^T + b for x [rows, in]. Rows do not see each other, so a row's bits do not depend on how many there
    are, given row counts padded to kernels.attention.ROW_TILE."""

    def __call__(self, x: Tensor) -> Tensor: ...

    @property
    def weight(self) -> Tensor:
        """W [out, in], as a plain tensor."""


MakeLinear = Callable[[Tensor, Tensor | None], Linear]
"""Makes the product with a matrix [out, in] and perhaps a bias [out]."""


class PlainLinear:
    """Holds W as it is and leaves the product to torch's default library."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self.weight = weight
        self.bias = bias

    def __call__(self, x: Tensor) -> Tensor:
        return torch.nn.functional.linear(x, self.weight, self.bias)


class PackedLinear:
    """Holds W in the order in which oneDNN reads it, float32 on the CPU.

    For a few rows, which is what decoding has, this is 1.3 to 2.6 times as fast as the default (2 cores, AVX2,
    SmolLM2's shapes), and a row gets the same bits at any row count and number of threads.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self._packed = torch.ops.mkldnn._reorder_linear_weight(weight)
        self.bias = bias

    @property
    def weight(self) -> Tensor:
        dense: Tensor = self._packed.to_dense()
        return dense

    def __call__(self, x: Tensor) -> Tensor:
        product: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias, "none", [], "")
        return product


class Bfloat16Linear:
    """Weights and inputs rounded to bfloat16, results float32. Fast only on processors that multiply bfloat16 numbers
    (AVX-512 BF16, AMX); elsewhere several times slower than float32, at half its memory."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self._weight = weight.bfloat16()
        self._bias = bias

    @property
    def weight(self) -> Tensor:
        return self._weight.float()

    def __call__(self, x: Tensor) -> Tensor:
        product = torch.nn.functional.linear(x.bfloat16(), self._weight).float()
        return product if self._bias is None else product + self._bias


class LazyLinear:
    """Prepares W for fast products when it is first multiplied by. Who only ever reads a few rows of the output
    embedding, as choosing among given answers does, spares the memory of a packed copy."""

    def __init__(self, weight: Tensor, linear_of: MakeLinear) -> None:
        self.weight = weight
        self._linear_of = linear_of
        self._linear: Linear | None = None

    def __call__(self, x: Tensor) -> Tensor:
        if self._linear is None:
            self._linear = self._linear_of(self.weight, None)
        return self._linear(x)


def make_linear(weight: Tensor, bias: Tensor | None = None) -> Linear:
    """The fastest of the two that this weight and this build of torch allow."""
    if weight.dtype == torch.float32 and weight.device.type == "cpu" and packing_works():
        return PackedLinear(weight, bias)
    return PlainLinear(weight, bias)


@cache
def packing_works() -> bool:
    """Whether this build of torch has oneDNN's operators, which are private, and they compute what they should."""
    generator = torch.Generator().manual_seed(0)
    weight, x, bias = (torch.randn(shape, generator=generator) for shape in ((24, 8), (16, 8), (24,)))
    try:
        got = PackedLinear(weight, bias)(x)
    except (AttributeError, RuntimeError):
        return False
    return torch.allclose(got, torch.nn.functional.linear(x, weight, bias), atol=1e-5)
