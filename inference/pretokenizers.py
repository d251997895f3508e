"""How byte-level tokenizers cut text before they merge: the rules of the supported families, and what follows."""

from __future__ import annotations

import json
import re
from typing import Any

import tokenizers

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")

PRE_TOKENIZERS = {
    "gpt-2": (GPT2,),
    "smollm": (r"\p{N}", GPT2),
    "llama-bpe": (LLAMA3,),
    "llama3": (LLAMA3,),
    "llama-v3": (LLAMA3,),
    "qwen2": (QWEN2,),
    "deepseek-r1-qwen": (QWEN2,),
    "default": (r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", r"[0-9][0-9][0-9]"),
}
"""Regular expressions of each tokenizer.ggml.pre, one applied after the other: what matches is a piece of its own."""

_KNOWN = {regex for rule in PRE_TOKENIZERS.values() for regex in rule}

WORD_START = re.compile(r"(?<=[\w!-~]) ")
"""A space behind a visible character. All rules above cut there, whatever comes before or after: a space is the first
character of every match that has one, unless it is inside a run of white space, and this one begins its run. No rule
looks behind, so what is left and right of it is cut, and encoded, independently."""


def description(backend: tokenizers.Tokenizer) -> dict[str, Any]:
    """The pre-tokenizer as tokenizer.json describes it; empty if there is none."""
    if backend.pre_tokenizer is None:
        return {}
    state: dict[str, Any] = json.loads(backend.pre_tokenizer.__getstate__())
    return state


def separates_words(backend: tokenizers.Tokenizer) -> bool:
    """Whether tokens never reach across a WORD_START.

    True where the text is cut by the rules above alone, is not rewritten before, and has no added tokens (special
    ones aside, which are looked for elsewhere) with a word's start inside or white space around them.
    """
    if not (backend.normalizer is None or json.loads(backend.normalizer.__getstate__())["type"] == "NFC"):
        return False
    for token in backend.get_added_tokens_decoder().values():
        if not token.special and (token.lstrip or token.rstrip or WORD_START.search(token.content)):
            return False
    root = description(backend)
    rules = {_rule(part) for part in root.get("pretokenizers", [root])}
    return rules <= _KNOWN | {None} and bool(rules & {GPT2, LLAMA3, QWEN2})


def _rule(part: dict[str, Any]) -> str | None:
    """The regular expression that a part of a pre-tokenizer cuts by, None if it cuts nothing."""
    match part:
        case {"type": "ByteLevel", "add_prefix_space": False, "use_regex": uses_regex}:
            return GPT2 if uses_regex else None
        case {"type": "Digits", "individual_digits": True}:
            return r"\p{N}"
        case {"type": "Split", "behavior": "Isolated", "invert": False, "pattern": {"Regex": str(regex)}}:
            return regex
    return "unknown"
