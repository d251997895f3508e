"""The layers of a decoder without their attention, for weights in 8 bits: each is one call of kernels/int8_layer.py."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from inference.models.config import ModelConfig
from inference.models.int8 import Int8Linear
from inference.models.stages import Heads, PlainStages, Rotation, Stages
from inference.models.weights import LayerWeights
from kernels.int8_layer import between, make_workspace

NONE = np.empty(0, np.float32)
NO_ROWS = np.empty((0, 0), np.float32)
NO_HEADS = np.empty((0, 0, 0), np.float32)


def make_stages(config: ModelConfig, layers: Sequence[LayerWeights]) -> Stages:
    """The faster of the two that these weights allow."""
    matrices = [_matrices(layer, layer) for layer in layers]
    if all(isinstance(linear, Int8Linear) for linears in matrices for linear in linears):
        return CompiledStages(config, layers)
    return PlainStages(config, layers)


def _matrices(ending: LayerWeights, beginning: LayerWeights) -> tuple[Any, Any, Any, Any]:
    """What lies between two attentions."""
    return ending.output, ending.gate_up, ending.down, beginning.qkv


class CompiledStages:
    """Needs Int8Linear for all matrices, with the gains of the norms folded into them.

    Each thread that calls it has a workspace of its own.
    """

    def __init__(self, config: ModelConfig, layers: Sequence[LayerWeights]) -> None:
        self._heads = (config.heads, config.head_dim)
        self._kv_heads = (config.kv_heads, config.head_dim)
        self._eps = np.float32(config.rms_norm_eps)
        self._hidden, self._size = config.hidden_size, config.intermediate_size
        self._block = layers[0].down.block  # type: ignore[attr-defined]
        self._widest = (
            max(config.hidden_size, config.intermediate_size, config.heads * config.head_dim),
            max(
                config.hidden_size, 2 * config.intermediate_size, (config.heads + 2 * config.kv_heads) * config.head_dim
            ),
        )
        # Entry i leads into the attention of layer i, and the last one to the end.
        between = [
            _matrices(layers[max(index - 1, 0)], layers[min(index, len(layers) - 1)])
            for index in range(len(layers) + 1)
        ]
        self._weights = [tuple(matrix.packed for matrix in matrices) for matrices in between]
        self._channels = [tuple(matrix.channels for matrix in matrices) for matrices in between]
        gains = [
            tuple(NONE if gain is None else gain.numpy() for gain in (layer.q_norm, layer.k_norm)) for layer in layers
        ]
        self._gains = [*gains, (NONE, NONE)]
        self._own = threading.local()

    def prepare(self) -> None:
        self.end(torch.zeros(1, self._hidden), torch.zeros(1, math.prod(self._heads)))

    def begin(self, x: Tensor, rotation: Rotation) -> Heads:
        return self._into(0, x, NO_ROWS, rotation)

    def between(self, index: int, x: Tensor, mixed: Tensor, rotation: Rotation) -> tuple[Tensor, Heads]:
        return x, self._into(index + 1, x, mixed.numpy(), rotation)

    def end(self, x: Tensor, mixed: Tensor) -> Tensor:
        self._run(len(self._weights) - 1, x, mixed.numpy(), NO_ROWS, NO_ROWS, NO_HEADS, NO_HEADS, NO_HEADS)
        return x

    def _into(self, index: int, x: Tensor, mixed: Any, rotation: Rotation) -> Heads:
        rows = x.shape[0]
        q = torch.empty(rows, *self._heads)
        k, v = torch.empty(rows, *self._kv_heads), torch.empty(rows, *self._kv_heads)
        cos, sin = (turn.view(rows, -1).numpy() for turn in rotation)
        self._run(index, x, mixed, cos, sin, q.numpy(), k.numpy(), v.numpy())
        return q, k, v

    def _run(self, index: int, x: Tensor, *rows: Any) -> None:
        threads = torch.get_num_threads()
        between(
            x.numpy(),
            *rows,
            self._weights[index],
            self._channels[index],
            self._gains[index],
            self._size,
            self._block,
            self._eps,
            *self._workspace(threads),
            threads,
        )

    def _workspace(self, threads: int) -> tuple[Any, Any, Any, Any]:
        if getattr(self._own, "threads", None) != threads:
            self._own.threads, self._own.workspace = threads, make_workspace(*self._widest, threads)
        workspace: tuple[Any, Any, Any, Any] = self._own.workspace
        return workspace
