"""Orthogonal transforms that spread a few large entries of a vector over all of it, so that 8 bits resolve it well.

A matrix and its input may be turned together: (x Q)(W Q)^T = x W^T for every orthogonal Q. The transforms here are
Kronecker products of small matrices with all entries about alike: Hadamard matrices for the powers of two in a size, a
Hartley matrix for the odd rest. They are given by formulas, so every machine makes the same.
"""

from __future__ import annotations

import math
from functools import cache

import torch
from torch import Tensor

RIGHT_FACTOR = 64
"""The most that the right factor of the Kronecker product takes of a size; the left one is the rest of it."""


def rotate(x: Tensor) -> Tensor:
    """x [..., size] times an orthogonal matrix [size, size] that depends on the size alone: float64."""
    size = x.shape[-1]
    signs, left, right = _factors(size)
    grid = (x.double() * signs).reshape(-1, left.shape[0], right.shape[0])
    return (left @ (grid @ right)).reshape(x.shape)  # both factors are symmetric


def hadamard_blocks(x: Tensor, block: int) -> Tensor:
    """x [..., size] with each `block` of entries times the Hadamard matrix of that size, which is its own inverse:
    float64. Raises ValueError unless `block` is a power of two that divides the size."""
    if block < 1 or block & (block - 1) or x.shape[-1] % block:
        raise ValueError(f"a block of {block} is no power of two that divides {x.shape[-1]}")
    return (x.double().reshape(*x.shape[:-1], -1, block) @ _hadamard(block)).reshape(x.shape)


def block_size(size: int, most: int) -> int:
    """The largest power of two that divides `size`, `most` at most; `most` is a power of two."""
    return min(size & -size, most)


@cache
def _factors(size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Signs [size], which break any pattern that x has in common with the matrices, and the two of them."""
    signs = 1.0 - 2.0 * torch.randint(0, 2, (size,), generator=torch.Generator().manual_seed(size)).double()
    power = size & -size
    right = block_size(size, RIGHT_FACTOR)
    return signs, torch.kron(_hartley(size // power), _hadamard(power // right)), _hadamard(right)


def _hadamard(size: int) -> Tensor:
    """Sylvester's construction, scaled to be orthogonal; symmetric."""
    matrix = torch.ones(1, 1, dtype=torch.float64)
    while matrix.shape[0] < size:
        matrix = torch.kron(torch.tensor([[1.0, 1.0], [1.0, -1.0]], dtype=torch.float64), matrix)
    return matrix / math.sqrt(size)


def _hartley(size: int) -> Tensor:
    """cos + sin of the discrete Fourier transform: real, orthogonal and symmetric."""
    index = torch.arange(size, dtype=torch.float64)
    angles = 2 * math.pi * torch.outer(index, index).remainder(size) / size
    return (angles.cos() + angles.sin()) / math.sqrt(size)
