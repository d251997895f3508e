"""From the logits of the whole vocabulary to a token, in float64."""

from __future__ import annotations

import torch
from torch import Tensor


def sample(logits: Tensor, *, temperature: float, top_k: int, top_p: float, u: float) -> int:
    """A token from logits [vocab]. Temperature 0 takes the largest logit; ties go to the lower id.

    `top_k` keeps the k most likely; `top_p` then keeps the smallest set of most likely tokens whose probability
    reaches top_p (Holtzman et al., 2020).
    """
    if temperature == 0.0:
        return int(logits.argmax())
    probabilities = _softmax(logits, temperature)
    if not top_k and top_p == 1.0:
        return _draw(probabilities, u)
    # Sort only those that can be kept: all tokens below 1 / vocab of what top_p cuts off fall into the cut together.
    size = len(probabilities)
    least = probabilities.topk(min(top_k, size)).values[-1] if top_k else (1.0 - top_p) / size
    ids = (probabilities >= least).nonzero()[:, 0]
    kept, order = torch.sort(probabilities[ids], descending=True, stable=True)
    if top_k:
        kept = kept[:top_k] / kept[:top_k].sum()
    if top_p < 1.0:
        kept = kept[torch.cumsum(kept, dim=0) - kept < top_p]
    return int(ids[order[_draw(kept / kept.sum(), u)]])


def log_probabilities(logits: Tensor, ids: list[int]) -> list[float]:
    """Natural-log probabilities of `ids` under the whole distribution, float64."""
    values: list[float] = torch.log_softmax(logits.double(), dim=0)[ids].tolist()
    return values


def _softmax(logits: Tensor, temperature: float) -> Tensor:
    """inference.draws.softmax, float64."""
    wide = logits.double()
    return torch.softmax((wide - wide.max()) / temperature, dim=0)


def _draw(probabilities: Tensor, u: float) -> int:
    """inference.draws.draw, of float64."""
    sums = torch.cumsum(probabilities, dim=0)
    index = int(torch.searchsorted(sums, torch.tensor(u * float(sums[-1]), dtype=sums.dtype), right=True))
    return min(index, int(probabilities.nonzero()[-1]))  # torch adds in blocks: its last sums may differ by a rounding
