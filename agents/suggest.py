"""What to say about a name that is not one of those known."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def unknown(what: str, given: str, allowed: Iterable[str]) -> str:
    """A sentence that names `given`, the closest of those `allowed`, and all of them."""
    names = list(allowed)
    close = get_close_matches(given, names, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"unknown {what} {given!r}{hint}; allowed are {', '.join(names)}"
