"""Payloads: JSON objects with a version, read strictly, since anybody may write to a broker."""

from __future__ import annotations

import logging
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

logger = logging.getLogger(__name__)

VERSION = 1
MAX_PAYLOAD = 256 * 1024
"""Bytes of a payload that is read."""


class Payload(BaseModel):
    """What every payload has. Keys that are not known are passed over, so that a later edition may add some."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    v: Literal[1] = 1

    def encoded(self) -> bytes:
        return self.model_dump_json().encode()


P = TypeVar("P", bound=Payload)


class BadPayloadError(ValueError):
    """A payload that cannot be used; the message says why in a few words, and quotes nothing of it."""


def decode(model: type[P], payload: object, most: int = MAX_PAYLOAD) -> P:
    """The `payload` of a message as a `model`. Raises BadPayloadError."""
    if not isinstance(payload, bytes | bytearray):
        raise BadPayloadError("no bytes")
    if len(payload) > most:
        raise BadPayloadError(f"{len(payload):,} bytes, more than {most:,}")
    try:
        return model.model_validate_json(bytes(payload), strict=True)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in fault["loc"])
        if where == "v":
            raise BadPayloadError(f"another version than {VERSION}") from None
        raise BadPayloadError(f"{where or 'payload'}: {fault['type']}") from None


class Rejected:
    """Counts messages that were not used, and says so at the 1st, 10th, 100th ..."""

    def __init__(self) -> None:
        self.count = 0
        self._next = 1

    def add(self, topic: str, reason: str) -> None:
        self.count += 1
        if self.count == self._next:
            self._next *= 10
            logger.warning("Ignored %d unusable message(s), the last on %s: %s.", self.count, ascii(topic), reason)
