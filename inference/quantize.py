"""Weights in 8 bits: what is done to a checkpoint, once, before it is rounded.

Rounding a row of activations to 8 bits hurts when a few of its entries dwarf the rest, as they do in the residual
stream of a language model. So the whole model is turned into an equal one whose activations are even (the idea of
QuaRot, Ashkboos et al. 2024, and SpinQuant, Liu et al. 2024):

- the gains of the norms are folded into the matrices that follow them, after which a norm and a rotation commute;
- the residual stream is rotated, by one matrix for the whole model: folded into the embedding, into what every matrix
  that reads the stream reads, and what every matrix that writes it writes;
- the heads of the values are rotated, folded into V and the output projection;
- the input of the down projection cannot be, for a product of two activations stands before it: a blockwise Hadamard
  transform, folded into its weights, is applied to its rows when they are quantised.

Then each output channel W[o] is rounded to multiples of max |W[o]| / 127.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from inference.models.config import ModelConfig
from inference.models.quantised import QuantisedMatrix
from inference.models.weights import ReadTensor
from inference.rotation import block_size, hadamard_blocks, rotate

DOWN_BLOCK = 512
"""The most entries of the down projection's input that one transform mixes."""

ROWS_AT_ONCE = 2048
"""Of a matrix that are turned at once: more of them take float64 copies of a size that no cache holds."""


def quantise(weight: Tensor) -> QuantisedMatrix:
    """Round W [out, in], float64, channel by channel. A channel of zeros stays one."""
    scale = (weight.abs().amax(1) / 127).float()
    steps = weight / scale.clamp_min(torch.finfo(torch.float32).tiny)[:, None]
    return QuantisedMatrix(steps.round_().to(torch.int8), scale)


def stack(parts: Sequence[QuantisedMatrix], bias: Tensor | None = None) -> QuantisedMatrix:
    """Matrices of one input as one matrix, one below the other, with a bias for all of it."""
    return QuantisedMatrix(
        weight=torch.cat([part.weight for part in parts]),
        scale=torch.cat([part.scale for part in parts]),
        bias=None if bias is None else bias.float(),
    )


def quantised_matrices(config: ModelConfig, read: ReadTensor) -> Iterator[tuple[str, QuantisedMatrix]]:
    """Every matrix of the model, turned as the module says, from the tensors of a checkpoint. Named by the field that
    it is for: `layers.0.qkv` of LayerWeights, `head` of ModelWeights."""

    def reading(gain: Tensor, *weights: Tensor, bias: Tensor | None = None) -> QuantisedMatrix:
        """Matrices that read the stream after a norm of this gain."""
        gain = gain.double()
        pieces = [piece for weight in weights for piece in torch.split(weight, ROWS_AT_ONCE)]
        return stack([quantise(rotate(piece * gain)) for piece in pieces], bias)

    def writing(weight: Tensor) -> Tensor:
        """A matrix, or a bias, whose output is added to the stream."""
        return rotate(weight.movedim(0, -1)).movedim(-1, 0)

    def rotated_heads(weight: Tensor) -> Tensor:
        """V, or its bias: [kv_heads * head_dim, ...] with each head of the output rotated."""
        heads = weight.reshape(config.kv_heads, config.head_dim, *weight.shape[1:])
        return rotate(heads.movedim(1, -1)).movedim(-1, 1).flatten(0, 1)

    for index in range(config.layers):
        layer = f"model.layers.{index}."
        attention, mlp = f"{layer}self_attn.", f"{layer}mlp."

        bias = None
        if config.attention_bias:
            q, k, v = (read(f"{attention}{name}_proj.bias").double() for name in "qkv")
            bias = torch.cat((q, k, rotated_heads(v)))
        q, k, v = (read(f"{attention}{name}_proj.weight") for name in "qkv")
        gain = read(f"{layer}input_layernorm.weight")
        yield f"layers.{index}.qkv", reading(gain, q, k, rotated_heads(v), bias=bias)

        output = read(f"{attention}o_proj.weight").reshape(-1, config.heads, config.head_dim)
        bias = writing(read(f"{attention}o_proj.bias")) if config.output_bias else None
        yield f"layers.{index}.output", stack([quantise(writing(rotate(output).flatten(1)))], bias)

        gain = read(f"{layer}post_attention_layernorm.weight")
        gate, up = read(f"{mlp}gate_proj.weight"), read(f"{mlp}up_proj.weight")
        yield f"layers.{index}.gate_up", reading(gain, gate, up)

        down = hadamard_blocks(read(f"{mlp}down_proj.weight"), down_block(config))
        yield f"layers.{index}.down", quantise(writing(down))

    head = "model.embed_tokens.weight" if config.tie_embeddings else "lm_head.weight"
    yield "head", reading(read("model.norm.weight"), read(head))


def rotated_embedding(read: ReadTensor) -> Tensor:
    """float32 [vocab, hidden]: the stream begins rotated."""
    embedding = read("model.embed_tokens.weight")
    return torch.cat([rotate(piece).float() for piece in torch.split(embedding, ROWS_AT_ONCE)])


def down_block(config: ModelConfig) -> int:
    """Entries of the down projection's input that are mixed by one Hadamard transform."""
    return block_size(config.intermediate_size, DOWN_BLOCK)
