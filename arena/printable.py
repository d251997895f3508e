"""Recorded text on its way to a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """`text` with everything that does not print as itself written as an escape: `\\n`, `\\x1b`, `\\u202e`.

    What a model answered may hold sequences that move a terminal's cursor, set its title or turn the direction
    of writing; none of them gets through. Letters of every script stay as they are.
    """
    return "".join(mark if mark.isprintable() else mark.encode("unicode_escape").decode() for mark in text)
