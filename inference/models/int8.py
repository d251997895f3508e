"""Multiplication by a weight matrix of 8-bit integers: two implementations with the same bits.

Both quantise rows in kernels/int8.py, sum products of integers, and scale the sums back in one order. They differ in
who sums: our own kernel, or fbgemm, torch's library for it, which is faster where the processor has VNNI. Without VNNI
fbgemm sums pairs of products in 16 bits, where large ones are cut off; so it is used only after it has proved, on
values chosen to overflow, that it sums exactly.
"""

from __future__ import annotations

import warnings
from functools import cache

import torch
from torch import Tensor

from inference.models.linear import Linear
from inference.models.quantised import QuantisedMatrix
from kernels import int8


class Int8Linear:
    """Sums by the kernel in kernels/int8.py, whose words for the rest these are: W `packed`, its `channels`, and the
    `block` of the Hadamard transform folded into it, or 1."""

    def __init__(self, matrix: QuantisedMatrix, block: int = 1) -> None:
        self._shape = matrix.weight.shape
        bias = None if matrix.bias is None else matrix.bias.numpy()
        self.packed, self.channels = int8.pack(matrix.weight.numpy(), matrix.scale.numpy(), bias)
        self.block = block

    @property
    def weight(self) -> Tensor:
        """float32 [out, in], of the transformed input."""
        rows = torch.from_numpy(int8.unpack(self.packed, *self._shape))
        return rows * torch.from_numpy(self.channels[0, : self._shape[0], None])

    def __call__(self, x: Tensor) -> Tensor:
        rows, threads = x.contiguous().numpy(), torch.get_num_threads()
        y = torch.from_numpy(int8.multiply(rows, self.packed, self.channels, self.block, threads))
        return y[:, : self._shape[0]].contiguous()


class FbgemmLinear:
    """Sums by fbgemm, which is given whole numbers with scale 1 and so gives whole numbers back, as float32."""

    def __init__(self, matrix: QuantisedMatrix, block: int = 1) -> None:
        ones, zeros = torch.ones(matrix.weight.shape[0]), torch.zeros(matrix.weight.shape[0])
        with warnings.catch_warnings():  # that torch will drop quantised tensors one day: then the probe says so
            warnings.simplefilter("ignore", UserWarning)
            weight = torch._make_per_channel_quantized_tensor(matrix.weight, ones, zeros.long(), 0)
            self._packed = torch.ops.quantized.linear_prepack(weight, None)
        self._scale = matrix.scale
        self._bias = matrix.bias
        self._block = block

    @property
    def weight(self) -> Tensor:
        """float32 [out, in], of the transformed input."""
        weight: Tensor = torch.ops.quantized.linear_unpack(self._packed)[0].int_repr()
        return weight * self._scale[:, None]

    def __call__(self, x: Tensor) -> Tensor:
        q, factors = int8.quantise(x.contiguous().numpy(), self._block, torch.get_num_threads())
        whole = torch.from_numpy(q[: x.shape[0], : x.shape[1]]).float()
        sums = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(whole, 1.0, 128, self._packed)
        y: Tensor = sums.mul_(self._scale).mul_(torch.from_numpy(factors[: x.shape[0], None]))
        return y if self._bias is None else y.add_(self._bias)


def make_int8_linear(matrix: QuantisedMatrix, block: int = 1) -> Linear:
    """The faster of the two that is exact here."""
    return FbgemmLinear(matrix, block) if fbgemm_is_exact() else Int8Linear(matrix, block)


@cache
def fbgemm_is_exact() -> bool:
    """Whether this build of torch has fbgemm's operators, which are private, and they sum exactly on this processor."""
    try:
        linear = FbgemmLinear(QuantisedMatrix(torch.full((16, 64), 127, dtype=torch.int8), torch.ones(16)))
        got = linear(torch.full((4, 64), 127.0))
    except (AttributeError, RuntimeError):
        return False
    return bool((got == 64 * 127.0 * 127.0).all())
