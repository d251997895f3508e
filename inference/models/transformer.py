"""The forward pass of a Llama-family decoder over a paged KV cache."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from inference.batch import ForwardBatch
from inference.models.compiled import make_stages
from inference.models.config import ModelConfig
from inference.models.norm import rms_norm
from inference.models.rotary import Rotary
from inference.models.weights import ModelWeights
from kernels.attention import Attention, KVCache


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
        self._stages = make_stages(config, weights.layers)

    def prepare(self) -> None:
        """Compile what has to be, rather than in the first step."""
        self._stages.prepare()

    @torch.inference_mode()
    def forward(self, batch: ForwardBatch, cache: KVCache, attention: Attention) -> Tensor:
        """Run the rows through all layers and write their K and V to `cache`.

        Returns [outputs, hidden]: the hidden states of batch.output_rows after the final norm. Raises ValueError
        for a position outside the context length.
        """
        rotation = self._rotary.at(batch.positions, self.dtype)
        x = self.weights.embedding[batch.token_ids]
        q, k, v = self._stages.begin(x, rotation)
        for index in range(self.config.layers - 1):
            cache.write(index, batch.slots, k, v)
            mixed = attention.attend(q, k, v, cache, index, batch.attention)
            x, (q, k, v) = self._stages.between(index, x, mixed.flatten(1), rotation)
        last, rows = self.config.layers - 1, batch.output_rows  # what is behind the last attention is for them alone
        cache.write(last, batch.slots, k, v)
        mixed = attention.attend(q, k, v, cache, last, batch.attention)
        x = self._stages.end(x[rows], mixed.flatten(1)[rows])
        return rms_norm(x, self.weights.norm, self.config.rms_norm_eps)

    @torch.inference_mode()
    def logits(self, hidden: Tensor) -> Tensor:
        """hidden [outputs, hidden] from `forward` -> float32 [outputs, vocab]."""
        return self.weights.head(hidden).float()

    @torch.inference_mode()
    def logits_of(self, hidden: Tensor, tokens: Sequence[int]) -> Tensor:
        """hidden [hidden], one row of `forward` -> float32 [tokens]: the logits of these tokens alone."""
        rows = self.weights.output_embedding[torch.tensor(tokens, dtype=torch.int64)]
        return (rows.double() * hidden.double()).sum(dim=1).float()
