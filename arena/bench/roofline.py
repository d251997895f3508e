"""What this machine can do at best, and how many moves a second follow from it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from inference.formats import KVFormat, WeightFormat
from inference.models.config import ModelConfig
from inference.models.int8 import Int8Linear
from inference.models.linear import Linear, make_linear
from inference.quantize import quantise
from kernels.attention import KVCache, SequenceRows
from kernels.cpu import CpuAttention

ROWS = 256
CONTEXT = 1024
PAGE_SIZE = 64
COPIED_BYTES = 1 << 28
MEASURE_S = 1.0
"""How long each ceiling is tried; the best try counts, since others may use the machine too."""


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Operations a second, a multiplication and an addition counting as two, and bytes that a copy moves a second,
    reads and writes counted: all in units of 1e9."""

    float32_gflops: float
    int8_gops: float
    attention_gflops: float
    memory_gbytes: float


@dataclass(frozen=True, slots=True)
class MoveCost:
    """What a move is: tokens forwarded through the layers, rows of the head that are computed, and the mean number of
    tokens that a forwarded token attends to."""

    tokens: float
    scored: float
    context: float


def measure_ceilings(config: ModelConfig, kv: KVFormat = "float32") -> Ceilings:
    """On the shapes of the model, with torch's number of threads; attention over a KV cache in `kv`."""
    hidden, wide = config.hidden_size, 2 * config.intermediate_size
    weight = torch.randn(wide, hidden)
    operations = 2 * ROWS * hidden * wide
    return Ceilings(
        float32_gflops=operations / _best_s(_product(make_linear(weight), hidden)) / 1e9,
        int8_gops=operations / _best_s(_product(Int8Linear(quantise(weight.double())), hidden)) / 1e9,
        attention_gflops=ROWS * CONTEXT * _attention_flops(config) / _best_s(_attention(config, kv)) / 1e9,
        memory_gbytes=2 * COPIED_BYTES / _best_s(_copy()) / 1e9,
    )


def limit_moves_per_s(config: ModelConfig, weights: WeightFormat, ceilings: Ceilings, cost: MoveCost) -> float:
    """Moves a second if every product ran at its ceiling and nothing else took time. The products of many requests
    together are meant: for a few rows the memory is slower than the arithmetic."""
    matrices = config.hidden_size * (
        (2 * config.heads + 2 * config.kv_heads) * config.head_dim + 3 * config.intermediate_size
    )
    products = 2 * (cost.tokens * config.layers * matrices + cost.scored * config.hidden_size * config.vocab_size)
    attention = cost.tokens * cost.context * config.layers * _attention_flops(config)
    rate = ceilings.int8_gops if weights == "int8" else ceilings.float32_gflops
    return 1e9 / (products / rate + attention / ceilings.attention_gflops)


def _attention_flops(config: ModelConfig) -> int:
    """For one query token and one key token, in one layer."""
    return 4 * config.heads * config.head_dim


def _product(linear: Linear, inner: int) -> Callable[[], object]:
    x = torch.randn(ROWS, inner)
    return lambda: linear(x)


def _attention(config: ModelConfig, kv: KVFormat) -> Callable[[], object]:
    """ROWS sequences of one token that share all of their CONTEXT."""
    pages = CONTEXT // PAGE_SIZE
    cache = KVCache(1, pages + 1, config.kv_heads, PAGE_SIZE, config.head_dim, dtype=getattr(torch, kv))
    attention = CpuAttention()
    shared = list(range(1, pages + 1))
    plan = attention.plan([SequenceRows(row, 1, CONTEXT - 1, shared) for row in range(ROWS)], ROWS, PAGE_SIZE)
    q, k = (torch.randn(ROWS, heads, config.head_dim) for heads in (config.heads, config.kv_heads))
    return lambda: attention.attend(q, k, k, cache, 0, plan)


def _copy() -> Callable[[], object]:
    source, target = torch.ones(COPIED_BYTES, dtype=torch.uint8), torch.empty(COPIED_BYTES, dtype=torch.uint8)
    return lambda: target.copy_(source)


def _best_s(work: Callable[[], object]) -> float:
    with torch.inference_mode():
        work()  # what is compiled, packed or allocated on first use
        best, end = float("inf"), time.perf_counter() + MEASURE_S
        while time.perf_counter() < end:
            started = time.perf_counter()
            work()
            best = min(best, time.perf_counter() - started)
    return best
