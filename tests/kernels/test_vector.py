"""What is compiled for a processor with other vectors than the one at hand has the same bits."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from kernels import int8
from kernels.attention import KVCache, SequenceRows
from kernels.cpu import CpuAttention
from kernels.vector import target_features

AVX2 = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx,+avx2,+fma"}
NEITHER = {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "+sse2"}


def products():
    """y [21, 40] of quantised rows, with a transform in blocks of 16."""
    random = np.random.default_rng(0)
    weight = random.integers(-127, 128, (40, 112)).astype(np.int8)
    matrix = int8.pack(weight, random.random(40, np.float32), random.random(40, np.float32))
    return int8.multiply(random.standard_normal((21, 112), np.float32), *matrix, 16, 1)[:, :40]


def attention(dtype=torch.float32):
    """Of 21 rows in 3 sequences, 2 of which share a page; heads as in the default model."""
    random = torch.Generator().manual_seed(0)
    cache = KVCache(1, 6, 3, 64, 64, dtype=dtype)
    k, v = (torch.randn(6 * 64, 3, 64, generator=random) for _ in "kv")
    cache.write(0, torch.arange(6 * 64), k, v)
    q = torch.randn(21, 9, 64, generator=random)
    sequences = [SequenceRows(0, 1, 100, [1, 2]), SequenceRows(1, 13, 70, [1, 3]), SequenceRows(14, 7, 0, [4])]
    attention = CpuAttention()
    return attention.attend(q, q, q, cache, 0, attention.plan(sequences, 21, 64)).numpy()


def in_bfloat16():
    return attention(torch.bfloat16)


def elsewhere(work, processor, folder):
    """The same, compiled for another processor in a process of its own."""
    results = folder / "results.npy"
    subprocess.run([sys.executable, __file__, work.__name__, str(results)], check=True, env=os.environ | processor)
    return np.load(results)


@pytest.mark.skipif("avx2" not in target_features(), reason="the processor has no AVX2")
@pytest.mark.parametrize("work", [products, attention])
def test_narrow_vectors_have_the_bits_of_wide_ones(work, tmp_path):
    np.testing.assert_array_equal(elsewhere(work, AVX2, tmp_path), work())


@pytest.mark.skipif("avx2" not in target_features(), reason="the processor has no AVX2")
def test_bfloat16_is_read_where_the_processor_does_not_multiply_it(tmp_path):
    narrow = elsewhere(in_bfloat16, AVX2, tmp_path)
    np.testing.assert_allclose(narrow, attention(), atol=0.02)
    np.testing.assert_allclose(in_bfloat16(), narrow, atol=0.02)
    assert (narrow != attention()).any()


@pytest.mark.skipif("sse2" not in target_features(), reason="the processor is no x86")
def test_products_need_no_instruction_of_their_own(tmp_path):
    np.testing.assert_array_equal(elsewhere(products, NEITHER, tmp_path), products())


if __name__ == "__main__":
    np.save(sys.argv[2], {work.__name__: work for work in (products, attention, in_bfloat16)}[sys.argv[1]]())
