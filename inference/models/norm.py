"""Root-mean-square normalisation (Zhang and Sennrich 2019)."""

from __future__ import annotations

import torch
from torch import Tensor


def rms_norm(x: Tensor, gain: Tensor | None, eps: float) -> Tensor:
    """x [..., size] brought to a root mean square of 1 along its last dimension, in float32, times `gain` [size].
    Without one the gain is part of the matrices that follow."""
    wide = x.float()
    scaled = (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype)
    return scaled if gain is None else gain * scaled
