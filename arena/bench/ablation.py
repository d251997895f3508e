"""What each technique of serving is worth: the same load, with one of them switched at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from inference.engine import EngineConfig


@dataclass(frozen=True, slots=True)
class Variant:
    """A row of the table: what is different from the row before, and the engine that results."""

    name: str
    config: EngineConfig


def variants(config: EngineConfig) -> tuple[Variant, ...]:
    """From a server that answers one request after the other to everything on, a technique at a time."""
    bare = replace(
        config,
        prefix_cache=False,
        continuous_batching=False,
        chunked_prefill=False,
        jump_forward=False,
        shared_attention=False,
    )
    continuous = replace(bare, continuous_batching=True, chunked_prefill=True)
    radix = replace(continuous, prefix_cache=True)
    jump = replace(radix, jump_forward=True)
    return (
        Variant("serial: one request at a time", replace(bare, max_batch=1)),
        Variant("static batching", bare),
        Variant("continuous batching, chunked prefill", continuous),
        Variant("+ radix prefix cache", radix),
        Variant("+ jump-forward", jump),
        Variant("+ shared-prefix attention: all on", replace(jump, shared_attention=True)),
    )
