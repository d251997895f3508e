"""Our forward pass against transformers' own modelling code."""

from __future__ import annotations

import pytest
import torch
import transformers

from inference.catalogue import model_folder
from inference.loader import find_model
from inference.models.linear import make_linear
from inference.types import Message
from kernels.reference import ReferenceAttention

LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
MODELS = {
    "llama": ("llama", {}),
    "llama with tied embeddings": ("llama", {"tie_word_embeddings": True}),
    "llama with biases": ("llama", {"attention_bias": True}),
    "llama 3 positions": ("llama", {"rope_parameters": LLAMA3}),
    "linear positions": ("llama", {"rope_parameters": {"rope_type": "linear", "rope_theta": 5000.0, "factor": 2.0}}),
    "mistral": ("mistral", {"sliding_window": None}),
    "mistral with a window": ("mistral", {"sliding_window": 64}),
    "qwen2": ("qwen2", {}),
    "qwen2 with tied embeddings": ("qwen2", {"tie_word_embeddings": True}),
    "qwen3": ("qwen3", {}),
    "qwen3 with biases": ("qwen3", {"attention_bias": True, "head_dim": 8}),
}


def tokens(count, seed):
    return torch.randint(320, (count,), generator=torch.Generator().manual_seed(seed)).tolist()


@torch.no_grad()
def reference_logits(folder, ids):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    return model(torch.tensor([ids])).logits[0]


@pytest.mark.parametrize("name", MODELS)
def test_prefill_and_decode_of_two_sequences_give_the_logits_of_transformers(name, checkpoint, paged_run):
    family, overrides = MODELS[name]
    folder = checkpoint(family, **overrides)
    long, short = tokens(45, 1), tokens(11, 2)
    run = paged_run(folder, sequences=2)
    steps = [run.step([long[:40], short[:6]])]
    steps += [run.step([[long[40 + i]], [short[6 + i]]]) for i in range(5)]
    for index, ids in enumerate((long, short)):
        ours = torch.cat([step[index] for step in steps])
        torch.testing.assert_close(ours, reference_logits(folder, ids), atol=2e-5, rtol=1e-4)


def test_the_reference_attention_fits_the_model_too(checkpoint, paged_run):
    folder = checkpoint("qwen3")
    logits = paged_run(folder, attention=ReferenceAttention()).step([tokens(12, 1)])[0]
    torch.testing.assert_close(logits, reference_logits(folder, tokens(12, 1)), atol=2e-5, rtol=1e-4)


def test_rotary_scaling_matters_in_the_comparison(checkpoint):
    plain, scaled = checkpoint("llama", "plain"), checkpoint("llama", "scaled", rope_parameters=LLAMA3)
    difference = reference_logits(plain, tokens(45, 1)) - reference_logits(scaled, tokens(45, 1))
    assert difference.abs().max() > 1e-2


def test_a_row_has_the_same_bits_alone_and_among_others(checkpoint, paged_run):
    folder = checkpoint("qwen3")
    ids = tokens(20, 3)
    alone = paged_run(folder).step([ids])[0]
    company = [tokens(30, seed) for seed in range(4, 8)]
    among = paged_run(folder, sequences=5).step([*company, ids])[-1]
    assert torch.equal(alone, among)


def test_a_sequence_has_the_same_bits_whole_and_in_chunks(checkpoint, paged_run):
    folder = checkpoint("llama")
    ids = tokens(40, 3)
    whole = paged_run(folder).step([ids])[0]
    run = paged_run(folder)
    chunks = [run.step([ids[start:end]])[0] for start, end in ((0, 17), (17, 18), (18, 40))]
    assert torch.equal(whole, torch.cat(chunks))


def test_a_position_outside_the_context_is_refused(checkpoint, paged_run):
    run = paged_run(checkpoint("mistral", sliding_window=16))
    run.step([tokens(16, 1)])
    with pytest.raises(ValueError, match="position 16 is outside the model's context of 16"):
        run.step([[5]])


def test_stacked_matrices_give_the_bits_of_separate_ones(real_model):
    layer, config = real_model.transformer.weights.layers[3], real_model.config
    x = torch.randn(48, config.hidden_size, generator=torch.Generator().manual_seed(0))
    key = config.kv_heads * config.head_dim
    for stacked, sizes in (
        (layer.qkv, [config.hidden_size, key, key]),
        (layer.gate_up, [config.intermediate_size] * 2),
    ):
        parts = [make_linear(part.clone())(x) for part in stacked.weight.split(sizes)]
        assert torch.equal(stacked(x), torch.cat(parts, dim=-1))


def test_the_real_model_has_the_logits_of_transformers(real_model, paged_run):
    reference = transformers.AutoModelForCausalLM.from_pretrained(model_folder(real_model.name), dtype=torch.float32)
    contents = [
        "What is the best reply to 1. e4?",
        "Continue the game.\n\n1. e4 c5 2. Nf3 d6 3. d4 cxd4\n\n4. Nxd4",
        "체스와 장기는 다르다.",
    ]
    prompts = [list(real_model.tokenizer.encode_messages([Message("user", content)])) for content in contents]
    run = paged_run(real_model.transformer, sequences=3, length=128)
    ours = [run.step([ids[:-2] for ids in prompts]), *(run.step([[ids[at]] for ids in prompts]) for at in (-2, -1))]
    for index, ids in enumerate(prompts):
        with torch.no_grad():
            theirs = reference(torch.tensor([ids])).logits[0]
        logits = torch.cat([step[index] for step in ours])
        assert (logits - theirs).abs().max() < 2e-3
        assert torch.equal(logits.argmax(-1), theirs.argmax(-1))


def test_bfloat16_weights_stay_near_float32(checkpoint, paged_run):
    folder = checkpoint("llama")
    ids = tokens(16, 1)
    narrow = find_model(str(folder)).load(dtype=torch.bfloat16).transformer
    assert narrow.weights.layers[0].down.weight.dtype == torch.bfloat16
    run = paged_run(narrow)
    logits = run.step([ids])[0]
    assert logits.dtype == torch.float32
    assert torch.nn.functional.cosine_similarity(logits, reference_logits(folder, ids)).min() > 0.99
