"""The weights of a model in 8 bits, worked out once and kept on disk.

A file a model, in safetensors format, named by the checksum of the weights that it was made from and the version of the
format: another model, or another way to quantise, is another file. It holds `embedding`, and of every matrix
`<name>.weight`, `<name>.scale` and perhaps `<name>.bias`, as inference/quantize.py names them.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from inference.catalogue import int8_folder
from inference.errors import ModelError
from inference.models.config import ModelConfig
from inference.models.int8 import Int8Linear
from inference.models.linear import Linear
from inference.models.quantised import QuantisedMatrix
from inference.models.weights import LayerWeights, ModelWeights, ReadTensor, tensor_shapes
from inference.pull import Progress
from inference.quantize import down_block, quantised_matrices, rotated_embedding

logger = logging.getLogger(__name__)

FORMAT = 1
"""Version of the files: to be raised when what inference/quantize.py computes changes."""

ROWS = ("embedding", "head.weight")
"""Tensors that are read row by row, as they lie in the file; the others are packed, and then let go of."""


def int8_weights(
    config: ModelConfig, open_checkpoint: Callable[[], ReadTensor], checksum: str, progress: Progress | None = None
) -> ModelWeights:
    """The model in 8 bits: from the disk, or worked out from the checkpoint, which is opened only then, and kept.

    `checksum` identifies the checkpoint. A file that is damaged is made anew, and one that cannot be written is done
    without; both are logged. Raises ModelError for what is wrong with the checkpoint.
    """
    path = stored_at(checksum)
    stored = _read(path, config)
    if stored is not None:
        return _assemble(config, *stored)
    if progress is not None:
        progress("quantising the weights to 8 bits, once")
    tensors = _quantise(config, _checked(config, open_checkpoint()))
    _write(path, tensors)
    return _assemble(config, tensors, {name: tensors[name] for name in ROWS})


def stored_at(checksum: str) -> Path:
    """Where the 8-bit weights of the checkpoint with this checksum are kept, whether they are there or not."""
    return int8_folder() / f"{checksum}-{FORMAT}.safetensors"


def _checked(config: ModelConfig, read: ReadTensor) -> ReadTensor:
    shapes = tensor_shapes(config)

    def checked(name: str) -> Tensor:
        tensor = read(name)
        if tuple(tensor.shape) != shapes[name]:
            raise ModelError(f"{name} has shape {tuple(tensor.shape)}; the configuration wants {shapes[name]}")
        return tensor

    return checked


def _quantise(config: ModelConfig, read: ReadTensor) -> dict[str, Tensor]:
    tensors = {"embedding": rotated_embedding(read)}
    for name, matrix in quantised_matrices(config, read):
        tensors |= {f"{name}.weight": matrix.weight, f"{name}.scale": matrix.scale}
        if matrix.bias is not None:
            tensors[f"{name}.bias"] = matrix.bias
    if config.qk_norm:
        for index in range(config.layers):
            for field in ("q_norm", "k_norm"):
                tensors[f"layers.{index}.{field}"] = read(f"model.layers.{index}.self_attn.{field}.weight").float()
    return tensors


def _write(path: Path, tensors: dict[str, Tensor]) -> None:
    """All or nothing: two processes may do this at once, and either may be killed."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, part)
        part.replace(path)
    except (OSError, SafetensorError) as error:
        logger.warning("the 8-bit weights cannot be kept, and will be worked out again next time: %s", error)
        with suppress(OSError):  # it may never have been there, nor its folder
            part.unlink()


def _read(path: Path, config: ModelConfig) -> tuple[dict[str, Tensor], dict[str, Tensor]] | None:
    """The tensors of a file, and those of ROWS once more; None if there is none, or it is damaged.

    Each of the two lies in a map of the file that is its own, but for small tensors. What was read of a map takes
    memory until the last tensor in it is let go of: of the second it is the rows that were read. A file is only ever
    replaced by another, never written to."""
    if not path.is_file():
        return None
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # no mapping
        found = {name: (tuple(tensor.shape), tensor.dtype) for name, tensor in tensors.items()}
        if found != _expected(config):
            logger.warning("%s is damaged and is made anew: it holds other tensors than this model has", path)
            return None
        with safe_open(path, framework="pt", device="cpu") as file:
            rows = {name: file.get_tensor(name) for name in ROWS}
    except (SafetensorError, OSError) as error:
        logger.warning("%s is damaged and is made anew: %s", path, error)
        return None
    return {name: tensor if tensor.ndim == 2 else tensor.clone() for name, tensor in tensors.items()}, rows


def _expected(config: ModelConfig) -> dict[str, tuple[tuple[int, ...], torch.dtype]]:
    """Name, shape and type of every tensor of a file."""
    hidden, inner = config.hidden_size, config.intermediate_size
    query = config.heads * config.head_dim
    stacked = query + 2 * config.kv_heads * config.head_dim
    matrices = {"head": (config.vocab_size, hidden)}
    biases: dict[str, int] = {}
    expected: dict[str, tuple[tuple[int, ...], torch.dtype]] = {
        "embedding": ((config.vocab_size, hidden), torch.float32)
    }
    for index in range(config.layers):
        layer = f"layers.{index}."
        matrices |= {
            f"{layer}qkv": (stacked, hidden),
            f"{layer}output": (hidden, query),
            f"{layer}gate_up": (2 * inner, hidden),
            f"{layer}down": (hidden, inner),
        }
        if config.attention_bias:
            biases[f"{layer}qkv"] = stacked
        if config.output_bias:
            biases[f"{layer}output"] = hidden
        if config.qk_norm:
            expected |= {f"{layer}{field}": ((config.head_dim,), torch.float32) for field in ("q_norm", "k_norm")}
    for name, shape in matrices.items():
        expected |= {f"{name}.weight": (shape, torch.int8), f"{name}.scale": (shape[:1], torch.float32)}
    return expected | {f"{name}.bias": ((size,), torch.float32) for name, size in biases.items()}


def _assemble(config: ModelConfig, tensors: dict[str, Tensor], rows: dict[str, Tensor]) -> ModelWeights:
    """`tensors` is emptied; `rows`, those of ROWS, are kept as they are."""
    tensors.pop("embedding")

    def matrix(name: str) -> QuantisedMatrix:
        # Taken out, so that a matrix is in memory twice only while it is packed.
        weight, scale = tensors.pop(f"{name}.weight"), tensors.pop(f"{name}.scale")
        return QuantisedMatrix(weight, scale, tensors.pop(f"{name}.bias", None))

    def linear(name: str, block: int = 1) -> Linear:
        return Int8Linear(matrix(name), block)

    head = matrix("head")
    return ModelWeights(
        embedding=rows["embedding"],
        layers=tuple(
            LayerWeights(
                input_norm=None,
                qkv=linear(f"{layer}qkv"),
                q_norm=tensors.pop(f"{layer}q_norm", None),
                k_norm=tensors.pop(f"{layer}k_norm", None),
                output=linear(f"{layer}output"),
                post_norm=None,
                gate_up=linear(f"{layer}gate_up"),
                down=linear(f"{layer}down", down_block(config)),
            )
            for layer in (f"layers.{index}." for index in range(config.layers))
        ),
        norm=None,
        output_embedding=QuantisedMatrix(rows["head.weight"], head.scale, head.bias),
        head=Int8Linear(head),
    )
