"""What find_model accepts, and the sentence it says otherwise."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file

from inference.errors import ModelError
from inference.loader import find_model, fingerprint
from inference.types import Message


def edit(path, **changes):
    """Change entries of a JSON file; `...` removes one."""
    facts = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({name: value for name, value in facts.items() if value is not ...}))


def test_a_local_folder_loads_with_its_tokenizer(checkpoint):
    folder = checkpoint("llama")
    model = find_model(str(folder)).load()
    assert model.name == str(folder)
    assert model.config.vocab_size == model.transformer.config.vocab_size == 320
    assert model.tokenizer.render([Message("user", "hi")]) == "<|start|>user\nhi<|end|>\n<|start|>assistant\n"
    assert model.tokenizer.eos_ids == {2}


def test_sharded_weights_give_the_model_of_a_single_file(checkpoint):
    single, sharded = checkpoint("qwen2", "single"), checkpoint("qwen2", "sharded", shard_size="40KB")
    assert len(list(sharded.glob("*.safetensors"))) > 2
    ours, theirs = (find_model(str(folder)).load().transformer.weights for folder in (sharded, single))
    assert torch.equal(ours.head.weight, theirs.head.weight)
    assert torch.equal(ours.layers[1].qkv.bias, theirs.layers[1].qkv.bias)
    (sharded / "model-00002-of-00003.safetensors").unlink(missing_ok=True)
    for shard in sorted(sharded.glob("*.safetensors"))[-1:]:
        shard.unlink()
    with pytest.raises(ModelError, match=r"lacks model-.*\.safetensors"):
        find_model(str(sharded)).load()


def test_tied_embeddings_are_one_matrix_and_in_memory_too_unless_it_is_packed(checkpoint):
    folder = str(checkpoint("llama", tie_word_embeddings=True))
    weights = find_model(folder).load().transformer.weights
    assert torch.equal(weights.head.weight, weights.embedding)
    weights = find_model(folder).load(dtype=torch.bfloat16).transformer.weights
    assert weights.head.weight.data_ptr() == weights.embedding.data_ptr()


def test_the_chat_template_may_lie_in_a_file_of_its_own(checkpoint):
    folder = checkpoint("llama")
    edit(folder / "tokenizer_config.json", chat_template=...)
    (folder / "chat_template.jinja").write_text("{{ messages[0].content }}{{ eos_token }}")
    model = find_model(str(folder)).load()
    assert model.tokenizer.render([Message("user", "hi")]) == "hi<|end|>"


def test_named_templates_and_tokens_as_objects_are_understood(checkpoint):
    folder = checkpoint("llama")
    templates = [{"name": "tool_use", "template": "no"}, {"name": "default", "template": "{{ bos_token }}yes"}]
    edit(folder / "tokenizer_config.json", chat_template=templates, bos_token={"content": "<|text|>"})
    assert find_model(str(folder)).load().tokenizer.render([]) == "<|text|>yes"


def test_end_tokens_come_from_every_file_that_names_them(checkpoint):
    folder = checkpoint("llama")
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [7, 8]}))
    edit(folder / "config.json", eos_token_id=9)
    assert find_model(str(folder)).load().tokenizer.eos_ids == {2, 7, 8, 9}


def test_a_folder_without_tokenizer_json_has_one_made_of_its_slow_files(checkpoint):
    folder = checkpoint("qwen2")
    raw = json.loads((folder / "tokenizer.json").read_text())
    expected = find_model(str(folder)).load().tokenizer.encode("1. e4 e5 the game")
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.json").write_text(json.dumps(raw["model"]["vocab"]))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(" ".join(pair) for pair in raw["model"]["merges"]))
    edit(folder / "tokenizer_config.json", tokenizer_class="GPT2Tokenizer")
    assert find_model(str(folder)).load().tokenizer.encode("1. e4 e5 the game") == expected


def damage(name, folder):
    """Break a folder in one way."""
    weights = folder / "model.safetensors"
    match name:
        case "truncated weights":
            weights.write_bytes(weights.read_bytes()[:-100])
        case "empty weights":
            weights.write_bytes(b"")
        case "not safetensors":
            weights.write_bytes(b"\x80\x02 not a safetensors file at all")
        case "pickle":
            weights.rename(folder / "pytorch_model.bin")
        case "no weights":
            weights.unlink()
        case "no config":
            (folder / "config.json").unlink()
        case "broken config":
            (folder / "config.json").write_text("{")
        case "config of another kind":
            (folder / "config.json").write_text("[]")
        case "broken tokenizer":
            (folder / "tokenizer.json").write_text("{}")
        case "no tokenizer":
            (folder / "tokenizer.json").unlink()
        case "tensor missing":
            tensors = load_file(weights)
            del tensors["model.layers.1.mlp.up_proj.weight"]
            save_file(tensors, weights)
        case "tensor of another shape":
            edit(folder / "config.json", intermediate_size=81)
        case "tensor too many":
            save_file(load_file(weights) | {"model.layers.0.self_attn.q_proj.bias": torch.zeros(64)}, weights)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("truncated weights", "model.safetensors is damaged"),
        ("empty weights", "model.safetensors is damaged"),
        ("not safetensors", "model.safetensors is damaged or no safetensors file"),
        ("pickle", "weights in pytorch_model.bin only; pickled files can run code and are never read"),
        ("no weights", "has no weights"),
        ("no config", "has no config.json"),
        ("broken config", "config.json cannot be read"),
        ("config of another kind", "holds a list instead of an object"),
        ("broken tokenizer", "tokenizer.json is damaged"),
        ("no tokenizer", "has no tokenizer.json, and none can be made of its files"),
        ("tensor missing", "the weights lack model.layers.1.mlp.up_proj.weight"),
        ("tensor of another shape", r"has shape \(80, 48\); the configuration wants \(81, 48\)"),
        ("tensor too many", "does not use: model.layers.0.self_attn.q_proj.bias"),
    ],
)
def test_a_damaged_folder_is_one_clear_sentence(name, message, checkpoint):
    folder = checkpoint("llama")
    find_model(str(folder)).load()
    damage(name, folder)
    with pytest.raises(ModelError, match=message) as caught:
        find_model(str(folder)).load()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spec", ["nonsense", "./nowhere", "missing.gguf", "owner/missing.gguf", ""])
def test_a_name_of_nothing_says_what_is_accepted(spec, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match=r"names no model; known by name: smollm2-135m; also accepted: a folder"):
        find_model(spec).load()


def test_a_hub_id_that_is_not_cached_is_one_sentence_offline(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match=r"owner/name is no local folder and cannot be had") as caught:
        find_model("owner/name").load()
    assert "\n" not in str(caught.value)


def test_a_cached_hub_snapshot_loads_offline(checkpoint, tmp_path, monkeypatch):
    commit = "0" * 40
    repository = tmp_path / "hub" / "models--owner--name"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit)
    (repository / "snapshots").mkdir()
    checkpoint("qwen3").rename(repository / "snapshots" / commit)
    monkeypatch.setattr("huggingface_hub.file_download.HF_HUB_CACHE", str(tmp_path / "hub"), raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    model = find_model("owner/name").load()
    assert (model.name, model.config.family) == ("owner/name", "qwen3")


def test_the_checksum_tells_weights_of_one_shape_apart(checkpoint):
    folder = checkpoint("llama")
    first = find_model(str(folder)).load().checksum
    assert find_model(str(folder)).load().checksum == first
    tensors = load_file(folder / "model.safetensors")
    tensors["model.layers.1.mlp.up_proj.weight"] += 0.5
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    assert find_model(str(folder)).load().checksum != first


def test_a_fingerprint_sees_every_part_of_a_large_file(tmp_path):
    path = tmp_path / "weights"
    path.write_bytes(bytes(10_000_000))
    before = fingerprint(path)
    for offset in (1_000_000, 5_000_000, 9_999_000):
        data = bytearray(10_000_000)
        data[offset : offset + 100_000] = os.urandom(100_000)
        path.write_bytes(data)
        assert fingerprint(path) != before


def test_loading_imports_neither_transformers_nor_the_hub(checkpoint):
    code = (
        f"import sys; from inference.loader import find_model; find_model({str(checkpoint('llama'))!r}).load(); "
        "print([name for name in ('transformers', 'huggingface_hub', 'gguf') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
