"""From what a user calls a model to one that runs.

Four kinds of names are understood, in this order: a name of the catalogue (fetched on first use), a local path
(a Hugging Face folder, or a `.gguf` file, which is dequantised in memory), and a Hugging Face id `owner/name`.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from inference.catalogue import catalogue, is_installed, model_folder, read_manifest
from inference.checkpoint import make_tokenizer, open_weights, read_json, read_tokenizer, weight_files
from inference.errors import ModelError
from inference.formats import WeightChoice, WeightFormat, resolve
from inference.models.config import ModelConfig
from inference.models.linear import Bfloat16Linear, make_linear
from inference.models.transformer import Transformer
from inference.models.weights import ReadTensor, assemble, check_names, tensor_shapes
from inference.pull import Progress, pull
from inference.tokenizer import Tokenizer

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
HUB_FILES = ["*.json", "*.safetensors", "*.jinja", "tokenizer.model", "merges.txt", "vocab.txt"]
HUB_FILES_IGNORED = ["*/*", "consolidated*"]  # other formats of the same weights

SAMPLES, SAMPLE_BYTES = 256, 4096


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model ready to run. `checksum` identifies the weights it was loaded from (see `fingerprint`), and
    `weights` is how they are held."""

    name: str
    transformer: Transformer
    tokenizer: Tokenizer
    config: ModelConfig
    checksum: str
    weights: WeightFormat = "float32"


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model whose files are here and whose shape is known. `load` reads it; raises ModelError."""

    config: ModelConfig
    load: Callable[[], LoadedModel]


def load_model(
    spec: str,
    *,
    weights: WeightChoice = "float32",
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
) -> LoadedModel:
    """Load the model that `spec` names; `progress` is told what takes long.

    `weights` is how the matrices are held; `dtype` is that of all else, and of matrices in float32.

    Raises ModelError, one sentence long, for a model that is missing, damaged or not supported.
    """
    return find_model(spec, weights=weights, dtype=dtype, device=device, progress=progress).load()


def find_model(
    spec: str,
    *,
    weights: WeightChoice = "float32",
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
) -> FoundModel:
    """The first half of `load_model`: fetch what is missing and read the shape. Raises ModelError."""
    how = _Loading(resolve(weights), dtype, device, progress)
    if spec in catalogue():
        if not is_installed(spec):
            pull(spec, progress)
        manifest = read_manifest(spec)
        return _in_folder(spec, model_folder(spec), how, checksum=manifest["gguf_sha256"])
    path = Path(spec).expanduser()
    if spec and path.is_dir():
        return _in_folder(spec, path, how)
    if path.suffix == ".gguf" and path.is_file():
        return _in_gguf(spec, path, how)
    return _in_folder(spec, _fetch_from_hub(_hub_id(spec), progress), how)


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


def read_config(spec: str) -> ModelConfig:
    """The shape of a model, without loading it; of a Hugging Face id `config.json` is fetched and nothing else. One of
    the catalogue must have been fetched. Raises ModelError as `load_model` does."""
    if spec in catalogue() and not is_installed(spec):
        raise ModelError(f"model {spec} is not fetched yet; `arena models pull {spec}` fetches it")
    path = model_folder(spec) if spec in catalogue() else Path(spec).expanduser()
    if path.suffix == ".gguf" and path.is_file():
        from inference.gguf import GGUFModel

        return GGUFModel(path).config
    folder = path if spec and path.is_dir() else _fetch_from_hub(_hub_id(spec), None, ["config.json"])
    return ModelConfig.from_hf(read_json(_config_file(folder)))


def weight_bytes(spec: str, weights: WeightFormat = "float32") -> int:
    """Bytes that the weights of a model take in memory, without loading them; see `read_config`. The embeddings are in
    float32, but for the output's in int8; a copy that some product packs on first use is not counted."""
    shapes = tensor_shapes(read_config(spec))
    narrow = [shapes.pop(name) for name in list(shapes) if "layers" in name and len(shapes[name]) == 2]
    if weights == "int8":
        narrow.append(shapes.pop("lm_head.weight", shapes["model.embed_tokens.weight"]))
    scales = sum(shape[0] for shape in narrow) if weights == "int8" else 0
    each = {"float32": 4, "bfloat16": 2, "int8": 1}[weights]
    return each * sum(map(math.prod, narrow)) + 4 * (sum(map(math.prod, shapes.values())) + scales)


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


@dataclass(frozen=True, slots=True)
class _Loading:
    """How the caller of `load_model` wants it."""

    weights: WeightFormat
    dtype: torch.dtype
    device: torch.device | str
    progress: Progress | None

    def transformer(self, config: ModelConfig, open_checkpoint: Callable[[], ReadTensor], checksum: str) -> Transformer:
        """The checkpoint is opened only if it has to be read."""
        if self.weights == "int8":
            from inference.int8_store import int8_weights

            return Transformer(config, int8_weights(config, open_checkpoint, checksum, self.progress))
        linear_of = Bfloat16Linear if self.weights == "bfloat16" else make_linear
        read = open_checkpoint()
        return Transformer(config, assemble(config, read, dtype=self.dtype, device=self.device, linear_of=linear_of))


def _in_folder(name: str, folder: Path, how: _Loading, checksum: str | None = None) -> FoundModel:
    config_file = _config_file(folder)
    raw = read_json(config_file)
    config = ModelConfig.from_hf(raw)
    files = weight_files(folder)
    known = checksum or fingerprint(config_file, *files)

    def load() -> LoadedModel:
        return LoadedModel(
            name=name,
            transformer=how.transformer(config, lambda: open_weights(config, files), known),
            tokenizer=read_tokenizer(folder, raw),
            config=config,
            checksum=known,
            weights=how.weights,
        )

    return FoundModel(config, load)


def _in_gguf(name: str, path: Path, how: _Loading) -> FoundModel:
    import tokenizers

    from inference.gguf import GGUFModel

    if how.progress is not None:
        how.progress(f"reading {path}")
    model = GGUFModel(path)
    check_names(model.config, model.names())

    def load() -> LoadedModel:
        files = model.tokenizer_files()
        tokenizer = make_tokenizer(
            tokenizers.Tokenizer.from_str(files.tokenizer),
            files.config,
            [files.generation["eos_token_id"]],
            files.config.get("chat_template"),
        )
        checksum = fingerprint(path)
        return LoadedModel(
            name=name,
            transformer=how.transformer(model.config, lambda: model.read, checksum),
            tokenizer=tokenizer,
            config=model.config,
            checksum=checksum,
            weights=how.weights,
        )

    return FoundModel(model.config, load)


def _fetch_from_hub(spec: str, progress: Progress | None, files: Sequence[str] = HUB_FILES) -> Path:
    """The local snapshot of `files` of a Hugging Face repository; huggingface_hub honours HF_HUB_OFFLINE and its
    cache."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    if progress is not None:
        progress(f"looking for {spec} on the Hugging Face hub and in its local cache")
    try:
        return Path(snapshot_download(spec, allow_patterns=list(files), ignore_patterns=HUB_FILES_IGNORED))
    except (HfHubHTTPError, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(
            f"model {spec} is no local folder and cannot be had from the Hugging Face hub: {reason}"
        ) from error
