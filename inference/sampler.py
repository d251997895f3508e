"""From logits to a token: float64, no generator to carry along.

Random numbers come from a counter keyed by (seed, index), so that a request draws the same ones whatever runs beside
it, and again after a preemption.
"""

from __future__ import annotations

from hashlib import blake2b

import torch
from torch import Tensor


def uniform(seed: int, index: int) -> float:
    """The `index`-th number of stream `seed`: uniform in [0, 1), 53 bits, the same on every machine."""
    digest = blake2b(f"{seed}:{index}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / (1 << 53)


def draw(probabilities: Tensor, u: float) -> int:
    """Index of the first entry at which the running sum of `probabilities` (float64, summing to 1) exceeds `u`."""
    sums = torch.cumsum(probabilities, dim=0)
    # Rounding can leave the last sum a hair below 1; scaling keeps u inside.
    index = int(torch.searchsorted(sums, torch.tensor(u * float(sums[-1]), dtype=sums.dtype), right=True))
    return min(index, int(probabilities.nonzero()[-1]))


def sample(logits: Tensor, *, temperature: float, top_k: int, top_p: float, u: float) -> int:
    """A token from logits [vocab]. Temperature 0 takes the largest logit; ties go to the lower id.

    `top_k` keeps the k most likely; `top_p` then keeps the smallest set of most likely tokens whose probability
    reaches top_p (Holtzman et al., 2020).
    """
    if temperature == 0.0:
        return int(logits.argmax())
    probabilities = softmax(logits, temperature)
    if not top_k and top_p == 1.0:
        return draw(probabilities, u)
    # Sort only those that can be kept: all tokens below 1 / vocab of what top_p cuts off fall into the cut together.
    size = len(probabilities)
    least = probabilities.topk(min(top_k, size)).values[-1] if top_k else (1.0 - top_p) / size
    ids = (probabilities >= least).nonzero()[:, 0]
    kept, order = torch.sort(probabilities[ids], descending=True, stable=True)
    if top_k:
        kept = kept[:top_k] / kept[:top_k].sum()
    if top_p < 1.0:
        kept = kept[torch.cumsum(kept, dim=0) - kept < top_p]
    return int(ids[order[draw(kept / kept.sum(), u)]])


def log_probabilities(logits: Tensor, ids: list[int]) -> list[float]:
    """Natural-log probabilities of `ids` under the whole distribution, float64."""
    values: list[float] = torch.log_softmax(logits.double(), dim=0)[ids].tolist()
    return values


def softmax(logits: Tensor, temperature: float) -> Tensor:
    """Probabilities at `temperature`, float64."""
    # The largest logit is taken off first, so that a tiny temperature does not overflow.
    wide = logits.double()
    return torch.softmax((wide - wide.max()) / temperature, dim=0)
