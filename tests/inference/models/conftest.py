"""Worlds for the tests of models: tiny random checkpoints, and a model run by hand, one forward pass at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import torch
from torch import Tensor

from inference.batch import ForwardBatch
from inference.loader import find_model
from inference.models.transformer import Transformer
from kernels.attention import ROW_TILE, Attention, KVCache, SequenceRows
from kernels.cpu import CpuAttention

PAGE_SIZE = 8
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|start|>' + message['role'] + '\n' + message['content'] | trim + '<|end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|start|>assistant\n' }}{% endif %}"
)
TEXT = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 the game is chess and the move is e2e4 e7e5 system user assistant " * 3


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """No test asks a model hub; that a hub is not asked for local models is part of what is tested."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


@pytest.fixture(scope="session")
def chat_template() -> str:
    return CHAT_TEMPLATE


@pytest.fixture(scope="session")
def tiny_backend() -> Callable[[], tokenizers.Tokenizer]:
    """Makes byte-level BPE tokenizers of 300 tokens: ids 0 to 2 are <|text|>, <|start|> and <|end|>."""

    def make() -> tokenizers.Tokenizer:
        backend = tokenizers.Tokenizer(tokenizers.models.BPE())
        backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend.decoder = tokenizers.decoders.ByteLevel()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=300,
            special_tokens=["<|text|>", "<|start|>", "<|end|>"],
            initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        backend.train_from_iterator([TEXT], trainer)
        return backend

    return make


@pytest.fixture
def checkpoint(tmp_path: Path, tiny_backend: Callable[[], tokenizers.Tokenizer]) -> Callable[..., Path]:
    """Makes a tiny model of a family with transformers, every parameter random, and saves it as a folder."""

    def make(family: str, name: str = "model", *, shard_size: str = "1GB", **overrides: Any) -> Path:
        import transformers

        class_name = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3"}[family] + "Config"
        shape: dict[str, Any] = {
            "vocab_size": 320,
            "hidden_size": 48,
            "intermediate_size": 80,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 512,
            "eos_token_id": 2,
            "bos_token_id": 0,
        }
        if family != "qwen2":  # its heads always share the hidden size
            shape["head_dim"] = 16
        model = transformers.AutoModelForCausalLM.from_config(getattr(transformers, class_name)(**(shape | overrides)))
        generator = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for parameter_name, parameter in model.named_parameters():
                parameter.normal_(1.0 if "norm" in parameter_name else 0.0, 0.2, generator=generator)
        folder = tmp_path / name
        model.save_pretrained(folder, max_shard_size=shard_size)
        tiny_backend().save(str(folder / "tokenizer.json"))
        facts = {"bos_token": "<|text|>", "eos_token": "<|end|>", "chat_template": CHAT_TEMPLATE}
        (folder / "tokenizer_config.json").write_text(json.dumps(facts))
        return folder

    return make


class PagedRun:
    """Sequences over one KV cache; each call of `step` is one forward pass for all of them."""

    def __init__(self, transformer: Transformer, sequences: int, attention: Attention, length: int) -> None:
        config = transformer.config
        self.transformer = transformer
        self.attention = attention
        per_sequence = -(-length // PAGE_SIZE)
        pages = torch.randperm(sequences * per_sequence, generator=torch.Generator().manual_seed(1)) + 1
        self.pages = pages.view(sequences, per_sequence).tolist()
        self.lengths = [0] * sequences
        self.cache = KVCache(
            config.layers,
            sequences * per_sequence + 1,
            config.kv_heads,
            PAGE_SIZE,
            config.head_dim,
        )

    def step(self, tokens: Sequence[Sequence[int]]) -> list[Tensor]:
        """Append tokens to each sequence; returns the logits of the new rows, [new, vocab] each."""
        ids: list[int] = []
        positions: list[int] = []
        slots: list[int] = []
        parts: list[SequenceRows] = []
        for index, new in enumerate(tokens):
            first = self.lengths[index]
            parts.append(SequenceRows(len(ids), len(new), first, self.pages[index]))
            ids += new
            for position in range(first, first + len(new)):
                positions.append(position)
                slots.append(self.pages[index][position // PAGE_SIZE] * PAGE_SIZE + position % PAGE_SIZE)
            self.lengths[index] += len(new)
        padding = [0] * (-len(ids) % ROW_TILE)
        rows = len(ids) + len(padding)
        plan = self.attention.plan(parts, rows, PAGE_SIZE)
        batch = ForwardBatch(
            *(torch.tensor(values + padding) for values in (ids, positions, slots)), torch.arange(rows), plan
        )
        logits = self.transformer.logits(self.transformer.forward(batch, self.cache, self.attention))
        return [logits[part.first_row : part.first_row + part.count] for part in parts]


@pytest.fixture
def paged_run() -> Callable[..., PagedRun]:
    """Makes a PagedRun of a folder or a loaded model, by default with the attention of the CPU."""

    def make(
        model: Path | Transformer, sequences: int = 1, attention: Attention | None = None, length: int = 64
    ) -> PagedRun:
        transformer = model if isinstance(model, Transformer) else find_model(str(model)).load().transformer
        return PagedRun(transformer, sequences, attention or CpuAttention(), length)

    return make


@pytest.fixture
def write_gguf(tmp_path: Path) -> Callable[..., Path]:
    """Writes a checkpoint folder as a GGUF file, in the way of llama.cpp's own converter."""

    def write(folder: Path, name: str = "model.gguf", *, quantise: bool = False, **fields: Any) -> Path:
        """Matrices become Q8_0 if `quantise`; `fields` replace or, if None, remove fields (`__` stands for a dot)."""
        import gguf
        from gguf.quants import quantize
        from safetensors.numpy import load_file

        config = json.loads((folder / "config.json").read_text())
        arch = {"mistral": "llama"}.get(config["model_type"], config["model_type"])
        backend = json.loads((folder / "tokenizer.json").read_text())
        heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
        head_dim = config.get("head_dim") or config["hidden_size"] // heads
        vocab = sorted(backend["model"]["vocab"], key=backend["model"]["vocab"].__getitem__)
        special = {token["id"] for token in backend["added_tokens"]}
        facts: dict[str, Any] = {
            f"{arch}.context_length": config["max_position_embeddings"],
            f"{arch}.embedding_length": config["hidden_size"],
            f"{arch}.block_count": config["num_hidden_layers"],
            f"{arch}.feed_forward_length": config["intermediate_size"],
            f"{arch}.attention.head_count": heads,
            f"{arch}.attention.head_count_kv": kv_heads,
            f"{arch}.attention.key_length": head_dim,
            f"{arch}.attention.value_length": head_dim,
            f"{arch}.rope.dimension_count": head_dim,
            f"{arch}.rope.freq_base": float(config["rope_parameters"]["rope_theta"]),
            f"{arch}.attention.layer_norm_rms_epsilon": float(config["rms_norm_eps"]),
            "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.pre": "gpt-2",
            "tokenizer.ggml.tokens": vocab,
            "tokenizer.ggml.token_type": [3 if id in special else 1 for id in range(len(vocab))],
            "tokenizer.ggml.merges": [" ".join(merge) for merge in backend["model"]["merges"]],
            "tokenizer.ggml.bos_token_id": 0,
            "tokenizer.ggml.eos_token_id": 2,
            "tokenizer.chat_template": CHAT_TEMPLATE,
        }
        facts |= {key.replace("__", "."): value for key, value in fields.items() if key != "factors"}
        path = tmp_path / name
        writer = gguf.GGUFWriter(path, facts.pop("general.architecture", arch))
        types = {int: gguf.GGUFValueType.UINT32, float: gguf.GGUFValueType.FLOAT32}
        types |= {str: gguf.GGUFValueType.STRING, bool: gguf.GGUFValueType.BOOL}
        for key, value in facts.items():
            if isinstance(value, list):
                writer.add_array(key, value)
            elif value is not None:
                writer.add_key_value(key, value, types[type(value)])
        if fields.get("factors") is not None:
            writer.add_tensor("rope_freqs.weight", fields["factors"])
        for hf_name, tensor in load_file(folder / "model.safetensors").items():
            gguf_name = _gguf_name(hf_name)
            if arch == "llama" and gguf_name.split(".")[2:3] in (["attn_q"], ["attn_k"]):
                n = heads if ".attn_q." in gguf_name else kv_heads
                tensor = tensor.reshape(n, 2, head_dim // 2, *tensor.shape[1:]).swapaxes(1, 2).reshape(tensor.shape)
            if quantise and tensor.ndim == 2:
                kind = gguf.GGMLQuantizationType.Q8_0
                writer.add_tensor(gguf_name, quantize(tensor, kind), raw_dtype=kind)
            else:
                writer.add_tensor(gguf_name, tensor)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    return write


def _gguf_name(name: str) -> str:
    """The name that llama.cpp's converter gives a Hugging Face tensor."""
    import gguf

    arch_names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN3, 8)
    base, _, kind = name.rpartition(".")
    found = arch_names.get_name(base)
    assert found is not None, name
    return f"{found}.{kind}"
