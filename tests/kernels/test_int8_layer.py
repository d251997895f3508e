"""The compiled layer beside plain operations on the same matrices, and the bits of its rows."""

import dataclasses

import pytest
import torch

from inference.models.compiled import CompiledStages
from inference.models.config import ModelConfig
from inference.models.int8 import Int8Linear
from inference.models.quantised import QuantisedMatrix
from inference.models.rotary import Rotary
from inference.models.stages import PlainStages
from inference.models.weights import LayerWeights

SMALL = ModelConfig(
    family="llama", vocab_size=10, hidden_size=48, intermediate_size=80, layers=3, heads=3, kv_heads=1, head_dim=8,
    context_length=512,
)  # fmt: skip
ODD = dataclasses.replace(SMALL, hidden_size=45, intermediate_size=77, head_dim=6)
BIASED = dataclasses.replace(SMALL, attention_bias=True, output_bias=True, qk_norm=True)
REAL = dataclasses.replace(SMALL, hidden_size=576, intermediate_size=1536, heads=9, kv_heads=3, head_dim=64, layers=2)
"""The shapes of the default model."""


def random(*shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def linear(out, inner, seed, *, biased=False, block=1):
    weight = (random(out, inner, seed=seed) * 40).clamp(-127, 127).to(torch.int8)
    scale = random(out, seed=seed + 1).abs() * 0.003 / inner**0.5
    return Int8Linear(QuantisedMatrix(weight, scale, random(out, seed=seed + 2) if biased else None), block)


def layers(config):
    mixed = config.heads * config.head_dim
    stacked = mixed + 2 * config.kv_heads * config.head_dim
    return [
        LayerWeights(
            input_norm=None,
            qkv=linear(stacked, config.hidden_size, 10 * index, biased=config.attention_bias),
            q_norm=random(config.head_dim, seed=index) if config.qk_norm else None,
            k_norm=random(config.head_dim, seed=index + 1) if config.qk_norm else None,
            output=linear(config.hidden_size, mixed, 10 * index + 1, biased=config.output_bias),
            post_norm=None,
            gate_up=linear(2 * config.intermediate_size, config.hidden_size, 10 * index + 2),
            down=linear(
                config.hidden_size,
                config.intermediate_size,
                10 * index + 3,
                block=config.intermediate_size & -config.intermediate_size,
            ),
        )
        for index in range(config.layers)
    ]


def all_the_way(stages, config, rows, *, threads):
    """What the stages make of `rows` rows, attention being the identity on the queries: the last stream, and the heads
    before each attention."""
    x, seen = random(100, config.hidden_size, seed=3)[:rows], []
    rotation = Rotary(config).at(torch.arange(rows) * 7 % 500, torch.float32)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        seen.append(stages.begin(x, rotation))
        for index in range(config.layers - 1):
            x, heads = stages.between(index, x, seen[-1][0].flatten(1), rotation)
            seen.append(heads)
        return stages.end(x, seen[-1][0].flatten(1)), seen
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("config", [SMALL, ODD, BIASED, REAL], ids=["small", "odd", "biased", "real"])
def test_a_layer_computes_what_single_operations_do(config):
    weights = layers(config)
    got, got_heads = all_the_way(CompiledStages(config, weights), config, 40, threads=2)
    want, want_heads = all_the_way(PlainStages(config, weights), config, 40, threads=2)
    for ours, theirs in zip([got, *sum(got_heads, ())], [want, *sum(want_heads, ())], strict=True):
        assert ours.shape == theirs.shape
        # An entry that is rounded the other way in 8 bits is half a step off.
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0.02 * float(theirs.std()))


@pytest.mark.parametrize("config", [ODD, BIASED, REAL], ids=["odd", "biased", "real"])
def test_a_row_has_the_same_bits_alone_and_in_any_batch_at_any_number_of_threads(config):
    stages = CompiledStages(config, layers(config))
    want, want_heads = all_the_way(stages, config, 70, threads=1)
    for rows, threads in ((70, 2), (70, 3), (70, 64), (1, 1), (1, 2), (8, 16), (9, 2), (33, 1), (64, 2)):
        got, got_heads = all_the_way(stages, config, rows, threads=threads)
        assert torch.equal(got, want[:rows]), (rows, threads)
        for ours, theirs in zip(sum(got_heads, ()), sum(want_heads, ()), strict=True):
            assert torch.equal(ours, theirs[:rows]), (rows, threads)


def test_what_is_not_finite_in_a_row_stays_there():
    stages = CompiledStages(SMALL, layers(SMALL))
    x, rotation = random(24, SMALL.hidden_size, seed=5), Rotary(SMALL).at(torch.arange(24), torch.float32)
    clean = [head.clone() for head in stages.begin(x.clone(), rotation)]
    x[5, 7], x[11, 0] = float("nan"), float("inf")
    for head, want in zip(stages.begin(x, rotation), clean, strict=True):
        spoilt = (~torch.isfinite(head)).flatten(1).any(1)
        assert spoilt.nonzero().flatten().tolist() == [5, 11]
        assert torch.equal(head[~spoilt], want[~spoilt])
