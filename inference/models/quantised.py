"""A matrix whose rows are 8-bit integers with a factor each."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, slots=True)
class QuantisedMatrix:
    """W [out, in] is about weight * scale[:, None]; indexing gives rows of that, as a tensor does."""

    weight: Tensor  # int8 [out, in], -127..127
    scale: Tensor  # float32 [out]
    bias: Tensor | None = None  # float32 [out]

    def __getitem__(self, rows: Tensor) -> Tensor:
        """int64 [n] -> float32 [n, in]."""
        return self.weight[rows] * self.scale[rows][:, None]
