"""Text for people: what others wrote on its way to a terminal or the record, and a few figures in words."""

from __future__ import annotations


def printable(text: str) -> str:
    """`text` with everything that does not print as itself written as an escape: `\\n`, `\\x1b`, `\\u202e`.

    What a model answered may hold sequences that move a terminal's cursor, set its title or turn the direction
    of writing; none of them gets through. Letters of every script stay as they are.
    """
    return "".join(mark if mark.isprintable() else mark.encode("unicode_escape").decode() for mark in text)


def message_of(error: BaseException) -> str:
    """The message of `error`, which code that is not ours may have made: even asking for it can fail."""
    try:
        return str(error)
    except Exception as worse:
        return f"its message cannot be had: {type(worse).__name__}"


def shortened(text: str, most: int) -> str:
    """`text` in about `most` characters; what is left out is counted."""
    left_out = len(text) - most
    return text if left_out <= 0 else f"{text[:most]}… ({left_out} characters more)"


def storable(text: str) -> str:
    """`text` with what no database takes written as an escape: half a surrogate pair, and the null character."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


def percent(share: float) -> str:
    """A share of 0 to 1: `12.6%`; one that is there at all is not 0: `<0.1%`."""
    return f"{share:.1%}" if share == 0 or share >= 0.0005 else "<0.1%"
