"""Weights and tokenizer of a folder in Hugging Face format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tokenizers
from safetensors import SafetensorError, safe_open
from torch import Tensor

from inference.chat import template_source
from inference.errors import ModelError
from inference.models.config import ModelConfig
from inference.models.weights import ReadTensor, check_names
from inference.tokenizer import HFTokenizer


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file that holds an object. Raises ModelError."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise ModelError(f"{path} holds a {type(value).__name__} instead of an object")
    return value


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files of the model, all there. Raises ModelError."""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        names = sorted(set(read_json(index).get("weight_map", {}).values()))
        missing = [name for name in names if not (folder / name).is_file()]
        if missing or not names:
            raise ModelError(f"{folder} lacks {missing[0] if missing else 'weights'}, which {index.name} should list")
        return [folder / name for name in names]
    if (folder / "model.safetensors").is_file():
        return [folder / "model.safetensors"]
    pickles = sorted(path.name for path in folder.iterdir() if path.suffix in (".bin", ".pt", ".pth"))
    if pickles:
        raise ModelError(
            f"{folder} holds its weights in {pickles[0]} only; pickled files can run code and are never read: "
            "convert the model to safetensors"
        )
    raise ModelError(f"{folder} has no weights: neither model.safetensors nor {index.name}")


def open_weights(config: ModelConfig, files: list[Path]) -> ReadTensor:
    """Reads tensors by name from safetensors files, which must hold those of `config` and no others.

    Raises ModelError for a damaged file and for tensors that are missing or superfluous.
    """
    reader = SafetensorsReader(files)
    check_names(config, reader.names())
    return reader.read


class SafetensorsReader:
    """Reads tensors from one or several safetensors files, by name.

    Owns one memory map at a time and renews it every RENEW_BYTES: what was touched of a map counts as memory in use
    until it is closed, and a model is not to take twice its size while it loads.
    """

    RENEW_BYTES = 1 << 26

    def __init__(self, files: list[Path]) -> None:
        self._where: dict[str, Path] = {}
        for file in files:
            self._where |= dict.fromkeys(_open(file).keys(), file)
        self._path: Path | None = None
        self._map: Any = None
        self._bytes = 0

    def names(self) -> list[str]:
        return list(self._where)

    def read(self, name: str) -> Tensor:
        """A tensor to copy at once, before the next call. Raises KeyError."""
        path = self._where[name]
        if path != self._path or self._bytes > self.RENEW_BYTES:
            self._path, self._map, self._bytes = path, _open(path), 0
        tensor: Tensor = self._map.get_tensor(name)
        self._bytes += tensor.nbytes
        return tensor


def _open(path: Path) -> Any:
    try:
        return safe_open(path, framework="pt", device="cpu")
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path} is damaged or no safetensors file: {error}") from error


def read_tokenizer(folder: Path, model_config: dict[str, Any]) -> HFTokenizer:
    """The tokenizer of a model folder; `model_config` is its config.json. Raises ModelError."""

    def optional_json(name: str) -> dict[str, Any]:
        return read_json(folder / name) if (folder / name).is_file() else {}

    def optional_text(name: str) -> str | None:
        path = folder / name
        return path.read_text(encoding="utf-8") if path.is_file() else None

    config = optional_json("special_tokens_map.json") | optional_json("tokenizer_config.json")
    ends = [optional_json("generation_config.json").get("eos_token_id"), model_config.get("eos_token_id")]
    return make_tokenizer(_read_backend(folder), config, ends, template_source(config, optional_text))


def make_tokenizer(
    backend: tokenizers.Tokenizer, config: dict[str, Any], ends: list[Any], template: str | None
) -> HFTokenizer:
    """A tokenizer with what a tokenizer_config.json says; `ends` are end-of-text ids: numbers, lists of them, None."""
    special = {}
    for name, value in config.items():
        content = value.get("content") if isinstance(value, dict) else value
        if name.endswith("_token") and isinstance(content, str):
            special[name] = content
    eos_ids: list[int] = []
    for end in ends:
        eos_ids += end if isinstance(end, list) else [] if end is None else [end]
    return HFTokenizer(backend, template=template, special=special, eos_ids=eos_ids)


def _read_backend(folder: Path) -> tokenizers.Tokenizer:
    path = folder / "tokenizer.json"
    if path.is_file():
        try:
            return tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers raises nothing narrower
            raise ModelError(f"{path} is damaged or of an unknown version: {error}") from error
    from transformers import AutoTokenizer

    try:
        backend = AutoTokenizer.from_pretrained(str(folder), local_files_only=True).backend_tokenizer
    except (OSError, ValueError, ImportError, AttributeError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(f"{folder} has no tokenizer.json, and none can be made of its files: {reason}") from error
    assert isinstance(backend, tokenizers.Tokenizer)
    return backend
