"""Text to token ids and back: the contract, and its implementation on the `tokenizers` package.

A prompt is cut at its special tokens. Tokens never merge across those, so each piece between two of them can be
encoded, and remembered, by itself: a long system prompt is encoded once, however often the conversation grows behind
it. Inside a piece no special token is ever recognised, so that a user who types `<|im_end|>` gets these letters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Protocol

import tokenizers

from inference.chat import ChatTemplate
from inference.errors import InvalidRequestError, ModelError
from inference.pretokenizers import WORD_START, description, separates_words
from inference.types import Message

CHUNK = 512
"""Characters after which a long piece is cut at the next word, if the tokenizer allows: a piece that grows at its end
is then encoded only there."""

MEMORY = 8192
"""How many chunks, and last words of a prompt with a choice, a tokenizer remembers (of each)."""

END_TOKENS = frozenset(
    (
        "<|im_end|>",
        "<|endoftext|>",
        "<|eot_id|>",
        "<|eom_id|>",
        "<|end_of_text|>",
        "<|end|>",
        "<end_of_turn>",
        "</s>",
    )
)
"""Names under which the supported families end a turn or a text. Configurations often list one of several."""


class Tokenizer(Protocol):
    """What the engine needs of a tokenizer."""

    vocab_size: int
    eos_ids: frozenset[int]  # every end-of-turn or end-of-text token
    end_of_turn_id: int  # what the chat template closes an assistant turn with
    special_ids: frozenset[int]

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`: special tokens written in it are recognised, none is added."""

    def decode(self, ids: Sequence[int]) -> str:
        """Text of `ids`, special tokens left out. Bytes that are not UTF-8 (yet) become U+FFFD."""

    def encode_text(self, text: str) -> tuple[int, ...]:
        """Token ids of a plain text that a model continues: behind the token that the model expects at the beginning of
        a text, if it expects one. Special tokens spelled in it stay plain text."""

    def render(self, messages: Sequence[Message]) -> str:
        """The conversation as the model's chat template writes it, up to where the assistant goes on: at the end of the
        last message if that is the assistant's, else where its next one begins."""

    def encode_messages(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """encode(render(messages)), except that special tokens spelled inside a message stay plain text."""

    def encode_choices(self, prompt_ids: Sequence[int], choices: Sequence[str]) -> list[tuple[int, ...]]:
        """Token ids of each choice as the continuation of the prompt, in the order given.

        A choice is encoded jointly with the prompt's last piece (the text after its last special token). Raises
        InvalidRequestError if that changes the piece's own tokens, if the piece is not what its text encodes to, and
        for choices that are none, empty, or the same tokens as another.
        """


class HFTokenizer:
    """A `tokenizers` tokenizer with its chat template.

    Owns the memory of encoded pieces; calls are safe from several threads. Raises ModelError if the model has no
    end-of-text token.
    """

    def __init__(
        self,
        backend: tokenizers.Tokenizer,
        *,
        template: str | None = None,
        special: Mapping[str, str] | None = None,
        eos_ids: Sequence[int] = (),
    ) -> None:
        """`special` names special tokens (`bos_token`, `eos_token`); `eos_ids` are those of the model's
        configuration, to which the end of turn and tokens of a well-known name are added."""
        special = special or {}
        backend.no_padding()
        backend.no_truncation()
        backend.encode_special_tokens = True  # that is: as plain text
        self._first = backend
        self._rest = _continuation(backend)
        added = {id: token for id, token in backend.get_added_tokens_decoder().items() if token.special}
        self._special = {token.content: id for id, token in added.items()}
        self._added = {token.content: token for token in added.values()}
        self._splitter = _splitter(added.values())
        self._template = None if template is None else ChatTemplate(template, special)
        self._cuts_words = separates_words(backend)
        self._chunk_ids = lru_cache(MEMORY)(self._encode_chunk)
        self._choice_ids = lru_cache(MEMORY)(self._encode_choice)

        self._beginning = _beginning(backend, self._special.values())
        self.vocab_size = backend.get_vocab_size(with_added_tokens=True)
        self.special_ids = frozenset(added)
        known = {self._special[name] for name in END_TOKENS & self._special.keys()}
        named = backend.token_to_id(special.get("eos_token", ""))
        ends = [*([] if named is None else [named]), *eos_ids, *sorted(known)]
        self.end_of_turn_id = self._find_end_of_turn(ends)
        self.eos_ids = frozenset((*ends, self.end_of_turn_id))

    def encode(self, text: str) -> list[int]:
        return list(chain.from_iterable(self._segments(text)))

    def encode_text(self, text: str) -> tuple[int, ...]:
        return (*self._beginning, *self._piece_ids(text, bool(self._beginning)))

    def decode(self, ids: Sequence[int]) -> str:
        return self._first.decode(list(ids), skip_special_tokens=True)

    def render(self, messages: Sequence[Message]) -> str:
        if self._template is None:
            raise InvalidRequestError("the model has no chat template; pass a text or token ids instead of messages")
        if messages and messages[-1].role == "assistant":
            # Not by the template: it would close the message, and may trim it.
            return self._template.render(messages[:-1]) + messages[-1].content
        return self._template.render(messages)

    def encode_messages(self, messages: Sequence[Message]) -> tuple[int, ...]:
        # The template sees the real contents, for it may trim or test them, but with a character of the private use
        # area inside each special token they spell; it comes out again once the text is cut.
        sentinel = _unused_character(messages)
        escaped = [message._replace(content=self._escape(message.content, sentinel)) for message in messages]
        return tuple(chain.from_iterable(self._segments(self.render(escaped), sentinel)))

    def encode_choices(self, prompt_ids: Sequence[int], choices: Sequence[str]) -> list[tuple[int, ...]]:
        if not choices:
            raise InvalidRequestError("the list of choices is empty")
        piece, after_special = self._last_piece(prompt_ids)
        cut = self._last_word(piece)
        result: list[tuple[int, ...]] = []
        owner: dict[tuple[int, ...], str] = {}
        for choice in choices:
            ids = self._choice_ids(piece[cut:], choice, after_special or cut > 0)
            if ids in owner:
                raise InvalidRequestError(f"choices {owner[ids]!r} and {choice!r} are the same tokens")
            owner[ids] = choice
            result.append(ids)
        return result

    def _segments(self, text: str, sentinel: str = "") -> list[tuple[int, ...]]:
        """Ids of each piece and each special token of `text`; `sentinel` is taken out of the pieces."""
        segments: list[tuple[int, ...]] = []
        position = 0
        for match in self._splitter.finditer(text):
            token = self._added[match[0]]
            before = text[position : match.start()]
            segments.append(self._piece_ids(before.rstrip() if token.lstrip else before, position > 0, sentinel))
            segments.append((self._special[match[0]],))
            position = match.end()
            if token.rstrip:
                position = len(text) - len(text[position:].lstrip())
        segments.append(self._piece_ids(text[position:], position > 0, sentinel))
        return segments

    def _piece_ids(self, text: str, behind: bool, sentinel: str = "") -> tuple[int, ...]:
        """Ids of the text between two special tokens; `behind` says that there is something before it."""
        text = text.replace(sentinel, "") if sentinel else text
        chunks: list[tuple[int, ...]] = []
        start = 0
        while self._cuts_words and (word := WORD_START.search(text, start + CHUNK)):
            chunks.append(self._chunk_ids(text[start : word.start()], behind or start > 0))
            start = word.start()
        chunks.append(self._chunk_ids(text[start:], behind or start > 0))
        return tuple(chain.from_iterable(chunks))

    def _encode_chunk(self, text: str, behind: bool) -> tuple[int, ...]:
        if not text:
            return ()
        backend = self._rest if behind else self._first
        return tuple(backend.encode(text, add_special_tokens=False).ids)

    def _last_word(self, piece: str) -> int:
        """Where the part of a piece begins that tokens of a continuation can depend on."""
        return max((word.start() for word in WORD_START.finditer(piece)), default=0) if self._cuts_words else 0

    def _last_piece(self, prompt_ids: Sequence[int]) -> tuple[str, bool]:
        """The text behind the last special token of a prompt, and whether there is such a token."""
        start = len(prompt_ids)
        while start and prompt_ids[start - 1] not in self.special_ids:
            start -= 1
        ids = tuple(prompt_ids[start:])
        text = self._decode_piece(prompt_ids[start - 1] if start else None, ids)
        # Tokenizers of the SentencePiece kind put a space of their own before a text, which decoding may leave there.
        for candidate in (text, text.removeprefix(" ")):
            if self._piece_ids(candidate, start > 0) == ids:
                return candidate, start > 0
        raise InvalidRequestError(
            f"the prompt's last piece {text[-60:]!r} is not tokenised as the model's tokenizer would; choices cannot "
            "be joined to it"
        )

    def _decode_piece(self, before: int | None, ids: tuple[int, ...]) -> str:
        """Text of the tokens of a piece; behind its special token, for some decoders strip a text's first space."""
        if before is None:
            return self._first.decode(list(ids), skip_special_tokens=False)
        token = self._first.decode([before], skip_special_tokens=False)
        return self._first.decode([before, *ids], skip_special_tokens=False).removeprefix(token)

    def _encode_choice(self, before: str, choice: str, behind: bool) -> tuple[int, ...]:
        """Ids that `choice` adds to `before`, the end of a prompt."""
        if not choice:
            raise InvalidRequestError("a choice must not be empty")
        prefix = self._chunk_ids(before, behind)
        joint = self._encode_chunk(before + choice, behind)
        if joint[: len(prefix)] != prefix or len(joint) == len(prefix):
            raise InvalidRequestError(
                f"choice {choice!r} merges with the end of the prompt {before[-20:]!r}; end the prompt at a special "
                "token or a line break"
            )
        return joint[len(prefix) :]

    def _escape(self, content: str, sentinel: str) -> str:
        """`content` with `sentinel` behind the first character of every special token in it, overlaps included."""
        if not self._special or not self._splitter.search(content):
            return content
        names = "|".join(re.escape(name) for name in self._special)
        return re.sub(rf"(?s)(?={names})(.)", rf"\1{sentinel}", content)

    def _find_end_of_turn(self, fallback: Sequence[int]) -> int:
        """The special token that follows an assistant's words in the template; else the first of `fallback`."""
        marker = "Kxq7#"
        if self._template is not None:
            talk = [Message("user", "?"), Message("assistant", marker)]
            try:
                rendered = self._template.render(talk, generation_prompt=False)
            except InvalidRequestError as error:
                raise ModelError(f"the model's chat template cannot be used: {error}") from error
            close = self._splitter.search(rendered, rendered.rindex(marker)) if marker in rendered else None
            if close is not None:
                return self._special[close[0]]
        if not fallback:
            raise ModelError("the model's tokenizer has no end-of-text token")
        return fallback[0]


def _splitter(tokens: Iterable[tokenizers.AddedToken]) -> re.Pattern[str]:
    """Finds special tokens, the longest first."""
    patterns = [
        rf"(?<!\w){re.escape(token.content)}(?!\w)" if token.single_word else re.escape(token.content)
        for token in sorted(tokens, key=lambda token: -len(token.content))
    ]
    return re.compile("|".join(patterns) or r"(?!)")


def _beginning(backend: tokenizers.Tokenizer, special: Collection[int]) -> tuple[int, ...]:
    """The special token that the tokenizer puts in front of a text, if it puts one there."""
    first = backend.encode("a", add_special_tokens=True).ids[:1]
    return tuple(token for token in first if token in special)


def _continuation(backend: tokenizers.Tokenizer) -> tokenizers.Tokenizer:
    """The tokenizer for text behind a special token: the same, unless it puts a space before the first word of a
    text only."""
    pre_tokenizer = description(backend)
    changed = False
    for part in pre_tokenizer.get("pretokenizers", [pre_tokenizer]):
        if part.get("type") == "Metaspace" and part.get("prepend_scheme") == "first":
            part["prepend_scheme"] = "never"
            changed = True
    if not changed:
        return backend
    rest = tokenizers.Tokenizer.from_str(json.dumps(json.loads(backend.to_str()) | {"pre_tokenizer": pre_tokenizer}))
    rest.encode_special_tokens = True
    return rest


def _unused_character(messages: Sequence[Message]) -> str:
    used = set().union(*(message.content for message in messages))
    return next(character for character in map(chr, range(0xE000, 0xF8FF)) if character not in used)
