import dataclasses

import pytest
import torch

from inference.int8_store import int8_weights, stored_at
from inference.loader import find_model
from inference.models.config import ModelConfig
from inference.models.int8 import Int8Linear
from inference.models.quantised import QuantisedMatrix
from inference.models.weights import tensor_shapes
from inference.quantize import quantise
from inference.rotation import block_size, hadamard_blocks, rotate

SHAPE = ModelConfig(
    family="qwen3",
    vocab_size=96,
    hidden_size=48,
    intermediate_size=80,
    layers=2,
    heads=4,
    kv_heads=2,
    head_dim=16,
    context_length=128,
    attention_bias=True,
    output_bias=True,
    qk_norm=True,
    tie_embeddings=True,
)


def matrix(rows, columns, seed=0):
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))


def random_tensors(config, seed=0):
    """Random tensors of a model by name, those of norms around 1."""
    generator = torch.Generator().manual_seed(seed)
    return {
        name: torch.randn(shape, generator=generator) * 0.2 + ("norm" in name)
        for name, shape in tensor_shapes(config).items()
    }


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("size", [1, 2, 9, 16, 48, 80, 576, 896])
def test_a_rotation_is_orthogonal_and_spreads_a_single_entry(size):
    turned = rotate(torch.eye(size))
    torch.testing.assert_close(turned @ turned.T, torch.eye(size, dtype=torch.float64), atol=1e-12, rtol=0)
    assert turned.abs().max() <= 2 / size**0.5


def test_blocks_of_a_hadamard_transform_do_not_mix():
    x = matrix(3, 24)
    turned = hadamard_blocks(x, 8)
    torch.testing.assert_close(hadamard_blocks(turned, 8), x.double())
    changed = x.clone()
    changed[:, :8] += 1
    assert torch.equal(hadamard_blocks(changed, 8)[:, 8:], turned[:, 8:])
    assert (block_size(1536, 512), block_size(1536, 64), block_size(80, 512), block_size(7, 512)) == (512, 64, 16, 1)
    with pytest.raises(ValueError, match="block of 16"):
        hadamard_blocks(x, 16)


def test_rounding_errs_by_half_a_step_of_each_channel():
    weight = matrix(5, 64).double() * torch.tensor([[1e-3], [1.0], [1e3], [0.0], [1.0]])
    rounded = quantise(weight)
    assert (rounded.weight * rounded.scale[:, None] - weight).abs().le(0.51 * rounded.scale[:, None]).all()
    assert rounded.weight.abs().amax(1).tolist() == [127, 127, 127, 0, 127]


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_an_8_bit_model_answers_nearly_as_the_model_it_was_made_from(checkpoint, paged_run, family):
    folder = checkpoint(family)
    tokens = [[5, 17, 88, 200, 3, 45, 46, 47, 120, 7]]
    exact, rounded = (
        paged_run(find_model(str(folder)).load(weights=weights).transformer).step(tokens)[0]
        for weights in ("float32", "int8")
    )
    assert not torch.equal(exact, rounded)
    assert (rounded - exact).pow(2).mean() < 2e-3 * exact.pow(2).mean()


def test_a_sequence_has_the_same_bits_alone_and_in_company_in_8_bits(checkpoint, paged_run):
    model = find_model(str(checkpoint("llama"))).load(weights="int8").transformer
    mine = [5, 17, 88, 200, 3, 45, 46]
    strangers = [[index + 1] * (index + 2) for index in range(7)]
    alone = paged_run(model).step([mine])[0]
    crowd = paged_run(model, sequences=8).step([*strangers, mine])[-1]
    assert torch.equal(crowd, alone)


def test_quantised_weights_are_kept_and_read_back_without_the_checkpoint():
    tensors = random_tensors(SHAPE)
    first = int8_weights(SHAPE, lambda: tensors.__getitem__, "abc")

    def gone():
        raise AssertionError("the checkpoint was opened")

    second = int8_weights(SHAPE, gone, "abc")
    x = matrix(8, 48)
    assert torch.equal(first.embedding, second.embedding)
    assert torch.equal(first.layers[1].qkv(x), second.layers[1].qkv(x))
    assert torch.equal(first.layers[1].q_norm, tensors["model.layers.1.self_attn.q_norm.weight"])
    assert torch.equal(first.head.weight, second.head.weight)


def test_other_weights_have_another_file():
    assert stored_at("abc") != stored_at("abd")


@pytest.mark.parametrize("damage", ["cut", "overwritten", "of another model"])
def test_a_damaged_file_is_made_anew_and_said(damage, caplog):
    tensors = random_tensors(SHAPE)
    want = int8_weights(SHAPE, lambda: tensors.__getitem__, "abc").head.weight
    path = stored_at("abc")
    whole = path.read_bytes()
    if damage == "of another model":
        smaller = dataclasses.replace(SHAPE, layers=1)
        int8_weights(smaller, lambda: random_tensors(smaller).__getitem__, "other")
        path.write_bytes(stored_at("other").read_bytes())
    else:
        path.write_bytes(whole[: len(whole) // 2] if damage == "cut" else b"x" * len(whole))
    assert torch.equal(int8_weights(SHAPE, lambda: tensors.__getitem__, "abc").head.weight, want)
    assert "is damaged and is made anew" in caplog.text
    assert path.read_bytes() == whole


def test_a_cache_that_cannot_be_written_is_said_and_done_without(cache_folder, caplog):
    (cache_folder / "arena").write_text("a file where the folder should be")
    tensors = random_tensors(SHAPE)
    assert int8_weights(SHAPE, lambda: tensors.__getitem__, "abc").embedding.shape == (96, 48)
    assert "cannot be kept" in caplog.text


@pytest.mark.parametrize("block", [1, 16])
def test_our_kernel_computes_what_plain_integers_do(block):
    weight = torch.randint(-127, 128, (40, 48), generator=torch.Generator().manual_seed(0)).to(torch.int8)
    linear = Int8Linear(QuantisedMatrix(weight, torch.full((40,), 0.01), torch.arange(40.0)), block)
    x = matrix(9, 48, seed=1)
    turned = hadamard_blocks(x, block)
    want = turned @ linear.weight.double().T + torch.arange(40.0)
    assert (linear(x) - want).abs().max() < 0.02 * (want - torch.arange(40.0)).abs().max()
    assert torch.equal(linear.weight, weight * torch.tensor(0.01))
