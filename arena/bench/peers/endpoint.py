"""Any server that speaks the OpenAI completions interface and takes token ids."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, get_args

from arena.bench.peers.base import Peer, PeerAnswer, PeerError, PeerMissingError, PeerSettings, Question
from arena.bench.peers.http import JsonClient, check_url

TIMEOUT_S = 600.0
TOKEN_VARIABLE = "OPENAI_API_KEY"

Dialect = Literal["structured_outputs", "guided_choice", "regex", "grammar"]
"""How a server is told to answer with one of some choices; there is no standard."""

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)


def grammar(choices: tuple[str, ...]) -> str:
    """GBNF for one of the choices. They hold letters, digits and hyphens: nothing to escape."""
    return "root ::= " + " | ".join(f'"{choice}"' for choice in choices)


_FIELDS: dict[Dialect, Callable[[tuple[str, ...]], dict[str, Any]]] = {
    "structured_outputs": lambda choices: {"structured_outputs": {"choice": choices}},
    "guided_choice": lambda choices: {"guided_choice": choices},
    "regex": lambda choices: {"regex": "|".join(map(re.escape, choices))},
    "grammar": lambda choices: {"grammar": grammar(choices)},
}


class EndpointPeer(Peer):
    """A server that someone else runs: it is not started, stopped or emptied here, and its memory is not seen."""

    name = "endpoint"

    def __init__(self, settings: PeerSettings, url: str | None, model: str | None, dialect: Dialect) -> None:
        """Without a URL or a model it is a missing peer. Raises ValueError for a bad URL."""
        self._model = model
        self._dialect = dialect
        self._url = (url or "").rstrip("/")
        self.settings = f"{self._url}, choices by {dialect}; what it cached before stays"
        self._connect = partial(
            JsonClient, self._url, connections=settings.slots, timeout_s=TIMEOUT_S, token=os.environ.get(TOKEN_VARIABLE)
        )
        if url is not None:
            check_url(url)
        self._connected: JsonClient | None = None

    def check(self) -> None:
        if not self._url or self._model is None:
            raise PeerMissingError("name a server that runs: --endpoint URL --endpoint-model NAME")

    @property
    def _client(self) -> JsonClient:
        assert self._connected is not None
        return self._connected

    async def start(self) -> None:
        assert self._model is not None
        self._connected = self._connect()
        known = [entry.get("id") for entry in (await self._client.get("/models")).get("data", [])]
        if self._model not in known:
            raise PeerError(f"{self._url} does not serve {self._model!r}; it has: {', '.join(map(str, known))}")
        self.version = self._model

    async def ask(self, question: Question) -> PeerAnswer:
        free = question.choices is None
        body = {
            "model": self._model,
            "prompt": question.prompt,
            "max_tokens": question.max_tokens,
            "temperature": 0.0,
            "ignore_eos": free,
            **({} if question.choices is None else _FIELDS[self._dialect](question.choices)),
        }
        answer = await self._client.post("/completions", body)
        try:
            text, usage = answer["choices"][0]["text"], answer.get("usage") or {}
        except (KeyError, IndexError, TypeError) as error:
            raise PeerError(f"{self._url}/completions answered something else than a completion") from error
        counted = usage.get("prompt_tokens")
        if counted is not None and counted != len(question.prompt):
            raise PeerError(
                f"{self._url} counted {counted} prompt tokens where {len(question.prompt)} were sent: it serves "
                "a model of another tokenizer, or takes no token ids"
            )
        cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
        return PeerAnswer(text, None if cached is None else len(question.prompt) - cached)

    async def reset(self) -> None:
        return

    async def close(self) -> None:
        if self._connected is not None:
            self._connected.close()
