"""Rotary position embedding (Su et al. 2021), in the layout of Hugging Face checkpoints: halves, not pairs."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from inference.models.config import FrequencyFactors, LinearScaling, Llama3Scaling, ModelConfig


def inverse_frequencies(config: ModelConfig) -> Tensor:
    """Radians a position for each pair of a head's dimensions: float32 [head_dim / 2], scaling applied."""
    exponents = torch.arange(0, config.head_dim, 2, dtype=torch.int64).float() / config.head_dim
    frequencies = 1.0 / (config.rope_theta**exponents)
    match config.rope_scaling:
        case LinearScaling(factor):
            return frequencies / factor
        case FrequencyFactors(factors):
            return frequencies / torch.tensor(factors, dtype=torch.float32)
        case Llama3Scaling():
            return _llama3(frequencies, config.rope_scaling)
        case None:
            return frequencies


def _llama3(frequencies: Tensor, scaling: Llama3Scaling) -> Tensor:
    """Wavelengths above original / low_freq_factor are stretched, those below original / high_freq_factor kept."""
    wavelengths = 2 * math.pi / frequencies
    longest = scaling.original_context / scaling.low_freq_factor
    shortest = scaling.original_context / scaling.high_freq_factor
    keep = (scaling.original_context / wavelengths - scaling.low_freq_factor) / (
        scaling.high_freq_factor - scaling.low_freq_factor
    )
    stretched = frequencies / scaling.factor
    blended = (1 - keep) * stretched + keep * frequencies
    return torch.where(wavelengths > longest, stretched, torch.where(wavelengths < shortest, frequencies, blended))


BLOCK = 2048
"""Positions computed at once. Fixed, so that an entry's bits do not depend on how far the table was grown before."""


class Rotary:
    """Owns the cosine and sine of every position met so far, float32 [positions, head_dim], growing on demand.

    Invariant: an entry is a function of its position alone. The sine of the first half is stored negated: rotating
    is then x * cos + swap_halves(x) * sin.
    """

    def __init__(self, config: ModelConfig, device: torch.device | str = "cpu") -> None:
        self._frequencies = inverse_frequencies(config)
        self._context_length = config.context_length
        self._cos = torch.empty(0, config.head_dim, device=device)
        self._sin = torch.empty(0, config.head_dim, device=device)

    def _grow(self, length: int) -> None:
        while self._cos.shape[0] < length:
            first = self._cos.shape[0]
            positions = torch.arange(first, first + BLOCK, dtype=torch.float32)
            angles = positions[:, None] * self._frequencies[None, :]
            cos, sin = angles.cos(), angles.sin()
            self._cos = torch.cat((self._cos, torch.cat((cos, cos), dim=-1).to(self._cos.device)))
            self._sin = torch.cat((self._sin, torch.cat((-sin, sin), dim=-1).to(self._sin.device)))

    def at(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """(cos, sin) for int64 positions [rows]: [rows, 1, head_dim] each.

        Raises ValueError for a position at or past the context length.
        """
        length = int(positions.max()) + 1
        if length > self._context_length:
            raise ValueError(f"position {length - 1} is outside the model's context of {self._context_length}")
        self._grow(length)
        return self._cos[positions].to(dtype).unsqueeze(1), self._sin[positions].to(dtype).unsqueeze(1)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x [rows, heads, head_dim] turned by its rows' angles (from `Rotary.at`)."""
    half = x.shape[-1] // 2
    swapped = torch.cat((x[..., half:], x[..., :half]), dim=-1)
    return x * cos + swapped * sin
