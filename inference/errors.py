"""What can go wrong, as types. Each reaches the caller whose request caused it, with the numbers in its message."""

from __future__ import annotations


class InferenceError(Exception):
    """Any failure of the engine or of a model."""


class ModelError(InferenceError, ValueError):
    """A model that is missing, damaged or unsupported. The message is one sentence a user can act on."""


class InvalidRequestError(InferenceError, ValueError):
    """A request that makes no sense whatever the load: an empty prompt, a negative temperature."""


class RequestTooLargeError(InvalidRequestError):
    """A request that can never fit the KV pool or the model's context; the message has the numbers."""


class QueueFullError(InferenceError):
    """The waiting line is full. Try again later: the engine fails fast instead of queueing for ever."""


class RequestTimeoutError(InferenceError):
    """The request waited or ran longer than its limit."""


class EngineClosedError(InferenceError):
    """The engine was closed, or never started."""


class EngineFailedError(InferenceError):
    """A forward pass raised; the request was in that step. The cause is chained."""
