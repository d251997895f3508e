"""The interface of attention over paged KV, and the choice of an implementation.

Every implementation computes, for each query row at position p of its sequence, softmax(q k^T / sqrt(d)) v over the
keys at positions 0..p of that sequence. Sequences that share a page list the same page number.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

ROW_TILE = 8
"""Rows of a pass are padded to a multiple of this. On x86 a matrix product gives a row the same bits at every
multiple of 4 rows, and other bits at 1, 2, 3, 5, 6 and 7 (measured with MKL; oneDNN gives them at any)."""


@dataclass(frozen=True, slots=True)
class SequenceRows:
    """The new tokens of one sequence in a step: `count` rows from `first_row` on, at positions `first_position`,
    `first_position` + 1, ... `pages` holds at least the pages of positions 0 .. first_position + count - 1.

    `tree` adds rows behind those, one an entry: alternatives of what may follow. An entry is the index of the entry
    that the row follows, or -1 for the sequence itself. Such a row reads all tokens of the sequence, the rows that lead
    to it, and itself; its K and V are in no page.
    """

    first_row: int
    count: int
    first_position: int
    pages: Sequence[int]
    tree: Sequence[int] = ()


def lineage(tree: Sequence[int]) -> list[list[int]]:
    """The entries that lead to each entry of a tree, from the top, and itself."""
    paths: list[list[int]] = []
    for index, parent in enumerate(tree):
        paths.append([*(paths[parent] if parent >= 0 else ()), index])
    return paths


def quantise_heads(x: Tensor) -> tuple[Tensor, Tensor]:
    """x [..., head_dim] -> int8 of the same shape and float32 [...]: x is about the one times the other. Each vector is
    scaled by itself, so that its largest entry becomes 127; a vector of zeros stays one."""
    scale = x.abs().amax(-1) / 127.0
    whole = torch.round(x / scale.clamp_min(torch.finfo(torch.float32).tiny).unsqueeze(-1))
    return whole.to(torch.int8), scale


class KVCache:
    """The K and V of all layers, in pages.

    Owns `k`, a tensor a layer, [pages, kv_heads, head_dim, page_size], and `v`, [pages, kv_heads, page_size, head_dim]:
    keys lie transposed, so that scores are computed for neighbouring keys at once. With `dtype` int8 the vector of a
    token and head is held as whole numbers, and `k_scale` and `v_scale`, [pages, kv_heads, page_size] a layer, lead
    back; otherwise these are None. In bfloat16 two neighbours that are multiplied together lie side by side: `k` is
    [pages, kv_heads, head_dim / 2, page_size, 2] and `v` [pages, kv_heads, page_size / 2, head_dim, 2], rounded up; an
    odd head_dim is a ValueError. `keys` and `values` read any of them.

    Which page belongs to whom is the pool's business. Page 0 is the null page: padding rows write there and nobody
    reads it. Invariant: no value of an earlier owner is left in a page, since a NaN behind a mask would leak (0 * NaN);
    masked scores are not looked at, so keys may stay.
    """

    def __init__(
        self,
        layers: int,
        pages: int,
        kv_heads: int,
        page_size: int,
        head_dim: int,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        self.page_size = page_size
        self.quantised = dtype == torch.int8
        # All layers in one tensor, so that copying or clearing a page is one operation for each. The memory is taken at
        # once: what is not there fails at the start, and no step waits for the system to find it.
        k_shape, v_shape = (head_dim, page_size), (page_size, head_dim)
        self._paired = dtype == torch.bfloat16
        if self._paired:
            if head_dim % 2:
                raise ValueError(f"a KV cache in bfloat16 needs an even head_dim, not {head_dim}")
            k_shape, v_shape = (head_dim // 2, page_size, 2), (-(-page_size // 2), head_dim, 2)  # type: ignore[assignment]
        self._k = torch.zeros(layers, pages, kv_heads, *k_shape, dtype=dtype, device=device)
        self._v = torch.zeros(layers, pages, kv_heads, *v_shape, dtype=dtype, device=device)
        self.k: list[Tensor] = list(self._k.unbind())
        self.v: list[Tensor] = list(self._v.unbind())
        self._scales: list[Tensor] = []
        self.k_scale: Sequence[Tensor | None] = [None] * layers
        self.v_scale: Sequence[Tensor | None] = [None] * layers
        if self.quantised:
            self._scales = [torch.zeros(layers, pages, kv_heads, page_size, device=device) for _ in "kv"]
            self.k_scale, self.v_scale = (list(scales.unbind()) for scales in self._scales)

    @staticmethod
    def page_bytes(layers: int, kv_heads: int, page_size: int, head_dim: int, dtype: torch.dtype) -> int:
        """Memory of a page, over all layers."""
        scale = 4 if dtype == torch.int8 else 0
        return 2 * layers * kv_heads * page_size * (head_dim * dtype.itemsize + scale)

    def write(self, layer: int, slots: Tensor, k: Tensor, v: Tensor) -> None:
        """Store k and v, both [rows, kv_heads, head_dim], at `slots` (int64 [rows]: page * page_size + offset)."""
        held = self.k[layer], self.v[layer]
        if k.device.type == "cpu" and k.dtype == torch.float32 and not self.quantised:
            from kernels.cpu_attention import store

            if self._paired:
                held = held[0].view(torch.int16), held[1].view(torch.int16)
            store(*(tensor.numpy() for tensor in (k, v, slots, *held)))
            return
        page, offset = slots // self.page_size, slots % self.page_size
        k_scale, v_scale = self.k_scale[layer], self.v_scale[layer]
        if k_scale is not None and v_scale is not None:
            k, k_scale[page, :, offset] = quantise_heads(k)
            v, v_scale[page, :, offset] = quantise_heads(v)
        if self._paired:
            self.k[layer][page, :, :, offset] = k.to(self._k.dtype).reshape(*k.shape[:2], -1, 2)
            self.v[layer][page, :, offset // 2, :, offset % 2] = v.to(self._v.dtype)
        else:
            self.k[layer][page, :, :, offset] = k.to(self._k.dtype)
            self.v[layer][page, :, offset] = v.to(self._v.dtype)

    def keys(self, layer: int) -> Tensor:
        """float32 [pages, kv_heads, page_size, head_dim], a copy: for tests, and for who wants to look."""
        k, scale = self.k[layer], self.k_scale[layer]
        k = (k.transpose(3, 4).flatten(2, 3) if self._paired else k).float().transpose(2, 3)
        return k.clone() if scale is None else k * scale.unsqueeze(-1)

    def values(self, layer: int) -> Tensor:
        """As `keys`."""
        v, scale = self.v[layer], self.v_scale[layer]
        v = (v.transpose(3, 4).flatten(2, 3)[:, :, : self.page_size] if self._paired else v).float()
        return v.clone() if scale is None else v * scale.unsqueeze(-1)

    def as_held(self, x: Tensor) -> Tensor:
        """K or V [..., head_dim] as they would be read from a page."""
        if not self.quantised:
            return x.to(self._k.dtype).to(x.dtype)
        whole, scale = quantise_heads(x)
        return whole * scale.unsqueeze(-1)

    def copy_page(self, source: int, target: int, tokens: int) -> None:
        """Give `target` the first `tokens` tokens of `source`, in every layer. Values behind them are zeros, keys
        anything."""
        if source != target:
            for tensor in (self._k, self._v, *self._scales):
                tensor[:, target] = tensor[:, source]
        if self._paired:
            self._v[:, target, :, tokens // 2, :, tokens % 2 :] = 0
            self._v[:, target, :, tokens // 2 + 1 :] = 0
        else:
            self._v[:, target, :, tokens:] = 0
        for scales in self._scales:
            scales[:, target, :, tokens:] = 0

    def clear_page(self, page: int) -> None:
        """Make a page fit for a new owner: its values zeros, its keys anything."""
        for tensor in (self._v, *self._scales):
            tensor[:, page] = 0


class Attention(ABC):
    """Attention over a KVCache. `plan` runs once a step on plain numbers, `attend` once a layer."""

    @abstractmethod
    def plan(self, sequences: Sequence[SequenceRows], rows: int, page_size: int) -> Any:
        """Prepare a step of `rows` rows (padding included); rows that no sequence names are padding."""

    @abstractmethod
    def attend(self, q: Tensor, k: Tensor, v: Tensor, cache: KVCache, layer: int, plan: Any) -> Tensor:
        """q [rows, heads, head_dim], and what `cache` holds of `layer` -> [rows, heads, head_dim]. Rows of padding are
        finite and otherwise undefined.

        k, v [rows, kv_heads, head_dim] are those of the step's rows. The cache has them already; the rows of a tree are
        read from here.
        """
