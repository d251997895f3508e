"""Reading a config.json: defaults of each family, and a clear sentence for what is not supported."""

from __future__ import annotations

import pytest

from inference.errors import ModelError
from inference.models.config import FrequencyFactors, LinearScaling, Llama3Scaling, ModelConfig
from inference.models.rotary import BLOCK, Rotary

LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}


def raw(family="llama", **changes):
    facts = {
        "model_type": family,
        "vocab_size": 100,
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 8192,
    }
    return {name: value for name, value in (facts | changes).items() if value is not ...}


def test_the_families_differ_in_biases_and_norms():
    llama, qwen2, qwen3 = (ModelConfig.from_hf(raw(family)) for family in ("llama", "qwen2", "qwen3"))
    assert (llama.attention_bias, llama.output_bias, llama.qk_norm, llama.head_dim) == (False, False, False, 16)
    assert (qwen2.attention_bias, qwen2.output_bias, qwen2.qk_norm, qwen2.head_dim) == (True, False, False, 16)
    assert (qwen3.attention_bias, qwen3.output_bias, qwen3.qk_norm, qwen3.head_dim) == (False, False, True, 128)
    biased = ModelConfig.from_hf(raw("llama", attention_bias=True))
    assert (biased.attention_bias, biased.output_bias) == (True, True)


@pytest.mark.parametrize(
    ("config", "context"),
    [
        (raw("mistral", max_position_embeddings=32768), 4096),  # the window that the family has unless told otherwise
        (raw("mistral", sliding_window=None), 8192),
        (raw("mistral", sliding_window=1000), 1000),
        (raw("mistral", sliding_window=100_000), 8192),
        (raw("qwen2", sliding_window=1000, use_sliding_window=False), 8192),
        (raw("qwen2", sliding_window=1000), 8192),
        (raw("qwen3", sliding_window=1000, use_sliding_window=True), 1000),
    ],
)
def test_a_sliding_window_caps_the_context(config, context):
    assert ModelConfig.from_hf(config).context_length == context


def test_both_ways_to_write_rotary_scaling_are_read():
    old = ModelConfig.from_hf(raw(rope_theta=500000.0, rope_scaling=LLAMA3))
    new = ModelConfig.from_hf(raw(rope_parameters={**LLAMA3, "rope_theta": 500000.0}))
    assert old == new
    assert old.rope_theta == 500000.0
    assert old.rope_scaling == Llama3Scaling(8.0, 1.0, 4.0, 8192)
    assert ModelConfig.from_hf(raw(rope_scaling={"type": "linear", "factor": 2.0})).rope_scaling == LinearScaling(2.0)


@pytest.mark.parametrize(
    "config",
    [
        raw("llama", rope_scaling=LLAMA3, attention_bias=True),
        raw("llama", rope_scaling={"type": "linear", "factor": 2.0}, tie_word_embeddings=True),
        raw("llama", rope_scaling={"rope_type": "factors", "factors": [1.0] * 8}),
        raw("mistral", sliding_window=1000),
        raw("qwen2"),
        raw("qwen3", head_dim=32),
    ],
)
def test_a_written_configuration_reads_back_equal(config):
    first = ModelConfig.from_hf(config)
    assert ModelConfig.from_hf(first.to_hf()) == first


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (raw("gemma2"), "model type 'gemma2' is not supported; supported: llama, mistral, qwen2, qwen3"),
        (raw(architectures=["LlamaForSequenceClassification"]), "LlamaForSequenceClassification"),
        (raw(hidden_act="gelu"), "activation 'gelu' is not supported"),
        (raw(mlp_bias=True), "mlp_bias"),
        (raw(quantization_config={"quant_method": "gptq"}), "quantised by 'gptq'"),
        (raw(rope_scaling={"rope_type": "yarn", "factor": 4.0}), "rotary scaling 'yarn' is not supported"),
        (raw(rope_scaling={"rope_type": "llama3", "factor": 4.0}), "lacks 'low_freq_factor'"),
        (raw(partial_rotary_factor=0.5), "partial_rotary_factor"),
        (raw(hidden_size=...), "hidden_size = None; a positive whole number is needed"),
        (raw(num_attention_heads="four"), "num_attention_heads = 'four'"),
        (raw(num_attention_heads=0), "num_attention_heads = 0"),
        (raw(num_key_value_heads=3), "4 query heads cannot share 3 key/value heads evenly"),
        (raw(head_dim=15), "head_dim is 15"),
        (raw(rope_scaling={"rope_type": "factors", "factors": [1.0] * 5}), "5 rotary frequency factors"),
    ],
)
def test_what_is_not_supported_is_named(config, message):
    with pytest.raises(ModelError, match=message):
        ModelConfig.from_hf(config)


def test_growing_the_rotary_table_changes_no_entry():
    import torch

    config = ModelConfig.from_hf(raw(max_position_embeddings=3 * BLOCK))
    positions = torch.tensor([0, 5, BLOCK - 1])
    grown = Rotary(config)
    before = grown.at(positions, torch.float32)
    late = grown.at(torch.tensor([BLOCK + 7, 3 * BLOCK - 1]), torch.float32)
    after = grown.at(positions, torch.float32)
    at_once = Rotary(config).at(torch.tensor([BLOCK + 7, 3 * BLOCK - 1]), torch.float32)
    assert all(torch.equal(a, b) for a, b in zip((*before, *late), (*after, *at_once), strict=True))


def test_frequency_factors_divide_the_frequencies():
    from inference.models.rotary import inverse_frequencies

    plain = ModelConfig.from_hf(raw())
    factors = FrequencyFactors((1.0, 2.0, 4.0, 8.0, 8.0, 8.0, 8.0, 8.0))
    scaled = ModelConfig.from_hf(raw(rope_scaling={"rope_type": "factors", "factors": list(factors.factors)}))
    ratio = inverse_frequencies(plain) / inverse_frequencies(scaled)
    assert ratio.tolist() == list(factors.factors)
