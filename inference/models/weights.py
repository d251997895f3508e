"""From the tensors of a checkpoint, under their Hugging Face names, to the matrices of the forward pass."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import torch
from torch import Tensor

from inference.errors import ModelError
from inference.models.config import ModelConfig
from inference.models.linear import LazyLinear, Linear, MakeLinear, make_linear
from inference.models.quantised import QuantisedMatrix

ReadTensor = Callable[[str], Tensor]
"""Reads one tensor of a checkpoint by its Hugging Face name; raises KeyError if there is none."""

IGNORED_SUFFIXES = ("rotary_emb.inv_freq", "attn.masked_bias")
"""Buffers that old checkpoints carry and that follow from the configuration."""


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """One decoder layer. `qkv` and `gate_up` hold matrices that have the same input stacked by output rows. A gain of a
    norm that is None is folded into the matrices that follow."""

    input_norm: Tensor | None
    qkv: Linear
    q_norm: Tensor | None
    k_norm: Tensor | None
    output: Linear
    post_norm: Tensor | None
    gate_up: Linear
    down: Linear


@dataclass(frozen=True, slots=True)
class ModelWeights:
    """`head` multiplies by all of `output_embedding`, which is `embedding` itself where the two are tied."""

    embedding: Tensor  # [vocab, hidden]
    layers: tuple[LayerWeights, ...]
    norm: Tensor | None  # [hidden], see LayerWeights
    output_embedding: Tensor | QuantisedMatrix  # [vocab, hidden]
    head: Linear


def tensor_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Hugging Face name and shape of every tensor that a checkpoint of this configuration must have."""
    hidden, inner = config.hidden_size, config.intermediate_size
    query, key = config.heads * config.head_dim, config.kv_heads * config.head_dim
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (config.vocab_size, hidden)}
    for index in range(config.layers):
        layer = f"model.layers.{index}."
        shapes |= {
            f"{layer}input_layernorm.weight": (hidden,),
            f"{layer}self_attn.q_proj.weight": (query, hidden),
            f"{layer}self_attn.k_proj.weight": (key, hidden),
            f"{layer}self_attn.v_proj.weight": (key, hidden),
            f"{layer}self_attn.o_proj.weight": (hidden, query),
            f"{layer}post_attention_layernorm.weight": (hidden,),
            f"{layer}mlp.gate_proj.weight": (inner, hidden),
            f"{layer}mlp.up_proj.weight": (inner, hidden),
            f"{layer}mlp.down_proj.weight": (hidden, inner),
        }
        if config.attention_bias:
            shapes |= {
                f"{layer}self_attn.{name}_proj.bias": (size,)
                for name, size in zip("qkv", (query, key, key), strict=True)
            }
        if config.output_bias:
            shapes[f"{layer}self_attn.o_proj.bias"] = (hidden,)
        if config.qk_norm:
            shapes |= {f"{layer}self_attn.{name}_norm.weight": (config.head_dim,) for name in "qk"}
    shapes["model.norm.weight"] = (hidden,)
    if not config.tie_embeddings:
        shapes["lm_head.weight"] = (config.vocab_size, hidden)
    return shapes


def check_names(config: ModelConfig, names: Collection[str]) -> None:
    """Raises ModelError if tensors are missing, or there are some that the forward pass would leave out."""
    expected = tensor_shapes(config).keys()
    missing = sorted(expected - set(names))
    if missing:
        raise ModelError(f"the weights lack {_few(missing)}")
    extra = {name for name in names if name not in expected and not name.endswith(IGNORED_SUFFIXES)}
    if config.tie_embeddings:
        extra.discard("lm_head.weight")  # some writers store the shared matrix twice
    if extra:
        raise ModelError(f"the weights hold tensors that a {config.family} model does not use: {_few(sorted(extra))}")


def _few(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def assemble(
    config: ModelConfig,
    read: ReadTensor,
    *,
    dtype: torch.dtype,
    device: torch.device | str,
    linear_of: MakeLinear = make_linear,
) -> ModelWeights:
    """Read every tensor once into memory of its own; `linear_of` decides how matrices are held.

    The copy keeps the result independent of the file: its memory is aligned alike on every load, and a file that is
    later truncated cannot kill the process. Raises ModelError for a tensor of another shape.
    """
    shapes = tensor_shapes(config)

    def stack(*names: str) -> Tensor:
        """The named tensors, one below the other."""
        rows = [shapes[name][0] for name in names]
        target = torch.empty((sum(rows), *shapes[names[0]][1:]), dtype=dtype, device=device)
        for name, part in zip(names, torch.split(target, rows), strict=True):
            source = read(name)
            if tuple(source.shape) != shapes[name]:
                raise ModelError(f"{name} has shape {tuple(source.shape)}; the configuration wants {shapes[name]}")
            part.copy_(source)
        return target

    def linear(*names: str) -> Linear:
        bias = stack(*(f"{name}.bias" for name in names)) if f"{names[0]}.bias" in shapes else None
        return linear_of(stack(*(f"{name}.weight" for name in names)), bias)

    def layer(index: int) -> LayerWeights:
        attention, mlp = f"model.layers.{index}.self_attn.", f"model.layers.{index}.mlp."
        return LayerWeights(
            input_norm=stack(f"model.layers.{index}.input_layernorm.weight"),
            qkv=linear(f"{attention}q_proj", f"{attention}k_proj", f"{attention}v_proj"),
            q_norm=stack(f"{attention}q_norm.weight") if config.qk_norm else None,
            k_norm=stack(f"{attention}k_norm.weight") if config.qk_norm else None,
            output=linear(f"{attention}o_proj"),
            post_norm=stack(f"model.layers.{index}.post_attention_layernorm.weight"),
            gate_up=linear(f"{mlp}gate_proj", f"{mlp}up_proj"),
            down=linear(f"{mlp}down_proj"),
        )

    embedding = stack("model.embed_tokens.weight")
    output_embedding = embedding if config.tie_embeddings else stack("lm_head.weight")
    return ModelWeights(
        embedding=embedding,
        layers=tuple(layer(index) for index in range(config.layers)),
        norm=stack("model.norm.weight"),
        output_embedding=output_embedding,
        head=LazyLinear(output_embedding, linear_of),
    )
