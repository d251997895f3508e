"""The forward pass of a Llama-family decoder over a paged KV cache."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from inference.batch import ForwardBatch
from inference.models.config import ModelConfig
from inference.models.rotary import Rotary, rotate
from inference.models.weights import LayerWeights, ModelWeights
from kernels.attention import Attention, KVCache


def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    """Root-mean-square normalisation of the last dimension (Zhang and Sennrich 2019), computed in float32."""
    wide = x.float()
    scaled = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    return gain * scaled.to(x.dtype)


class Transformer:
    """A decoder: token rows in, hidden rows and logits out.

    Owns its weights and the rotary table, and nothing that belongs to a request: the KV cache, the plan of the
    step's attention and the rows are arguments. Invariant: rows do not see each other except through attention, so
    that a row's result does not depend on the batch it is in, given row counts padded to kernels.attention.ROW_TILE.
    """

    def __init__(self, config: ModelConfig, weights: ModelWeights) -> None:
        self.config = config
        self.weights = weights
        self.dtype = weights.embedding.dtype
        self.device = weights.embedding.device
        self._rotary = Rotary(config, self.device)
        self._split = [config.heads, config.kv_heads, config.kv_heads]

    @torch.inference_mode()
    def forward(self, batch: ForwardBatch, cache: KVCache, attention: Attention) -> Tensor:
        """Run the rows through all layers and write their K and V to `cache`.

        Returns [outputs, hidden]: the hidden states of batch.output_rows after the final norm. Raises ValueError
        for a position outside the context length.
        """
        cos, sin = self._rotary.at(batch.positions, self.dtype)
        x = self.weights.embedding[batch.token_ids]
        for index, layer in enumerate(self.weights.layers):
            normed = rms_norm(x, layer.input_norm, self.config.rms_norm_eps)
            q, k, v = self._qkv(layer, normed, cos, sin)
            cache.write(index, batch.slots, k, v)
            mixed = attention.attend(q, k, v, cache, index, batch.attention)
            x = x + layer.output(mixed.flatten(1))
            x = x + self._feed_forward(layer, rms_norm(x, layer.post_norm, self.config.rms_norm_eps))
        return rms_norm(x[batch.output_rows], self.weights.norm, self.config.rms_norm_eps)

    @torch.inference_mode()
    def logits(self, hidden: Tensor) -> Tensor:
        """hidden [outputs, hidden] from `forward` -> float32 [outputs, vocab]."""
        return self.weights.head(hidden).float()

    @torch.inference_mode()
    def logits_of(self, hidden: Tensor, tokens: Sequence[int]) -> Tensor:
        """hidden [hidden], one row of `forward` -> float32 [tokens]: the logits of these tokens alone."""
        rows = self.weights.output_embedding[torch.tensor(tokens)]
        return (rows.double() * hidden.double()).sum(dim=1).float()

    def _qkv(self, layer: LayerWeights, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """x [rows, hidden] -> q [rows, heads, head_dim], k and v [rows, kv_heads, head_dim], positions applied."""
        heads = layer.qkv(x).view(x.shape[0], sum(self._split), self.config.head_dim)
        q, k, v = torch.split(heads, self._split, dim=1)
        if layer.q_norm is not None and layer.k_norm is not None:
            q = rms_norm(q, layer.q_norm, self.config.rms_norm_eps)
            k = rms_norm(k, layer.k_norm, self.config.rms_norm_eps)
        return rotate(q, cos, sin), rotate(k, cos, sin), v

    def _feed_forward(self, layer: LayerWeights, x: Tensor) -> Tensor:
        gate, up = layer.gate_up(x).chunk(2, dim=-1)
        return layer.down(torch.nn.functional.silu(gate) * up)
