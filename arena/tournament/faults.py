"""What is wrong with a file, in one sentence."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from arena.config import BOUNDS

WORDS = BOUNDS | {
    "multiple_of": "must be a multiple of {multiple_of}",
    "too_short": "must be at least {min_length} of them",
    "too_long": "must be at most {max_length} of them",
    "tuple_type": "must be a list",
    "model_type": "must be a mapping",
    "string_too_long": "must have at most {max_length} characters",
    "int_type": "must be a whole number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
}
"""Pydantic's names of faults, and our words for them."""


def sentence(error: ValidationError, model: type[BaseModel]) -> str:
    """The first fault of `error`, which validating `model` raised: where it is, the value, what would be right."""
    fault = error.errors()[0]
    path = tuple(fault["loc"])
    where = _shown(path)
    if fault["type"] == "extra_forbidden":
        known = list(_model_at(model, path[:-1]).model_fields)
        close = get_close_matches(str(path[-1]), known, n=1)
        return f"unknown key {where}: " + (f"did you mean {close[0]}?" if close else f"there is {', '.join(known)}")
    if fault["type"] == "missing":
        return f"{where} is missing"
    if fault["type"] == "value_error":
        said = str(fault["ctx"]["error"])
        if not where:
            return said
        return said if said.startswith(f"{where} ") else f"{where}: {said}"
    if fault["type"] in WORDS:
        said = WORDS[fault["type"]].format(**fault.get("ctx", {}))
    else:
        said = "must be " + fault["msg"].removeprefix("Input should be ")
    value = fault["input"]
    shown = f" {value}" if isinstance(value, str | int | float) and value != "" else ""
    return f"{where}{shown}: {said}"


def _shown(path: tuple[int | str, ...]) -> str:
    """`agents[1].spec` for the second agent's spec."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def _model_at(model: type[BaseModel], path: tuple[int | str, ...]) -> type[BaseModel]:
    """The model that describes the mapping at `path` of a file described by `model`."""
    for step in path:
        if isinstance(step, str):
            annotation = model.model_fields[step].annotation
            model = next(
                found for found in _flat(annotation) if isinstance(found, type) and issubclass(found, BaseModel)
            )
    return model


def _flat(annotation: Any) -> list[Any]:
    return [annotation, *(inner for part in get_args(annotation) for inner in _flat(part))]
