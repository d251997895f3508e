import dataclasses

import pytest

from arena.bench import roofline
from arena.bench.roofline import Ceilings, MoveCost, limit_moves_per_s, measure_ceilings
from inference.models.config import ModelConfig

SHAPE = ModelConfig(
    family="llama",
    vocab_size=1000,
    hidden_size=64,
    intermediate_size=128,
    layers=3,
    heads=4,
    kv_heads=2,
    head_dim=16,
    context_length=2048,
)
CEILINGS = Ceilings(float32_gflops=10.0, int8_gops=40.0, attention_gflops=5.0, memory_gbytes=20.0)


def test_the_limit_counts_products_head_and_attention():
    layer = 64 * 64 * 2 + 2 * 64 * 32 + 3 * 64 * 128
    products = 2 * (7 * 3 * layer + 2 * 64 * 1000)
    attention = 7 * 500 * 3 * 4 * 64
    cost = MoveCost(tokens=7, scored=2, context=500)
    assert limit_moves_per_s(SHAPE, "float32", CEILINGS, cost) == pytest.approx(1e9 / (products / 10 + attention / 5))
    assert limit_moves_per_s(SHAPE, "int8", CEILINGS, cost) == pytest.approx(1e9 / (products / 40 + attention / 5))


def test_ceilings_are_measured_on_the_models_shapes(monkeypatch):
    monkeypatch.setattr(roofline, "MEASURE_S", 0.01)
    monkeypatch.setattr(roofline, "COPIED_BYTES", 1 << 20)
    assert all(value > 0 for value in dataclasses.astuple(measure_ceilings(SHAPE)))
