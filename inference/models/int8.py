"""Multiplication by a weight matrix of 8-bit integers."""

from __future__ import annotations

import torch
from torch import Tensor

from inference.models.quantised import QuantisedMatrix
from kernels import int8


class Int8Linear:
    """The kernel of kernels/int8.py on a matrix, in the words of that file: W `packed`, its `channels`, and the `block`
    of the Hadamard transform folded into it, or 1."""

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
