"""Chat templates: from messages to the text that a model was trained on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from inference.errors import InvalidRequestError, ModelError
from inference.types import Message

TODAY = date(2024, 7, 26)
"""The date that templates are told. A fixed one: a game recorded today must be the same game when it is resumed or
played again tomorrow."""


class GenerationTag(Extension):
    """`{% generation %} ... {% endgeneration %}` marks training targets; rendering keeps what is inside."""

    tags = {"generation"}  # noqa: RUF012 (jinja2 declares it as an instance attribute)

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _raise_exception(message: str) -> None:
    raise TemplateError(message)


def _tojson(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


class ChatTemplate:
    """A compiled chat template, in the dialect of Hugging Face tokenizers (Jinja with a few helpers, sandboxed).

    `special` are the named special tokens that templates refer to, such as `bos_token`. Raises ModelError if the
    template cannot be compiled.
    """

    def __init__(self, source: str, special: Mapping[str, str]) -> None:
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, loopcontrols]
        )
        environment.filters["tojson"] = _tojson
        environment.globals["raise_exception"] = _raise_exception
        environment.globals["strftime_now"] = TODAY.strftime
        self._special = dict(special)
        try:
            self._template = environment.from_string(source)
        except TemplateError as error:
            raise ModelError(f"the model's chat template cannot be compiled: {error}") from error

    def render(self, messages: Sequence[Message], *, generation_prompt: bool = True) -> str:
        """The conversation as text, ending where the assistant begins to speak if `generation_prompt`.

        Raises InvalidRequestError if the template refuses the messages (an unknown role, a wrong order).
        """
        try:
            return self._template.render(
                messages=[{"role": message.role, "content": message.content} for message in messages],
                add_generation_prompt=generation_prompt,
                tools=None,
                documents=None,
                **self._special,
            )
        except (TemplateError, TypeError) as error:
            raise InvalidRequestError(f"the model's chat template refuses these messages: {error}") from error


def template_source(config: Mapping[str, Any], read: Callable[[str], str | None]) -> str | None:
    """The default chat template of a model folder, or None.

    `config` is its tokenizer_config.json; `read` gives the text of another file of the folder, None if there is none.
    """
    source = read("chat_template.jinja")
    if source is not None:
        return source
    template = config.get("chat_template")
    if isinstance(template, list):  # several, by name
        template = {entry["name"]: entry["template"] for entry in template}.get("default")
    return template
