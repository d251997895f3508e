"""From what a user calls a model to one that runs.

Four kinds of names are understood, in this order: a name of the catalogue (fetched on first use), a local path
(a Hugging Face folder, or a `.gguf` file, which is dequantised in memory), and a Hugging Face id `owner/name`.
"""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass
from pathlib import Path

import torch

from inference.catalogue import catalogue, is_installed, model_folder, read_manifest
from inference.checkpoint import make_tokenizer, read_json, read_tokenizer, read_weights, weight_files
from inference.errors import ModelError
from inference.models.config import ModelConfig
from inference.models.transformer import Transformer
from inference.models.weights import assemble, check_names, tensor_shapes
from inference.pull import Progress, pull
from inference.tokenizer import Tokenizer

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
HUB_FILES = ["*.json", "*.safetensors", "*.jinja", "tokenizer.model", "merges.txt", "vocab.txt"]
HUB_FILES_IGNORED = ["*/*", "consolidated*"]  # other formats of the same weights

SAMPLES, SAMPLE_BYTES = 256, 4096


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model ready to run. `checksum` identifies its weights: see `fingerprint`."""

    name: str
    transformer: Transformer
    tokenizer: Tokenizer
    config: ModelConfig
    checksum: str


def load_model(
    spec: str,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
) -> LoadedModel:
    """Load the model that `spec` names; `progress` is told what takes long.

    Raises ModelError, one sentence long, for a model that is missing, damaged or not supported.
    """
    if spec in catalogue():
        if not is_installed(spec):
            pull(spec, progress)
        manifest = read_manifest(spec)
        return _load_folder(spec, model_folder(spec), dtype, device, checksum=manifest["gguf_sha256"])
    path = Path(spec).expanduser()
    if spec and path.is_dir():
        return _load_folder(spec, path, dtype, device)
    if path.suffix == ".gguf" and path.is_file():
        return _load_gguf(spec, path, dtype, device, progress)
    return _load_folder(spec, _fetch_from_hub(_hub_id(spec), progress), dtype, device)


def _hub_id(spec: str) -> str:
    """`spec` if it can be a Hugging Face id. Raises ModelError."""
    if HUB_ID.fullmatch(spec) and not spec.endswith(".gguf"):
        return spec
    raise ModelError(
        f"{spec!r} names no model; known by name: {', '.join(catalogue())}; also accepted: a folder in Hugging Face "
        "format, a .gguf file, a Hugging Face id such as owner/name"
    )


def _config_file(folder: Path) -> Path:
    file = folder / "config.json"
    if not file.is_file():
        raise ModelError(f"{folder} is no model folder: it has no config.json")
    return file


def weight_bytes(spec: str) -> int:
    """Bytes that the weights of a model take in memory, in float32, without loading them. A model of the catalogue must
    have been fetched. Raises ModelError as `load_model` does."""
    path = model_folder(spec) if spec in catalogue() else Path(spec).expanduser()
    if path.suffix == ".gguf" and path.is_file():
        from inference.gguf import GGUFModel

        config = GGUFModel(path).config
    elif path.is_dir():
        config = ModelConfig.from_hf(read_json(_config_file(path)))
    else:
        config = ModelConfig.from_hf(read_json(_config_file(_fetch_from_hub(_hub_id(spec), None))))
    return 4 * sum(math.prod(shape) for shape in tensor_shapes(config).values())


def fingerprint(*paths: Path) -> str:
    """A sha256 that tells weights apart without reading them whole.

    Hashed are each file's name, size, first 64 KiB, and 256 samples of 4 KiB at even distances.
    """
    digest = hashlib.sha256()
    for path in paths:
        size = path.stat().st_size
        digest.update(f"{path.name}:{size}:".encode())
        with path.open("rb") as file:
            digest.update(file.read(1 << 16))
            for index in range(SAMPLES):
                file.seek(size * index // SAMPLES)
                digest.update(file.read(SAMPLE_BYTES))
    return digest.hexdigest()


def _load_folder(
    name: str, folder: Path, dtype: torch.dtype, device: torch.device | str, checksum: str | None = None
) -> LoadedModel:
    config_file = _config_file(folder)
    raw = read_json(config_file)
    config = ModelConfig.from_hf(raw)
    files = weight_files(folder)
    return LoadedModel(
        name=name,
        transformer=Transformer(config, read_weights(config, files, dtype=dtype, device=device)),
        tokenizer=read_tokenizer(folder, raw),
        config=config,
        checksum=checksum or fingerprint(config_file, *files),
    )


def _load_gguf(
    name: str, path: Path, dtype: torch.dtype, device: torch.device | str, progress: Progress | None
) -> LoadedModel:
    import tokenizers

    from inference.gguf import GGUFModel

    if progress is not None:
        progress(f"reading {path}")
    model = GGUFModel(path)
    check_names(model.config, model.names())
    files = model.tokenizer_files()
    tokenizer = make_tokenizer(
        tokenizers.Tokenizer.from_str(files.tokenizer),
        files.config,
        [files.generation["eos_token_id"]],
        files.config.get("chat_template"),
    )
    return LoadedModel(
        name=name,
        transformer=Transformer(model.config, assemble(model.config, model.read, dtype=dtype, device=device)),
        tokenizer=tokenizer,
        config=model.config,
        checksum=fingerprint(path),
    )


def _fetch_from_hub(spec: str, progress: Progress | None) -> Path:
    """The local snapshot of a Hugging Face repository; huggingface_hub honours HF_HUB_OFFLINE and its cache."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    if progress is not None:
        progress(f"looking for {spec} on the Hugging Face hub and in its local cache")
    try:
        return Path(snapshot_download(spec, allow_patterns=HUB_FILES, ignore_patterns=HUB_FILES_IGNORED))
    except (HfHubHTTPError, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(
            f"model {spec} is no local folder and cannot be had from the Hugging Face hub: {reason}"
        ) from error
