"""The attention that runs, held to the formula, and to itself in any company."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.attention import KVCache, SequenceRows
from kernels.cpu import CpuAttention
from kernels.reference import ReferenceAttention
from kernels.vector import HAS_PAIRS

HEADS, KV_HEADS, DIM = 6, 2, 32


def filled_cache(
    pages: int, page_size: int, *, kv_heads: int = KV_HEADS, dim: int = DIM, dtype: torch.dtype = torch.float32
) -> KVCache:
    cache = KVCache(1, pages, kv_heads, page_size, dim, dtype=dtype)
    generator = torch.Generator().manual_seed(1)
    k, v = (torch.randn(pages * page_size, kv_heads, dim, generator=generator) for _ in "kv")
    cache.write(0, torch.arange(pages * page_size), k, v)
    return cache


def queries(rows: int, *, heads: int = HEADS, dim: int = DIM, seed: int = 2) -> torch.Tensor:
    return torch.randn(rows, heads, dim, generator=torch.Generator().manual_seed(seed))


def attend(attention, q, cache, sequences, k=None, v=None):
    plan = attention.plan(sequences, q.shape[0], cache.page_size)
    k = q[:, : cache.k[0].shape[1]] if k is None else k
    return attention.attend(q, k, k if v is None else v, cache, 0, plan)


FORMATS = [torch.float32, torch.bfloat16, torch.int8]


def near(dtype):
    """How near attention is to the formula over the same cache. Products in bfloat16 round queries and weights to 8
    bits."""
    return dict.fromkeys(("rtol", "atol"), 0.02 if dtype == torch.bfloat16 and HAS_PAIRS else 1e-5)


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("page_size", [4, 16])
def test_matches_the_formula_on_prefill_decode_and_shared_pages(page_size, shared, dtype):
    prefix = [5, 6, 7]
    sequences = [
        SequenceRows(0, 3 * page_size + 2, 0, [*prefix, 9]),  # a whole prompt, ragged end
        SequenceRows(3 * page_size + 2, 1, 3 * page_size, [*prefix, 2]),  # decode at a page border
        SequenceRows(3 * page_size + 3, 1, 3 * page_size + 1, [*prefix, 3]),
        SequenceRows(3 * page_size + 4, 2, page_size - 1, [10, 1]),  # crosses a border
        SequenceRows(3 * page_size + 6, 1, 0, [4]),
    ]
    cache, q = filled_cache(12, page_size, dtype=dtype), queries(3 * page_size + 12)
    got = attend(CpuAttention(shared=shared), q, cache, sequences)
    want = attend(ReferenceAttention(), q, cache, sequences)
    used = 3 * page_size + 7
    torch.testing.assert_close(got[:used], want[:used], **near(dtype))
    assert torch.isfinite(got).all()


@pytest.mark.parametrize("dtype", FORMATS)
def test_rows_of_a_tree_read_the_sequence_and_the_rows_that_lead_to_them(dtype):
    cache, q = filled_cache(12, 16, dtype=dtype), queries(24)
    k, v = (torch.randn(24, KV_HEADS, DIM, generator=torch.Generator().manual_seed(seed)) for seed in (7, 8))
    sequences = [
        SequenceRows(0, 2, 30, [5, 6], tree=[-1, 0, 1, 1, -1, 4]),  # 2 rows and 6 alternatives
        SequenceRows(8, 1, 15, [7]),
        SequenceRows(9, 0, 16, [7, 8], tree=[-1, -1, 0]),  # all of it is cached
    ]
    got = attend(CpuAttention(), q, cache, sequences, k, v)
    want = attend(ReferenceAttention(), q, cache, sequences, k, v)
    torch.testing.assert_close(got[:12], want[:12], **near(dtype))
    alone = attend(CpuAttention(), q[:8], cache, sequences[:1], k[:8], v[:8])
    assert torch.equal(alone[:8], got[:8])


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize(("page_size", "known"), [(64, 100), (64, 63), (64, 64), (16, 30), (128, 60), (5, 13)])
def test_rows_of_a_tree_have_the_bits_of_the_sequence_that_they_stand_for(page_size, known, dtype):
    cache, tree = filled_cache(60, page_size, dtype=dtype), [-1, 0, 1, 1, 3]
    q = queries(8)
    k, v = (torch.randn(8, KV_HEADS, DIM, generator=torch.Generator().manual_seed(seed)) for seed in (7, 8))
    pages = list(range(1, 40))
    got = attend(CpuAttention(), q, cache, [SequenceRows(0, 1, known - 1, pages, tree=tree)], k, v)
    for entry, line in enumerate([[0], [0, 1], [0, 1, 2], [0, 1, 3], [0, 1, 3, 4]]):
        for depth, ancestor in enumerate(line):
            slot = known + depth
            cache.write(
                0,
                torch.tensor([pages[slot // page_size] * page_size + slot % page_size]),
                k[1 + ancestor][None],
                v[1 + ancestor][None],
            )
        plain = SequenceRows(0, 1, known + len(line) - 1, pages)
        want = attend(CpuAttention(), q[1 + entry : 2 + entry], cache, [plain])
        assert torch.equal(got[1 + entry], want[0]), line


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_step_gives_a_row_the_bits_that_it_has_alone(data):
    page_size = data.draw(st.sampled_from([1, 3, 8, 16, 64, 128]), label="page size")
    dim = data.draw(st.sampled_from([8, 64, 80, 128]), label="head dim")
    kv_heads = data.draw(st.sampled_from([1, 3]), label="KV heads")
    heads = kv_heads * data.draw(st.sampled_from([1, 2, 3, 4]), label="group")
    dtype = data.draw(st.sampled_from(FORMATS), label="KV format")
    cache = filled_cache(80, page_size, kv_heads=kv_heads, dim=dim, dtype=dtype)
    shared = list(range(1, data.draw(st.integers(0, 3), label="shared pages") + 1))
    sequences, rows = [], 0
    for index in range(data.draw(st.integers(1, 12), label="sequences")):
        pages = [*shared, *range(10 + 5 * index, 14 + 5 * index)]
        first = data.draw(st.integers(0, (len(pages) - 1) * page_size), label="first position")
        count = data.draw(st.integers(1, min(20, len(pages) * page_size - first)), label="rows")
        sequences.append(SequenceRows(rows, count, first, pages))
        rows += count
    q = queries(rows, heads=heads, dim=dim)
    together = attend(CpuAttention(), q, cache, sequences)
    apart = attend(CpuAttention(shared=False), q, cache, sequences)
    assert torch.equal(together, apart)
    for sequence in sequences:
        for i in range(sequence.count):
            row = sequence.first_row + i
            one = SequenceRows(0, 1, sequence.first_position + i, sequence.pages)
            alone = attend(CpuAttention(), q[row : row + 1], cache, [one])
            assert torch.equal(alone[0], together[row]), (row, sequence)


def test_bits_do_not_depend_on_the_number_of_threads():
    cache, q = filled_cache(60, 64, kv_heads=3, dim=64), queries(40, heads=9, dim=64)
    sequences = [SequenceRows(i, 1, 280 + i, [1, 2, 3, 4, 10 + i]) for i in range(40)]
    threads = torch.get_num_threads()
    results = []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            results.append(attend(CpuAttention(), q, cache, sequences))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(results[0], other) for other in results[1:])


def test_a_row_has_the_same_bits_alone_and_in_company_whoever_shares_its_pages():
    page_size, heads, kv_heads, dim = 64, 9, 3, 64
    cache = filled_cache(60, page_size, kv_heads=kv_heads, dim=dim)
    prefix = list(range(1, 9))
    strangers = [SequenceRows(1 + i, 1, 8 * page_size + 7 * i % 64, [*prefix, 20 + i]) for i in range(15)]
    me = SequenceRows(0, 1, 8 * page_size + 5, [*prefix, 19])
    q = queries(32, heads=heads, dim=dim)
    alone = attend(CpuAttention(), q[:16], cache, [me])[0]
    for n in range(16):
        company = [me, *strangers[:n]]
        assert torch.equal(alone, attend(CpuAttention(), q, cache, company)[0]), f"with {n} strangers"
        assert torch.equal(alone, attend(CpuAttention(shared=False), q, cache, company)[0]), f"beside {n} strangers"


def test_sequences_that_share_pages_are_computed_side_by_side_whoever_is_in_the_step():
    groups = {1: [1, 2], 4: [4], 7: [7, 8]}
    sequences = [SequenceRows(0, 1, 0, [50])]  # strangers first, last and between
    for i in range(4):
        for prefix in groups.values():
            first = len(sequences)
            sequences.append(SequenceRows(first, 1, 16 * len(prefix), [*prefix, 20 + first]))
        sequences.append(SequenceRows(len(sequences), 1, 3, [60 + i]))
    order = CpuAttention().plan(sequences, 24, 16).order.tolist()
    assert sorted(order) == list(range(24))
    for prefix in groups:
        places = [order.index(s.first_row) for s in sequences if s.pages[0] == prefix]
        assert max(places) - min(places) == 3, prefix


def test_rows_may_be_views_of_a_wider_tensor():
    cache, wide = filled_cache(12, 16), queries(24, heads=3 * HEADS)
    q, k, v = wide[:, :HEADS], wide[:, HEADS : HEADS + KV_HEADS], wide[:, -KV_HEADS:]
    q = q.transpose(0, 1).contiguous().transpose(0, 1)  # heads first in memory
    sequences = [SequenceRows(0, 2, 30, [5, 6], tree=[-1, 0, 1]), SequenceRows(5, 1, 15, [7])]
    got = attend(CpuAttention(), q, cache, sequences, k, v)
    want = attend(CpuAttention(), q.contiguous(), cache, sequences, k.contiguous(), v.contiguous())
    assert not q.is_contiguous()
    assert torch.equal(got, want)


def test_a_prompt_has_the_same_bits_whole_and_in_chunks():
    page_size, heads, kv_heads, dim = 16, 9, 3, 64
    cache = filled_cache(20, page_size, kv_heads=kv_heads, dim=dim)
    pages = list(range(1, 11))
    q = queries(160, heads=heads, dim=dim)
    whole = attend(CpuAttention(), q, cache, [SequenceRows(0, 150, 0, pages)])[:150]
    for cuts in ([0, 1, 2, 5, 150], [0, 64, 128, 150], [0, 149, 150]):
        for start, end in itertools.pairwise(cuts):
            part = torch.zeros_like(q)
            part[: end - start] = q[start:end]
            got = attend(CpuAttention(), part, cache, [SequenceRows(0, end - start, start, pages)])
            assert torch.equal(got[: end - start], whole[start:end]), (start, end)


def test_what_a_page_holds_behind_the_mask_does_not_matter():
    cache = filled_cache(4, 16)
    q = queries(16)
    sequences = [SequenceRows(0, 1, 4, [2])]
    before = attend(CpuAttention(), q, cache, sequences)[0]
    cache.k[0][2, :, :, 5:] = 1e30
    cache.v[0][2, :, 5:] = -1e30
    assert torch.equal(before, attend(CpuAttention(), q, cache, sequences)[0])


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_what_is_not_finite_stays_with_the_sequence_that_holds_it(bad):
    cache, q = filled_cache(4, 16), queries(16)
    healthy = SequenceRows(0, 1, 4, [3])
    before = attend(CpuAttention(), q, cache, [healthy])[0]
    cache.k[0][1] = cache.v[0][1] = bad
    for sick in (SequenceRows(1, 1, 20, [1, 2]), SequenceRows(1, 1, 20, [2, 1]), SequenceRows(1, 1, 3, [1])):
        got = attend(CpuAttention(), q, cache, [healthy, sick])
        assert torch.equal(got[0], before)
        assert not torch.isfinite(got[1]).all()
        assert torch.isfinite(got[2:]).all()


def test_written_tokens_are_read_back_from_copied_pages_and_values_behind_them_are_zero():
    cache = KVCache(2, 4, KV_HEADS, 4, DIM)
    k, v = torch.randn(2, 3, KV_HEADS, DIM)
    for layer in range(2):
        cache.write(layer, torch.tensor([4, 5, 6]), k, v)
    cache.copy_page(1, 2, 2)
    assert torch.equal(cache.k[1][2, :, :, :2].permute(2, 0, 1), k[:2])
    assert torch.equal(cache.v[0][2, :, :2].transpose(0, 1), v[:2])
    assert not cache.v[0][2, :, 2:].any()
    cache.clear_page(1)
    assert not cache.v[1][1].any()


@pytest.mark.parametrize("dtype", FORMATS)
def test_what_an_earlier_owner_left_in_a_page_is_not_seen(dtype):
    q, one = queries(1), torch.randn(1, KV_HEADS, DIM, generator=torch.Generator().manual_seed(3))
    clean, used = (KVCache(1, 4, KV_HEADS, 8, DIM, dtype=dtype) for _ in range(2))
    sick = torch.full((8, KV_HEADS, DIM), float("nan"))
    used.write(0, torch.arange(8) + 8, sick, sick)
    used.write(0, torch.arange(8) + 16, sick, sick)
    used.clear_page(1)
    for cache in (clean, used):
        cache.write(0, torch.tensor([8]), one, one)
        cache.copy_page(1, 2, 1)
    for page in (1, 2):
        got, want = (attend(CpuAttention(), q, cache, [SequenceRows(0, 1, 0, [page])]) for cache in (used, clean))
        assert torch.equal(got, want)


def test_keys_and_values_in_bytes_are_near_what_was_written():
    x = torch.randn(30, KV_HEADS, DIM, generator=torch.Generator().manual_seed(3))
    x *= 10.0 ** torch.arange(-15, 15)[:, None, None]
    x[7] = 0.0
    cache = KVCache(1, 2, KV_HEADS, 64, DIM, dtype=torch.int8)
    held = cache.as_held(x)
    assert ((held - x).abs() <= x.abs().amax(-1, keepdim=True) / 254 * 1.001).all()
    assert not held[7].any()
    assert KVCache.page_bytes(30, 3, 64, 64, torch.int8) < 0.27 * KVCache.page_bytes(30, 3, 64, 64, torch.float32)


def test_keys_and_values_in_bfloat16_are_the_nearest_and_odd_pages_hold_as_many_tokens():
    x = torch.randn(10, KV_HEADS, DIM, generator=torch.Generator().manual_seed(3))
    x[0, 0, :3] = torch.tensor([torch.nan, torch.inf, 1.00390625])  # the last is halfway: to the even one
    cache = KVCache(1, 3, KV_HEADS, 5, DIM, dtype=torch.bfloat16)
    cache.write(0, torch.arange(14, 4, -1), x, -x)  # from the last to the first
    held, opposite = (read(0)[1:].transpose(1, 2).flatten(0, 1).flip(0) for read in (cache.keys, cache.values))
    nearest = x.bfloat16().float()
    torch.testing.assert_close(held, nearest, rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(opposite, -nearest, rtol=0, atol=0, equal_nan=True)
    cache.write(0, torch.tensor([14]), x[1:2], x[1:2])  # NaN is not equal to itself
    for tokens in range(6):
        cache.copy_page(2, 1, tokens)
        assert torch.equal(cache.keys(0)[1, :, :tokens], cache.keys(0)[2, :, :tokens])
        assert torch.equal(cache.values(0)[1, :, :tokens], cache.values(0)[2, :, :tokens])
        assert not cache.values(0)[1, :, tokens:].any()
    with pytest.raises(ValueError, match="even head_dim, not 3"):
        KVCache(1, 2, 1, 8, 3, dtype=torch.bfloat16)


def test_a_copied_page_of_bytes_holds_the_same_and_nothing_behind_it():
    cache = KVCache(1, 4, KV_HEADS, 8, DIM, dtype=torch.int8)
    x = torch.randn(8, KV_HEADS, DIM, generator=torch.Generator().manual_seed(3))
    cache.write(0, torch.arange(8) + 8, x, 2 * x)
    cache.write(0, torch.arange(8) + 16, 3 * x, 4 * x)
    cache.copy_page(1, 2, 5)
    for held in (cache.k[0].transpose(2, 3), cache.v[0], cache.k_scale[0], cache.v_scale[0]):
        assert torch.equal(held[2, :, :5], held[1, :, :5])
    assert not cache.v[0][2, :, 5:].any()
