"""Tokenizers of GGUF files against the ids that llama.cpp gives (tests/golden)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from inference import tokenizer as tokenizer_module
from inference.catalogue import model_folder
from inference.errors import ModelError
from inference.gguf_tokenizer import tokenizer_files
from inference.pretokenizers import PRE_TOKENIZERS, separates_words
from inference.tokenizer import HFTokenizer

GOLDEN = Path(__file__).parents[2] / "golden"
BYTE_LEVEL = json.loads((GOLDEN / "tokenizer_smollm2.json").read_text())
SENTENCEPIECE = json.loads((GOLDEN / "tokenizer_sentencepiece.json").read_text())
SPACE_PREFIX = {"with space prefix": True, "without space prefix": False}


def tokenizer_from(fields):
    files = tokenizer_files(fields, "test.gguf")
    return HFTokenizer(
        tokenizers.Tokenizer.from_str(files.tokenizer),
        template=files.config.get("chat_template"),
        special=files.config,
        eos_ids=files.generation["eos_token_id"],
    )


@pytest.fixture(scope="module")
def byte_level(real_model):
    """Makes the default model's tokenizer with another pre-tokenizer, as if its GGUF file had named that."""
    raw = json.loads((model_folder(real_model.name) / "tokenizer.json").read_text())
    tokens = sorted(raw["model"]["vocab"], key=raw["model"]["vocab"].__getitem__)
    special = {token["id"] for token in raw["added_tokens"]}
    fields = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3 if id in special else 1 for id in range(len(tokens))],
        "tokenizer.ggml.merges": [" ".join(merge) for merge in raw["model"]["merges"]],
        "tokenizer.ggml.eos_token_id": 2,
    }
    return lambda pre: tokenizer_from(fields | {"tokenizer.ggml.pre": pre})


def sentencepiece(space_prefix=True, **more):
    tokens, scores, types = zip(*SENTENCEPIECE["vocabulary"], strict=True)
    fields = {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": list(tokens),
        "tokenizer.ggml.scores": list(scores),
        "tokenizer.ggml.token_type": list(types),
        "tokenizer.ggml.add_space_prefix": space_prefix,
        "tokenizer.ggml.eos_token_id": 2,
    }
    return tokenizer_from(fields | more)


def test_the_default_model_has_the_ids_of_llama_cpp(real_model):
    assert len(BYTE_LEVEL["smollm"]) > 40
    for text, ids in BYTE_LEVEL["smollm"]:
        assert real_model.tokenizer.encode(text) == ids, text


@pytest.mark.parametrize("pre", sorted(BYTE_LEVEL.keys() - {"about"}))
def test_each_pre_tokenizer_has_the_ids_of_llama_cpp(pre, byte_level):
    tokenizer = byte_level(pre)
    for text, ids in BYTE_LEVEL[pre]:
        assert tokenizer.encode(text) == ids, text


def test_the_golden_texts_tell_the_pre_tokenizers_apart():
    ids = {pre: dict(BYTE_LEVEL[pre]) for pre in BYTE_LEVEL.keys() - {"about"}}
    assert ids["smollm"]["\n\n1. e4"] != ids["gpt-2"]["\n\n1. e4"]
    for pre in ids.keys() - {"smollm"}:
        assert any(ids[pre][text] != ids["smollm"][text] for text in ids[pre])


@pytest.mark.parametrize("prefix", SPACE_PREFIX)
def test_a_sentencepiece_vocabulary_has_the_ids_of_llama_cpp(prefix):
    tokenizer = sentencepiece(SPACE_PREFIX[prefix])
    assert len(SENTENCEPIECE[prefix]) > 40
    for text, ids in SENTENCEPIECE[prefix]:
        assert tokenizer.encode(text) == ids, text


@pytest.mark.parametrize("space_prefix", [True, False])
@pytest.mark.parametrize("start", ["<s>", "<s> The king:", "<s>The queen\n", ""])
def test_choices_continue_a_sentencepiece_prompt(space_prefix, start):
    tokenizer = sentencepiece(space_prefix)
    prompt = tokenizer.encode(start)
    choices = ["e2e4", "Nf3", "O-O"]
    if start == "" and space_prefix:
        choices = [" e2e4", " Nf3"]
    for choice, ids in zip(choices, tokenizer.encode_choices(prompt, choices), strict=True):
        assert [*prompt, *ids] == tokenizer.encode(start + choice)


def test_a_sentencepiece_vocabulary_without_bytes_is_refused():
    tokens = ["<unk>", "<s>", "</s>", "a"]
    more = {"tokens": tokens, "scores": [0.0] * 4, "token_type": [2, 3, 3, 1]}
    with pytest.raises(ModelError, match="without bytes"):
        sentencepiece(**{f"tokenizer.ggml.{name}": value for name, value in more.items()})


WORDS = [
    " ",
    "  ",
    "\n",
    "\t",
    "e4",
    "1",
    "23.",
    "O-O",
    "'s",
    "'S",
    "x",
    "é",
    "체",
    "♔",
    "-",
    "+=",
    "\u00a0",
    "\r\n",
    "²",
]


@pytest.mark.parametrize("pre", sorted(set(PRE_TOKENIZERS) - {"llama3", "llama-v3", "deepseek-r1-qwen"}))
def test_cutting_at_words_changes_no_token(pre, byte_level, monkeypatch):
    monkeypatch.setattr(tokenizer_module, "CHUNK", 3)
    tokenizer = byte_level(pre)
    backend = tokenizer._first
    assert separates_words(backend)

    @settings(max_examples=300, deadline=None)
    @given(st.lists(st.sampled_from(WORDS), max_size=25), st.sampled_from(WORDS))
    def check(words, last):
        text = "".join(words)
        assert tokenizer.encode(text) == backend.encode(text, add_special_tokens=False).ids
        cut = tokenizer._last_word(text)
        joint = backend.encode(text + last, add_special_tokens=False).ids
        parts = [part for part in (text[:cut], text[cut:] + last) if part]
        assert [id for part in parts for id in backend.encode(part, add_special_tokens=False).ids] == joint

    check()


def test_sentencepiece_text_is_not_cut_at_words():
    assert not separates_words(sentencepiece()._first)
