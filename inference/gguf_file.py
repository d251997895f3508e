"""The container format GGUF: named fields and tensors in one file.

Versions 2 and 3, little-endian (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). The tables of types and
the dequantisation are those of the `gguf` package. Its reader is not used: it makes several array views for each
entry of a vocabulary, which takes most of the time of loading a small model.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

from inference.errors import ModelError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
DEFAULT_ALIGNMENT = 32
STRING, ARRAY = 8, 9
NUMBERS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True))
"""Types of values that are single numbers, as codes of `struct`."""

MAX_DEPTH = 4  # arrays of arrays are allowed, not seen, and must not exhaust the stack


@dataclass(frozen=True, slots=True)
class TensorInfo:
    name: str
    shape: tuple[int, ...]  # slowest dimension first, as in numpy
    kind: int  # a GGMLQuantizationType
    offset: int  # bytes from the start of the file


class GGUFFile:
    """Owns the memory map of a GGUF file. `fields` are plain values. Raises ModelError for a damaged file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fields: dict[str, Any] = {}
        self.tensors: dict[str, TensorInfo] = {}
        try:
            with path.open("rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._read_header()
        except (OSError, ValueError, struct.error) as error:
            raise ModelError(f"{path} is not a readable GGUF file: {error}") from error

    def tensor(self, name: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        """A tensor as float32 in memory of its own. Raises KeyError; ModelError for an unknown quantisation."""
        info = self.tensors[name]
        kind = GGMLQuantizationType(info.kind)
        raw = np.frombuffer(self._data, np.uint8, self._size(info), info.offset).reshape(*info.shape[:-1], -1)
        if kind == GGMLQuantizationType.F64:
            return raw.view(np.float64).astype(np.float32)
        try:
            values = dequantize(raw, kind)
        except NotImplementedError as error:
            raise ModelError(f"{self.path}: tensor {name} is of type {kind.name}, which is not supported") from error
        return np.array(values, dtype=np.float32).reshape(info.shape)

    def _read_header(self) -> None:
        if self._data[:4] != MAGIC:
            raise ValueError("it does not begin with GGUF")
        self._at = 4
        version = self._number("I")
        if version not in VERSIONS:
            raise ValueError(f"version {version} is not among {VERSIONS}")
        tensors, fields = self._number("Q"), self._number("Q")
        for _ in range(fields):
            name = self._string()
            self.fields[name] = self._value(self._number("I"))
        found = [self._tensor_info() for _ in range(tensors)]
        alignment = self.fields.get("general.alignment", DEFAULT_ALIGNMENT)
        if not isinstance(alignment, int) or alignment < 1:
            raise ValueError(f"general.alignment is {alignment!r}")
        start = -(-self._at // alignment) * alignment
        for name, shape, kind, offset in found:
            info = TensorInfo(name, shape, kind, start + offset)
            if info.offset + self._size(info) > len(self._data):
                raise ValueError(f"tensor {name} ends after the file, which has {len(self._data)} bytes")
            self.tensors[name] = info

    def _tensor_info(self) -> tuple[str, tuple[int, ...], int, int]:
        name = self._string()
        shape = tuple(self._number("Q") for _ in range(self._number("I")))[::-1]
        return name, shape, self._number("I"), self._number("Q")

    def _size(self, info: TensorInfo) -> int:
        """Bytes of a tensor. Raises ValueError for an unknown type."""
        block, size = map(int, GGML_QUANT_SIZES[GGMLQuantizationType(info.kind)])
        if not info.shape or info.shape[-1] % block:
            raise ValueError(f"tensor {info.name} has shape {info.shape}, which does not fit its blocks of {block}")
        return prod(info.shape) // block * size

    def _value(self, kind: int, depth: int = 0) -> Any:
        if kind in NUMBERS:
            return self._number(NUMBERS[kind])
        if kind == STRING:
            return self._string()
        if kind != ARRAY or depth == MAX_DEPTH:
            raise ValueError(f"a field has the unknown type {kind}")
        item, count = self._number("I"), self._number("Q")
        if item in NUMBERS:
            return list(self._unpack(f"<{count}{NUMBERS[item]}"))
        return [self._value(item, depth + 1) for _ in range(count)]

    def _string(self) -> str:
        length = self._number("Q")
        end = self._at + length
        if end > len(self._data):
            raise ValueError("it ends in the middle of a text")
        text = self._data[self._at : end].decode("utf-8")
        self._at = end
        return text

    def _number(self, code: str) -> Any:
        return self._unpack("<" + code)[0]

    def _unpack(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(layout, self._data, self._at)
        self._at += struct.calcsize(layout)
        return values
