"""The layers of a decoder without their attention: what leads from one attention to the next, row by row.

There are two implementations: plain operations of torch, for any weights on any device, here; and one compiled function
for weights in 8 bits on the CPU, in inference/models/compiled.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from inference.models.config import ModelConfig
from inference.models.norm import rms_norm
from inference.models.rotary import rotate
from inference.models.weights import LayerWeights

Rotation = tuple[Tensor, Tensor]
"""Cosines and sines of the rows' positions, from `Rotary.at`."""

Heads = tuple[Tensor, Tensor, Tensor]
"""q [rows, heads, head_dim], k and v [rows, kv_heads, head_dim], positions applied."""


class Stages(Protocol):
    """x [rows, hidden] is the residual stream; who passes it gives it away. `mixed` [rows, heads * head_dim] is what
    attention made of the heads. Rows do not see each other."""

    def prepare(self) -> None:
        """Compile what has to be, or load what an earlier run compiled, rather than in the first step."""

    def begin(self, x: Tensor, rotation: Rotation) -> Heads:
        """From the embedding to the first attention."""

    def between(self, index: int, x: Tensor, mixed: Tensor, rotation: Rotation) -> tuple[Tensor, Heads]:
        """From the attention of layer `index` to that of the next: the stream behind the layer, and the next heads."""

    def end(self, x: Tensor, mixed: Tensor) -> Tensor:
        """From the last attention to the end of the stream."""


class PlainStages:
    """One operation of torch after the other."""

    def __init__(self, config: ModelConfig, layers: Sequence[LayerWeights]) -> None:
        self._layers = layers
        self._eps = config.rms_norm_eps
        self._split = [config.heads, config.kv_heads, config.kv_heads]
        self._head_dim = config.head_dim

    def prepare(self) -> None:
        pass

    def begin(self, x: Tensor, rotation: Rotation) -> Heads:
        return self._begin(self._layers[0], x, rotation)

    def between(self, index: int, x: Tensor, mixed: Tensor, rotation: Rotation) -> tuple[Tensor, Heads]:
        x = self._end(self._layers[index], x, mixed)
        return x, self._begin(self._layers[index + 1], x, rotation)

    def end(self, x: Tensor, mixed: Tensor) -> Tensor:
        return self._end(self._layers[-1], x, mixed)

    def _begin(self, layer: LayerWeights, x: Tensor, rotation: Rotation) -> Heads:
        normed = rms_norm(x, layer.input_norm, self._eps)
        heads = layer.qkv(normed).view(x.shape[0], sum(self._split), self._head_dim)
        q, k, v = torch.split(heads, self._split, dim=1)
        if layer.q_norm is not None and layer.k_norm is not None:
            q = rms_norm(q, layer.q_norm, self._eps)
            k = rms_norm(k, layer.k_norm, self._eps)
        return rotate(q, *rotation), rotate(k, *rotation), v

    def _end(self, layer: LayerWeights, x: Tensor, mixed: Tensor) -> Tensor:
        x = x + layer.output(mixed)
        gate, up = layer.gate_up(rms_norm(x, layer.post_norm, self._eps)).chunk(2, dim=-1)
        return x + layer.down(torch.nn.functional.silu(gate) * up)
