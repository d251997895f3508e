import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import int8


def weights(out, inner, seed=0):
    """Random bytes, the largest ones among them in every channel."""
    matrix = np.random.default_rng(seed).integers(-127, 128, (out, inner)).astype(np.int8)
    matrix[:, 0], matrix[:, -1] = 127, -127
    return matrix


def inputs(rows, inner, seed=1):
    """Rows of very different sizes, with a few large entries."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((rows, inner)).astype(np.float32) * 10.0 ** generator.integers(-3, 4, (rows, 1))
    x[:, generator.integers(inner)] *= 50
    return x.astype(np.float32)


def channels(out, *, biased=False):
    """Scales and a bias."""
    values = np.random.default_rng(2).uniform(0.001, 0.01, (2, out)).astype(np.float32)
    return values if biased else values * np.array([[1], [0]], np.float32)


def integers(q):
    """What quantised rows stand for."""
    return q.astype(np.int64) - int8.OFFSET


def hadamard(size):
    matrix = np.ones((1, 1))
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix / np.sqrt(size)


@settings(max_examples=25, deadline=None)
@given(
    rows=st.integers(1, 40),
    out=st.integers(1, 50),
    inner=st.integers(1, 70),
    biased=st.booleans(),
    threads=st.integers(1, 3),
)
def test_a_product_is_the_sum_of_integer_products_scaled_back(rows, out, inner, biased, threads):
    weight, x, of_channels = weights(out, inner), inputs(rows, inner), channels(out, biased=biased)
    q, factors = int8.quantise(x, 1, threads)
    sums = integers(q[:rows, :inner]) @ weight.astype(np.int64).T
    want = sums.astype(np.float32) * of_channels[0] * factors[:rows, None] + of_channels[1]
    np.testing.assert_array_equal(int8.multiply(x, *int8.pack(weight, *of_channels), 1, threads)[:, :out], want)


@pytest.mark.parametrize(("out", "inner", "block"), [(960, 576, 1), (576, 1536, 512), (3072, 576, 1)])
def test_a_row_has_the_same_bits_alone_and_in_any_batch(out, inner, block):
    matrix, x = int8.pack(weights(out, inner), *channels(out)), inputs(300, inner)
    whole = int8.multiply(x, *matrix, block, 2)
    for rows in (1, 2, 3, 5, 8, 15, 16, 17, 64, 299):
        np.testing.assert_array_equal(int8.multiply(x[:rows], *matrix, block, 1), whole[:rows])
    for row in (0, 1, 150, 299):
        alone = int8.multiply(np.ascontiguousarray(x[row : row + 1]), *matrix, block, 2)
        np.testing.assert_array_equal(alone[0], whole[row])


def test_sums_of_the_largest_products_do_not_overflow():
    inner = 4096
    weight = np.full((16, inner), 127, np.int8)
    weight[1] = -127
    y = int8.multiply(np.full((3, inner), 2.0, np.float32), *int8.pack(weight, np.ones(16, np.float32)), 1, 1)
    factor = np.float32(2.0) / np.float32(127)
    np.testing.assert_array_equal(y[:, 0], np.float32(inner * 127 * 127) * factor)
    np.testing.assert_array_equal(y[:, 1], np.float32(-inner * 127 * 127) * factor)


@pytest.mark.parametrize("block", [1, 2, 4, 8, 64, 256])
def test_rows_are_rounded_to_half_a_step_after_the_hadamard_transform(block):
    x = inputs(5, 768)
    q, factors = int8.quantise(x, block, 1)
    turned = (x.astype(np.float64).reshape(5, -1, block) @ hadamard(block)).reshape(5, 768)
    whole = integers(q[:5])
    assert np.abs(whole).max(axis=1).tolist() == [127] * 5
    error = np.abs(whole * factors[:5, None].astype(np.float64) - turned)
    assert (error <= 0.51 * factors[:5, None]).all()


def test_a_row_of_zeros_stays_zero_and_what_is_not_finite_shows():
    x = inputs(8, 64)
    x[0] = 0.0
    x[1, 5] = np.nan
    x[2, 5] = np.inf
    x[3] = 1e-40
    y = int8.multiply(x, *int8.pack(weights(32, 64), *channels(32)), 1, 1)
    assert (y[0] == 0).all()
    assert np.isnan(y[1]).all()
    assert not np.isfinite(y[2]).any()
    assert (y[3] == 0).all()
    assert np.isfinite(y[4:]).all()


def test_weights_can_be_read_back_from_their_packed_form():
    weight = weights(37, 51)
    np.testing.assert_array_equal(int8.unpack(int8.pack(weight, np.ones(37, np.float32))[0], 37, 51), weight)


def test_weights_that_could_overflow_are_refused():
    with pytest.raises(ValueError, match="-128"):
        int8.pack(np.full((2, 2), -128, np.int8), np.ones(2, np.float32))
    with pytest.raises(ValueError, match="133153"):
        int8.pack(np.zeros((1, 133153), np.int8), np.ones(1, np.float32))
