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
from typing import TYPE_CHECKING

import torch

from inference.catalogue import catalogue, is_installed, model_folder, read_manifest
from inference.checkpoint import make_tokenizer, open_weights, read_json, read_tokenizer, weight_files
from inference.errors import ModelError
from inference.formats import WeightChoice, WeightFormat, resolve
from inference.models.config import ModelConfig
from inference.models.linear import Bfloat16Linear, make_linear
from inference.models.weights import ReadTensor, assemble, check_names, tensor_shapes
from inference.pull import Progress, pull
from inference.tokenizer import Tokenizer

if TYPE_CHECKING:
    from inference.models.transformer import Transformer

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
    """A model whose files are here and whose shape is known, not yet read. `progress` is told what takes long."""

    name: str
    config: ModelConfig
    checksum: str
    open_weights: Callable[[], ReadTensor]
    read_tokenizer: Callable[[], Tokenizer]
    progress: Progress | None

    def load(
        self,
        *,
        weights: WeightChoice = "float32",
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> LoadedModel:
        """Read it. `weights` is how the matrices are held; `dtype` is that of all else, and of matrices in float32.

        Raises ModelError, one sentence long, for what is damaged.
        """
        # Loads the compiled loops: who only looks for a model is spared it, and who has found one can do something else
        # meanwhile.
        from inference.models.transformer import Transformer

        form = resolve(weights)
        if form == "int8":
            from inference.int8_store import int8_weights

            held = int8_weights(self.config, self.open_weights, self.checksum, self.progress)
        else:
            linear_of = Bfloat16Linear if form == "bfloat16" else make_linear
            held = assemble(self.config, self.open_weights(), dtype=dtype, device=device, linear_of=linear_of)
        return LoadedModel(
            name=self.name,
            transformer=Transformer(self.config, held),
            tokenizer=self.read_tokenizer(),
            config=self.config,
            checksum=self.checksum,
            weights=form,
        )


def find_model(spec: str, progress: Progress | None = None) -> FoundModel:
    """Find the model that `spec` names, and fetch what is missing; `progress` is told what takes long.

    Raises ModelError, one sentence long, for a model that is missing, damaged or not supported.
    """
    if spec in catalogue():
        if not is_installed(spec):
            pull(spec, progress)
        return _in_folder(spec, model_folder(spec), progress, checksum=read_manifest(spec)["gguf_sha256"])
    path = Path(spec).expanduser()
    if spec and path.is_dir():
        return _in_folder(spec, path, progress)
    if path.suffix == ".gguf" and path.is_file():
        return _in_gguf(spec, path, progress)
    return _in_folder(spec, _fetch_from_hub(_hub_id(spec), progress), progress)


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
    the catalogue must have been fetched. Raises ModelError as `find_model` does."""
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


def _in_folder(name: str, folder: Path, progress: Progress | None, checksum: str | None = None) -> FoundModel:
    config_file = _config_file(folder)
    raw = read_json(config_file)
    config = ModelConfig.from_hf(raw)
    files = weight_files(folder)
    return FoundModel(
        name=name,
        config=config,
        checksum=checksum or fingerprint(config_file, *files),
        open_weights=lambda: open_weights(config, files),
        read_tokenizer=lambda: read_tokenizer(folder, raw),
        progress=progress,
    )


def _in_gguf(name: str, path: Path, progress: Progress | None) -> FoundModel:
    from inference.gguf import GGUFModel

    if progress is not None:
        progress(f"reading {path}")
    model = GGUFModel(path)
    check_names(model.config, model.names())

    def read_tokenizer() -> Tokenizer:
        import tokenizers

        files = model.tokenizer_files()
        backend = tokenizers.Tokenizer.from_str(files.tokenizer)
        ends = [files.generation["eos_token_id"]]
        return make_tokenizer(backend, files.config, ends, files.config.get("chat_template"))

    return FoundModel(name, model.config, fingerprint(path), lambda: model.read, read_tokenizer, progress)


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
