"""Seeds by a stable hash, so that no generator has to be carried along or saved."""

from __future__ import annotations

from hashlib import blake2b


def derive_seed(*parts: int | str) -> int:
    """A seed in [0, 2**63) that is a function of `parts` alone, on every machine and in every process."""
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in parts)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
