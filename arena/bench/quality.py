"""What cheaper weights and a cheaper KV cache cost in quality: the model held to itself in float32, on fixed texts."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from arena.bench.workload import Workload
from arena.resources import data_path
from inference.batch import ForwardBatch
from inference.engine import Engine, EngineConfig
from inference.formats import KVFormat
from inference.loader import LoadedModel
from kernels.attention import ROW_TILE, KVCache, SequenceRows
from kernels.cpu import CpuAttention

TEXTS = ("plain", "chess")
"""Files of data/quality/."""

ROWS = 256
"""Tokens of a pass."""

PAGE_SIZE = 64


@dataclass(frozen=True, slots=True)
class Likeness:
    """How near a model comes to its reference over `tokens` places of a text.

    `perplexity` and `reference_perplexity` are those of the next token; `same_top` is the share of places where both
    hold the same token most likely; `kl` the mean Kullback-Leibler divergence from the reference's distribution of the
    next token, in nats.
    """

    text: str
    tokens: int
    perplexity: float
    reference_perplexity: float
    same_top: float
    kl: float

    @property
    def ratio(self) -> float:
        """Of the perplexities: 1.01 is one per cent worse than the reference."""
        return self.perplexity / self.reference_perplexity


def read_text(name: str) -> str:
    """One of TEXTS."""
    return data_path("quality", f"{name}.txt").read_text(encoding="utf-8")


def compare(
    text: str, ids: Sequence[int], model: LoadedModel, reference: LoadedModel, kv: KVFormat = "float32"
) -> Likeness:
    """Both models read `ids`, which `text` names; at each place but the last they are asked for the next token. `kv`
    is how `model` holds keys and values; the reference has float32."""
    readers = [_Reader(model, len(ids), kv), _Reader(reference, len(ids), "float32")]
    surprise, reference_surprise, same, divergence = 0.0, 0.0, 0, 0.0
    for start in range(0, len(ids), ROWS):
        piece = ids[start : start + ROWS]
        following = torch.tensor(ids[start + 1 : start + ROWS + 1])
        ours, theirs = (reader.read(piece)[: len(following)].log_softmax(-1) for reader in readers)
        surprise -= float(ours.gather(1, following[:, None]).double().sum())
        reference_surprise -= float(theirs.gather(1, following[:, None]).double().sum())
        same += int((ours.argmax(-1) == theirs.argmax(-1)).sum())
        divergence += float((theirs.exp() * (theirs - ours)).double().sum())
    n = len(ids) - 1
    return Likeness(text, n, math.exp(surprise / n), math.exp(reference_surprise / n), same / n, divergence / n)


def overall(parts: Sequence[Likeness]) -> Likeness:
    """All texts as one: means over their tokens."""
    n = sum(part.tokens for part in parts)

    def mean(values: Sequence[float]) -> float:
        return sum(value * part.tokens for value, part in zip(values, parts, strict=True)) / n

    return Likeness(
        text="all",
        tokens=n,
        perplexity=math.exp(mean([math.log(part.perplexity) for part in parts])),
        reference_perplexity=math.exp(mean([math.log(part.reference_perplexity) for part in parts])),
        same_top=mean([part.same_top for part in parts]),
        kl=mean([part.kl for part in parts]),
    )


def same_moves(workload: Workload, config: EngineConfig, model: LoadedModel, reference: LoadedModel) -> float:
    """The share of the workload's positions in which both models, at temperature 0, choose the same move. The reference
    has a KV cache of float32."""
    ours = asyncio.run(_moves(workload, config, model))
    theirs = asyncio.run(_moves(workload, replace(config, kv="float32"), reference))
    return sum(a == b for a, b in zip(ours, theirs, strict=True)) / len(ours)


async def _moves(workload: Workload, config: EngineConfig, model: LoadedModel) -> list[str]:
    async with Engine(config, model=model) as engine:
        replies = await asyncio.gather(
            *(
                engine.choose(turn.prompt, turn.choices, temperature=0.0, seed=0)
                for game in workload.games
                for turn in game
            )
        )
    return [reply.text for reply in replies]


class _Reader:
    """Reads one text through a model, some tokens at a time. Owns the KV cache of the text."""

    def __init__(self, model: LoadedModel, length: int, kv: KVFormat) -> None:
        config = model.config
        self._transformer = model.transformer
        self._attention = CpuAttention()
        self._pages = list(range(1, 1 + -(-length // PAGE_SIZE)))
        pages, dtype = len(self._pages) + 1, getattr(torch, kv)
        self._cache = KVCache(config.layers, pages, config.kv_heads, PAGE_SIZE, config.head_dim, dtype=dtype)
        self._read = 0

    def read(self, ids: Sequence[int]) -> Tensor:
        """Logits float32 [len(ids), vocab] of the tokens that follow each of `ids`, which follow those read before."""
        rows = len(ids) + -len(ids) % ROW_TILE
        positions = torch.zeros(rows, dtype=torch.int64)
        positions[: len(ids)] = torch.arange(self._read, self._read + len(ids))
        slots = positions + PAGE_SIZE  # the pages lie in order, after the null page
        slots[len(ids) :] = 0
        tokens = torch.zeros(rows, dtype=torch.int64)
        tokens[: len(ids)] = torch.tensor(ids)
        sequence = SequenceRows(0, len(ids), self._read, self._pages)
        batch = ForwardBatch(
            token_ids=tokens,
            positions=positions,
            slots=slots,
            output_rows=torch.arange(rows),
            attention=self._attention.plan([sequence], rows, PAGE_SIZE),
        )
        self._read += len(ids)
        hidden = self._transformer.forward(batch, self._cache, self._attention)
        return self._transformer.logits(hidden)[: len(ids)]
