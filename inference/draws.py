"""Random choices among a few: plain Python, since for a dozen values a tensor takes longer than the sum.

Random numbers come from a counter keyed by (seed, index), so that a request draws the same ones whatever runs beside
it, and again after a preemption.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from hashlib import blake2b
from itertools import accumulate


def uniform(seed: int, index: int) -> float:
    """The `index`-th number of stream `seed`: uniform in [0, 1), 53 bits, the same on every machine."""
    digest = blake2b(f"{seed}:{index}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / (1 << 53)


def softmax(logits: Sequence[float], temperature: float = 1.0) -> list[float]:
    """Probabilities at `temperature`, which is more than 0; of log-probabilities as well."""
    best = max(logits)  # taken off first, so that a tiny temperature does not overflow
    weights = [math.exp((logit - best) / temperature) for logit in logits]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def draw(probabilities: Sequence[float], u: float) -> int:
    """Index of the first entry at which the running sum of `probabilities` exceeds `u`, which is in [0, 1)."""
    sums = list(accumulate(probabilities))
    return bisect_right(sums, u * sums[-1])  # scaled, since rounding can leave the last sum a hair below 1


def best(values: Sequence[float]) -> int:
    """Index of the largest; the first of equals."""
    return max(range(len(values)), key=values.__getitem__)
