"""What a model is made of: the shape of a decoder of the Llama family, read from a Hugging Face `config.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inference.errors import ModelError


@dataclass(frozen=True, slots=True)
class Family:
    """What sets one family apart: its Hugging Face architecture and the values its configurations may leave out."""

    architecture: str
    qkv_bias: bool = False  # always there, whatever `attention_bias` says
    qk_norm: bool = False
    kv_heads: int | None = None  # None: as many as query heads
    head_dim: int | None = None  # None: hidden_size / heads
    sliding_window: int | None = None
    window_is_optional: bool = False  # only `use_sliding_window` turns it on


FAMILIES = {
    "llama": Family("LlamaForCausalLM"),
    "mistral": Family("MistralForCausalLM", kv_heads=8, sliding_window=4096),
    "qwen2": Family("Qwen2ForCausalLM", qkv_bias=True, kv_heads=32, window_is_optional=True),
    "qwen3": Family("Qwen3ForCausalLM", qk_norm=True, kv_heads=32, head_dim=128, window_is_optional=True),
}
"""Supported families by their `model_type`."""


@dataclass(frozen=True, slots=True)
class LinearScaling:
    """Rotary positions divided by `factor`."""

    factor: float


@dataclass(frozen=True, slots=True)
class Llama3Scaling:
    """Llama 3.1's rotary scaling: long wavelengths are divided by `factor`, short ones kept, between blended."""

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_context: int


@dataclass(frozen=True, slots=True)
class FrequencyFactors:
    """A divisor for each of the head_dim / 2 rotary frequencies, as GGUF files carry them."""

    factors: tuple[float, ...]


RopeScaling = LinearScaling | Llama3Scaling | FrequencyFactors


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The shape of a model.

    `context_length` is the most tokens a sequence may have. A model with a sliding window attends to the last
    `sliding_window` tokens only; up to that length this is full attention, so its context length is capped there
    and no window is needed. Raises ModelError for a shape that contradicts itself.
    """

    family: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    context_length: int
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10000.0
    rope_scaling: RopeScaling | None = None
    tie_embeddings: bool = False
    attention_bias: bool = False  # of q, k and v
    output_bias: bool = False  # of the attention's output projection
    qk_norm: bool = False

    def __post_init__(self) -> None:
        for name in (
            "vocab_size",
            "hidden_size",
            "intermediate_size",
            "layers",
            "heads",
            "kv_heads",
            "context_length",
        ):
            if getattr(self, name) < 1:
                raise ModelError(f"the model's {name} is {getattr(self, name)}; it must be at least 1")
        if self.heads % self.kv_heads:
            raise ModelError(f"{self.heads} query heads cannot share {self.kv_heads} key/value heads evenly")
        if self.head_dim < 2 or self.head_dim % 2:
            raise ModelError(f"head_dim is {self.head_dim}; rotary positions need an even number")
        if isinstance(self.rope_scaling, FrequencyFactors) and len(self.rope_scaling.factors) != self.head_dim // 2:
            count = len(self.rope_scaling.factors)
            raise ModelError(f"{count} rotary frequency factors do not fit a head_dim of {self.head_dim}")

    @classmethod
    def from_hf(cls, raw: Mapping[str, Any]) -> ModelConfig:
        """Read a `config.json`. Raises ModelError that names what is missing or not supported."""
        model_type = raw.get("model_type")
        family = FAMILIES.get(str(model_type))
        if family is None:
            raise ModelError(f"model type {model_type!r} is not supported; supported: {', '.join(FAMILIES)}")
        architectures = raw.get("architectures") or [family.architecture]
        if architectures != [family.architecture]:
            raise ModelError(f"architecture {architectures} is not supported; expected {family.architecture}")
        _reject_unsupported(raw)

        heads = _int(raw, "num_attention_heads")
        hidden_size = _int(raw, "hidden_size")
        theta, scaling = _read_rope(raw)
        bias = bool(raw.get("attention_bias", False)) and not family.qkv_bias
        return cls(
            family=str(model_type),
            vocab_size=_int(raw, "vocab_size"),
            hidden_size=hidden_size,
            intermediate_size=_int(raw, "intermediate_size"),
            layers=_int(raw, "num_hidden_layers"),
            heads=heads,
            kv_heads=_int(raw, "num_key_value_heads", family.kv_heads or heads),
            head_dim=_int(raw, "head_dim", family.head_dim or hidden_size // heads),
            context_length=_context_length(raw, family),
            rms_norm_eps=float(raw.get("rms_norm_eps", 1e-6)),
            rope_theta=theta,
            rope_scaling=scaling,
            tie_embeddings=bool(raw.get("tie_word_embeddings", False)),
            attention_bias=family.qkv_bias or bias,
            output_bias=bias,
            qk_norm=family.qk_norm,
        )

    def to_hf(self) -> dict[str, Any]:
        """The `config.json` that `from_hf` reads back to an equal value."""
        raw: dict[str, Any] = {
            "architectures": [FAMILIES[self.family].architecture],
            "model_type": self.family,
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden_size,
            "intermediate_size": self.intermediate_size,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "head_dim": self.head_dim,
            "max_position_embeddings": self.context_length,
            "sliding_window": None,
            "hidden_act": "silu",
            "rms_norm_eps": self.rms_norm_eps,
            "rope_theta": self.rope_theta,
            "tie_word_embeddings": self.tie_embeddings,
            "attention_bias": self.output_bias,
        }
        match self.rope_scaling:
            case LinearScaling(factor):
                raw["rope_scaling"] = {"rope_type": "linear", "factor": factor}
            case Llama3Scaling(factor, low, high, original):
                raw["rope_scaling"] = {
                    "rope_type": "llama3",
                    "factor": factor,
                    "low_freq_factor": low,
                    "high_freq_factor": high,
                    "original_max_position_embeddings": original,
                }
            case FrequencyFactors(factors):
                raw["rope_scaling"] = {"rope_type": "factors", "factors": list(factors)}
            case None:
                pass
        return raw


def _int(raw: Mapping[str, Any], key: str, default: int | None = None) -> int:
    value = raw.get(key)
    if value is None:
        value = default
    if not isinstance(value, int) or value < 1:
        raise ModelError(f"config.json has {key} = {value!r}; a positive whole number is needed")
    return value


def _reject_unsupported(raw: Mapping[str, Any]) -> None:
    activation = raw.get("hidden_act", "silu")
    if activation != "silu":
        raise ModelError(f"activation {activation!r} is not supported; only silu is")
    if raw.get("mlp_bias"):
        raise ModelError("biases in the feed-forward layers (mlp_bias) are not supported")
    if raw.get("quantization_config"):
        method = raw["quantization_config"].get("quant_method", "unknown")
        raise ModelError(f"weights quantised by {method!r} are not supported; use unquantised safetensors or GGUF")


def _context_length(raw: Mapping[str, Any], family: Family) -> int:
    context = _int(raw, "max_position_embeddings")
    uses_window = raw.get("use_sliding_window", not family.window_is_optional)
    window = raw.get("sliding_window", family.sliding_window) if uses_window else None
    return context if window is None else min(context, int(window))


def _read_rope(raw: Mapping[str, Any]) -> tuple[float, RopeScaling | None]:
    """Rotary base and scaling: `rope_theta` and `rope_scaling`, or both in `rope_parameters` (transformers 5)."""
    parameters = raw.get("rope_parameters") or raw.get("rope_scaling") or {}
    theta = float(parameters.get("rope_theta", raw.get("rope_theta", 10000.0)))
    if parameters.get("partial_rotary_factor", raw.get("partial_rotary_factor", 1.0)) != 1.0:
        raise ModelError("rotary positions on a part of each head (partial_rotary_factor) are not supported")
    kind = parameters.get("rope_type", parameters.get("type", "default"))
    try:
        match kind:
            case "default":
                return theta, None
            case "linear":
                return theta, LinearScaling(float(parameters["factor"]))
            case "llama3":
                return theta, Llama3Scaling(
                    factor=float(parameters["factor"]),
                    low_freq_factor=float(parameters["low_freq_factor"]),
                    high_freq_factor=float(parameters["high_freq_factor"]),
                    original_context=int(parameters["original_max_position_embeddings"]),
                )
            case "factors":
                return theta, FrequencyFactors(tuple(float(factor) for factor in parameters["factors"]))
            case _:
                raise ModelError(f"rotary scaling {kind!r} is not supported; supported: linear, llama3")
    except KeyError as missing:
        raise ModelError(f"config.json lacks {missing} of rotary scaling {kind!r}") from missing
