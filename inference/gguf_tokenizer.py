"""The tokenizer inside a GGUF file, as the files of a Hugging Face folder.

A GGUF file names its pre-tokenizer (how text is cut before merging) and leaves it to the reader to know the rule; a
wrong rule gives other tokens at places like a line break before a digit. So each rule is written out, in
inference/pretokenizers.py, and an unknown name is an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inference.errors import ModelError
from inference.pretokenizers import PRE_TOKENIZERS, QWEN2

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
"""Values of tokenizer.ggml.token_type."""

WHOLE_WORDS_FIRST = ("llama-bpe", "llama3", "llama-v3")
"""Pre-tokenizers of vocabularies in which a piece that is itself a token is taken whole, whatever the merges say."""


@dataclass(frozen=True, slots=True)
class TokenizerFiles:
    """Contents of tokenizer.json, tokenizer_config.json and generation_config.json."""

    tokenizer: str
    config: dict[str, Any]
    generation: dict[str, Any]


def tokenizer_files(fields: Mapping[str, Any], source: str) -> TokenizerFiles:
    """Convert the `tokenizer.*` fields of a GGUF file; `source` names the file in errors. Raises ModelError."""
    model = fields.get("tokenizer.ggml.model")
    if "tokenizer.ggml.tokens" not in fields or "tokenizer.ggml.token_type" not in fields:
        raise ModelError(f"{source} holds no tokenizer vocabulary")
    if model == "gpt2":
        description = _byte_level(fields, source)
    elif model == "llama":
        description = _sentencepiece(fields, source)
    else:
        raise ModelError(f"{source} has a tokenizer of the kind {model!r}; supported: gpt2, llama")
    description |= {"version": "1.0", "truncation": None, "padding": None, "post_processor": None}
    description["added_tokens"] = _added_tokens(fields)

    tokens = fields["tokenizer.ggml.tokens"]
    config: dict[str, Any] = {}
    for name in ("bos", "eos"):
        id = fields.get(f"tokenizer.ggml.{name}_token_id")
        if id is not None:
            config[f"{name}_token"] = tokens[id]
    if "tokenizer.chat_template" in fields:
        config["chat_template"] = fields["tokenizer.chat_template"]
    ends = {fields.get(f"tokenizer.ggml.{name}_token_id") for name in ("eos", "eot", "eom")} - {None}
    return TokenizerFiles(json.dumps(description, ensure_ascii=False), config, {"eos_token_id": sorted(ends)})


def _added_tokens(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tokens that are recognised in text before it is cut; control tokens are the special ones."""
    return [
        {
            "id": id,
            "content": token,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": kind != USER_DEFINED,
        }
        for id, (token, kind) in enumerate(
            zip(fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"], strict=True)
        )
        if kind in (CONTROL, USER_DEFINED, UNKNOWN)
    ]


def _byte_level(fields: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Byte-level BPE with an explicit list of merges (the family of GPT-2)."""
    name = fields.get("tokenizer.ggml.pre")
    if name not in PRE_TOKENIZERS:
        raise ModelError(
            f"{source} cuts text by the pre-tokenizer {name!r}, which is not supported; supported: "
            f"{', '.join(PRE_TOKENIZERS)}"
        )
    if fields.get("tokenizer.ggml.add_space_prefix"):
        raise ModelError(f"{source} puts a space before byte-level text (add_space_prefix), which is not supported")
    splits = [
        {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
        for regex in PRE_TOKENIZERS[name]
    ]
    to_bytes = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {
        "normalizer": {"type": "NFC"} if PRE_TOKENIZERS[name] == (QWEN2,) else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*splits, to_bytes]},
        "model": _bpe(
            fields["tokenizer.ggml.tokens"],
            [merge.split(" ", 1) for merge in fields["tokenizer.ggml.merges"]],
            ignore_merges=name in WHOLE_WORDS_FIRST,
        ),
        "decoder": {**to_bytes, "add_prefix_space": True},
    }


def _sentencepiece(fields: Mapping[str, Any], source: str) -> dict[str, Any]:
    """SentencePiece BPE with byte fallback (Llama 2, Mistral): merges follow from the scores of the tokens."""
    tokens: list[str] = fields["tokenizer.ggml.tokens"]
    kinds: list[int] = fields["tokenizer.ggml.token_type"]
    scores: list[float] = fields["tokenizer.ggml.scores"]
    unknown = [token for token, kind in zip(tokens, kinds, strict=True) if kind == UNKNOWN]
    if BYTE not in kinds or not unknown:
        raise ModelError(f"{source} has a SentencePiece vocabulary without bytes or unknown token: not supported")
    prefix = [{"type": "Prepend", "prepend": "▁"}] if fields.get("tokenizer.ggml.add_space_prefix", True) else []
    spaces = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if prefix else []
    return {
        "normalizer": {"type": "Sequence", "normalizers": [*prefix, spaces]},
        "pre_tokenizer": None,
        "model": _bpe(
            tokens,
            _merges_from_scores(tokens, scores, kinds),
            unk_token=unknown[0],
            fuse_unk=True,
            byte_fallback=True,
        ),
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                *strip,
            ],
        },
    }


def _merges_from_scores(tokens: list[str], scores: list[float], kinds: list[int]) -> list[list[str]]:
    """Every way to put a token together from two others, best score first: the order SentencePiece merges in."""
    ids = {token: id for id, token in enumerate(tokens) if kinds[id] in (NORMAL, UNUSED)}
    merges: list[tuple[float, int, int, list[str]]] = []
    for token, id in ids.items():
        for cut in range(1, len(token)):
            left, right = token[:cut], token[cut:]
            if left in ids and right in ids:
                merges.append((-scores[id], ids[left], ids[right], [left, right]))
    merges.sort(key=lambda merge: merge[:3])
    return [merge for *_, merge in merges]


def _bpe(tokens: list[str], merges: list[list[str]], **options: Any) -> dict[str, Any]:
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": {token: id for id, token in enumerate(tokens)},
        "merges": merges,
        **options,
    }
