import pytest
import torch

from inference.models.linear import Bfloat16Linear, PackedLinear, PlainLinear, make_linear, packing_works
from kernels.attention import ROW_TILE

needs_packing = pytest.mark.skipif(not packing_works(), reason="this build of torch has no oneDNN")


def matrix(rows, columns, seed=0):
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))


@needs_packing
@pytest.mark.parametrize("bias", [None, matrix(1, 40)[0]])
def test_packed_products_are_right_and_the_weight_can_be_read_back(bias):
    weight, x = matrix(40, 24), matrix(33, 24, seed=1)
    packed = PackedLinear(weight, bias)
    want = torch.nn.functional.linear(x.double(), weight.double(), None if bias is None else bias.double())
    torch.testing.assert_close(packed(x).double(), want, rtol=1e-5, atol=1e-5)
    assert torch.equal(packed.weight, weight)


@pytest.mark.parametrize("kind", [pytest.param(PackedLinear, marks=needs_packing), PlainLinear])
@pytest.mark.parametrize(("out", "inner"), [(960, 576), (576, 1536), (3072, 576), (49152, 576)])
def test_a_row_has_the_same_bits_at_every_padded_row_count(kind, out, inner):
    linear, x = kind(matrix(out, inner)), matrix(256, inner, seed=1)
    tile = linear(x[:ROW_TILE])
    for rows in range(2 * ROW_TILE, 257, 5 * ROW_TILE):
        assert torch.equal(linear(x[:rows])[:ROW_TILE], tile), rows


def test_weights_that_cannot_be_packed_stay_plain():
    assert isinstance(make_linear(matrix(8, 8).bfloat16()), PlainLinear)


def test_bfloat16_rounds_weights_and_inputs_and_keeps_rows_apart():
    weight, bias, x = matrix(64, 48), matrix(1, 64)[0], matrix(40, 48, seed=1)
    linear = Bfloat16Linear(weight, bias)
    want = x.bfloat16().double() @ weight.bfloat16().double().T + bias
    torch.testing.assert_close(linear(x).double(), want, rtol=2**-8, atol=2**-6)
    assert torch.equal(linear(x[:ROW_TILE]), linear(x)[:ROW_TILE])
    assert torch.equal(linear.weight, weight.bfloat16().float())
