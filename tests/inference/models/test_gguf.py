"""GGUF files: the model that comes out is the one that went in."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from inference.checkpoint import read_json
from inference.errors import ModelError
from inference.gguf import GGUFModel
from inference.loader import find_model
from inference.models.config import FrequencyFactors, ModelConfig
from inference.models.rotary import inverse_frequencies

SHAPE = {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4}


def logits(model, paged_run):
    ids = torch.randint(300, (40,), generator=torch.Generator().manual_seed(5)).tolist()
    return paged_run(model.transformer).step([ids])[0]


@pytest.mark.parametrize(
    ("family", "overrides"),
    [
        ("llama", {}),
        ("llama", {"tie_word_embeddings": True}),
        ("llama", {"attention_bias": True}),
        ("llama", {"head_dim": 8}),
        ("mistral", {"sliding_window": None}),
        ("qwen2", {}),
        ("qwen3", {"tie_word_embeddings": True}),
    ],
)
def test_a_float32_file_gives_the_bits_of_the_folder_it_came_from(family, overrides, checkpoint, write_gguf, paged_run):
    folder = checkpoint(family, **SHAPE, **overrides)
    ours, theirs = find_model(str(write_gguf(folder))).load(), find_model(str(folder)).load()
    assert torch.equal(logits(ours, paged_run), logits(theirs, paged_run))
    assert ours.config.tie_embeddings == theirs.config.tie_embeddings
    assert ours.config.rms_norm_eps == theirs.config.rms_norm_eps


def test_quantised_weights_are_near_the_original(checkpoint, write_gguf, paged_run):
    folder = checkpoint("llama", **SHAPE)
    ours, theirs = find_model(str(write_gguf(folder, quantise=True))).load(), find_model(str(folder)).load()
    difference = ours.transformer.weights.layers[0].qkv.weight - theirs.transformer.weights.layers[0].qkv.weight
    assert 0 < difference.abs().max() < 0.01
    similarity = torch.nn.functional.cosine_similarity(logits(ours, paged_run), logits(theirs, paged_run))
    assert similarity.min() > 0.99


def test_the_tokenizer_is_that_of_the_folder(checkpoint, write_gguf):
    folder = checkpoint("llama", **SHAPE)
    ours, theirs = find_model(str(write_gguf(folder))).load().tokenizer, find_model(str(folder)).load().tokenizer
    text = "<|start|>user\n1. e4 e5 it's 체스<|end|>\n"
    assert ours.encode(text) == theirs.encode(text)
    assert (ours.eos_ids, ours.end_of_turn_id) == (theirs.eos_ids, theirs.end_of_turn_id) == ({2}, 2)


def test_frequency_factors_scale_the_rotary_positions(checkpoint, write_gguf, paged_run):
    scaling = {
        "rope_type": "llama3",
        "rope_theta": 10000.0,
        "factor": 4.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32,
    }
    folder = checkpoint("llama", **SHAPE, rope_parameters=scaling)
    expected = find_model(str(folder)).load()
    plain = inverse_frequencies(ModelConfig.from_hf(read_json(folder / "config.json") | {"rope_parameters": None}))
    factors = (plain / inverse_frequencies(expected.config)).numpy()
    assert factors.max() == pytest.approx(4.0)
    ours = find_model(str(write_gguf(folder, factors=factors))).load()
    assert isinstance(ours.config.rope_scaling, FrequencyFactors)
    torch.testing.assert_close(logits(ours, paged_run), logits(expected, paged_run), atol=1e-4, rtol=1e-4)


def test_linear_scaling_and_window_are_read(checkpoint, write_gguf):
    fields = {"llama__rope__scaling__type": "linear", "llama__rope__scaling__factor": 2.0}
    path = write_gguf(checkpoint("llama", **SHAPE), llama__attention__sliding_window=128, **fields)
    config = GGUFModel(path).config
    assert config.rope_scaling.factor == 2.0
    assert config.context_length == 128


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"general__architecture": "gemma"}, "holds a 'gemma' model, which is not supported"),
        ({"llama__expert_count": 8}, "mixture of experts"),
        ({"llama__rope__scaling__type": "yarn"}, "rotary scaling 'yarn' is not supported"),
        ({"llama__rope__dimension_count": 8}, "differ in size"),
        ({"llama__attention__head_count": 0}, "head_count = 0; a positive whole number"),
        ({"llama__attention__head_count_kv": [2, 1]}, "head_count_kv = \\[2, 1\\]; a positive whole number"),
        ({"llama__embedding_length": None}, "lacks the field llama.embedding_length"),
        ({"tokenizer__ggml__pre": "unheard-of"}, "pre-tokenizer 'unheard-of', which is not supported"),
        ({"tokenizer__ggml__pre": None}, "pre-tokenizer None"),
        ({"tokenizer__ggml__model": "bert"}, "tokenizer of the kind 'bert'"),
        ({"tokenizer__ggml__tokens": None}, "holds no tokenizer vocabulary"),
        ({"llama__block_count": 3}, "lack model.layers.2."),
        ({"llama__block_count": 1}, "does not use: model.layers.1."),
        ({"llama__feed_forward_length": 95}, "has shape"),
    ],
)
def test_what_is_not_supported_is_one_clear_sentence(fields, message, checkpoint, write_gguf):
    path = write_gguf(checkpoint("llama", **SHAPE), **fields)
    with pytest.raises(ModelError, match=message) as caught:
        find_model(str(path)).load()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("keep", [0, 3, 4, 100, 20_000, -100])
def test_a_truncated_file_is_a_model_error(keep, checkpoint, write_gguf):
    path = write_gguf(checkpoint("llama", **SHAPE))
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ModelError, match="is not a readable GGUF file"):
        find_model(str(path)).load()


def test_a_file_of_another_kind_is_a_model_error(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(np.random.default_rng(0).bytes(1000))
    with pytest.raises(ModelError, match="is not a readable GGUF file"):
        find_model(str(path)).load()
