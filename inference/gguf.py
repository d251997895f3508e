"""Reading GGUF files: configuration, weights and tokenizer of a llama, qwen2 or qwen3 model.

Weights come out as float32 under their Hugging Face names, so that everything behind this file knows one layout.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from inference.errors import ModelError
from inference.gguf_file import GGUFFile
from inference.gguf_tokenizer import TokenizerFiles, tokenizer_files
from inference.models.config import FAMILIES, FrequencyFactors, LinearScaling, ModelConfig, RopeScaling

ARCHITECTURES = ("llama", "qwen2", "qwen3")

GLOBAL_NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
FREQUENCY_FACTORS = "rope_freqs.weight"


class GGUFModel:
    """A model in a GGUF file. Tensors are dequantised one by one, when asked for.

    Raises ModelError for a file that is not GGUF, is truncated, or holds what is not supported.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = GGUFFile(path)
        self._family = self._read_family()
        self._names = {self._hf_name(name): name for name in self._file.tensors if name != FREQUENCY_FACTORS}
        self.config = self._read_config()

    def names(self) -> list[str]:
        """Hugging Face names of the tensors in the file."""
        return list(self._names)

    def read(self, name: str) -> Tensor:
        """One tensor as float32, by its Hugging Face name. Raises KeyError; ModelError for an unknown quantisation."""
        values = torch.from_numpy(self._file.tensor(self._names[name]))
        if self._family == "llama" and ".self_attn.q_proj." in name:
            return _halves_from_pairs(values, self.config.heads)
        if self._family == "llama" and ".self_attn.k_proj." in name:
            return _halves_from_pairs(values, self.config.kv_heads)
        return values

    def tokenizer_files(self) -> TokenizerFiles:
        """The tokenizer as the files of a Hugging Face folder. Raises ModelError for kinds that are not supported."""
        return tokenizer_files(self._file.fields, str(self.path))

    def _hf_name(self, name: str) -> str:
        if name in GLOBAL_NAMES:
            return GLOBAL_NAMES[name]
        match name.split("."):
            case ["blk", index, part, kind] if part in LAYER_NAMES and kind in ("weight", "bias"):
                return f"model.layers.{index}.{LAYER_NAMES[part]}.{kind}"
        raise ModelError(f"{self.path} holds the tensor {name}, which is not supported")

    def _get(self, key: str, default: Any = None) -> Any:
        value = self._file.fields.get(key, default)
        if value is None:
            raise ModelError(f"{self.path} lacks the field {key}")
        return value

    def _count(self, key: str, default: int | None = None) -> int:
        value = self._get(key, default)
        if not isinstance(value, int) or value < 1:
            raise ModelError(f"{self.path} has {key} = {value!r}; a positive whole number is needed")
        return value

    def _read_family(self) -> str:
        family = self._get("general.architecture")
        if family not in ARCHITECTURES:
            raise ModelError(
                f"{self.path} holds a {family!r} model, which is not supported; supported: {', '.join(ARCHITECTURES)}"
            )
        if self._get(f"{family}.expert_count", 0):
            raise ModelError(f"{self.path} holds a mixture of experts, which is not supported")
        return str(family)

    def _read_config(self) -> ModelConfig:
        family = self._family
        heads = self._count(f"{family}.attention.head_count")
        hidden_size = self._count(f"{family}.embedding_length")
        head_dim = self._count(f"{family}.attention.key_length", hidden_size // heads)
        sizes = {self._count(f"{family}.{key}", head_dim) for key in ("rope.dimension_count", "attention.value_length")}
        if sizes != {head_dim}:
            raise ModelError(f"{self.path}: heads whose keys, values and rotary parts differ in size are not supported")
        context = self._count(f"{family}.context_length")
        return ModelConfig(
            family=family,
            vocab_size=self._rows("model.embed_tokens.weight"),
            hidden_size=hidden_size,
            intermediate_size=self._count(f"{family}.feed_forward_length"),
            layers=self._count(f"{family}.block_count"),
            heads=heads,
            kv_heads=self._count(f"{family}.attention.head_count_kv", heads),
            head_dim=head_dim,
            context_length=min(context, self._get(f"{family}.attention.sliding_window", 0) or context),
            rms_norm_eps=_shortest(self._get(f"{family}.attention.layer_norm_rms_epsilon")),
            rope_theta=_shortest(self._get(f"{family}.rope.freq_base", 10000.0)),
            rope_scaling=self._read_scaling(),
            tie_embeddings="lm_head.weight" not in self._names,
            attention_bias="model.layers.0.self_attn.q_proj.bias" in self._names,
            output_bias="model.layers.0.self_attn.o_proj.bias" in self._names,
            qk_norm=FAMILIES[family].qk_norm,
        )

    def _rows(self, name: str) -> int:
        if name not in self._names:
            raise ModelError(f"{self.path} lacks the tensor of {name}")
        return self._file.tensors[self._names[name]].shape[0]

    def _read_scaling(self) -> RopeScaling | None:
        if FREQUENCY_FACTORS in self._file.tensors:
            return FrequencyFactors(tuple(self._file.tensor(FREQUENCY_FACTORS).tolist()))
        kind = self._get(f"{self._family}.rope.scaling.type", "none")
        if kind == "none":
            return None
        if kind == "linear":
            return LinearScaling(_shortest(self._get(f"{self._family}.rope.scaling.factor")))
        raise ModelError(f"{self.path}: rotary scaling {kind!r} is not supported; supported: linear, llama3")


def _halves_from_pairs(rows: Tensor, heads: int) -> Tensor:
    """Undo the row order of llama GGUF files, where the two dimensions of a rotary pair are neighbours."""
    head_dim = rows.shape[0] // heads
    return rows.reshape(heads, head_dim // 2, 2, *rows.shape[1:]).transpose(1, 2).reshape(rows.shape)


def _shortest(value: float) -> float:
    """The shortest decimal that a float32 field stands for: 9.99999974e-06 was written as 1e-5."""
    return float(str(np.float32(value)))
