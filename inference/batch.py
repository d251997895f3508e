"""What one forward pass computes: the explicit argument of a model, in place of any global context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor


@dataclass(frozen=True, slots=True)
class ForwardBatch:
    """The rows of one step, padded to a multiple of the row tile.

    Padding rows write to the null page and are never read: token 0, position 0, slot 0.
    """

    token_ids: Tensor  # int64 [rows]
    positions: Tensor  # int64 [rows]: absolute position of each token in its sequence
    slots: Tensor  # int64 [rows]: page * page_size + offset, where the row's K and V are written
    output_rows: Tensor  # int64 [outputs]: rows whose logits are wanted, padded to the row tile
    attention: Any  # what `Attention.plan` made of the step's sequences; opaque to the model
