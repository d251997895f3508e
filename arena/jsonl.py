"""What is recorded as JSON: one game a line, for scripts."""

from __future__ import annotations

import dataclasses
import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arena.store.queries import GameDetail


def json_value(value: Any) -> Any:
    """For `json.dumps`: dataclasses as objects, times in ISO 8601. Raises TypeError for anything else."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"no JSON for {type(value).__name__}")


def to_jsonl(detail: GameDetail) -> str:
    """The game with its moves, attempts and figures as one JSON object on one line: the fields of
    `arena.store.queries.GameDetail`."""
    return json.dumps(detail, default=json_value, ensure_ascii=False) + "\n"
