"""Short names for runs that a person can remember and type, such as `calm-rook-12`."""

from __future__ import annotations

import re
from hashlib import blake2b

from arena.errors import UsageError

MANNERS = """
    able bold brave bright brisk calm clear clever cool cosy crisp daring eager early fair fast fine
    firm free fresh glad good grand happy honest humble keen kind late light lively loyal lucky merry
    mild modest neat nimble noble patient plain polite proud quick quiet rapid ready sharp shy silent
    sly smart solid steady stout strong subtle sunny swift tidy true vivid warm wise witty young
""".split()  # noqa: SIM905
PIECES = """
    bishop cannon castle chariot elephant general guard horse king knight pawn queen rook soldier
""".split()  # noqa: SIM905

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def run_name(run_id: int) -> str:
    """The name of run `run_id`: the same on every machine, and unique because it ends in the id."""
    bits = int.from_bytes(blake2b(str(run_id).encode(), digest_size=8).digest(), "big")
    manner = MANNERS[bits % len(MANNERS)]
    piece = PIECES[bits // len(MANNERS) % len(PIECES)]
    return f"{manner}-{piece}-{run_id}"


def check_run_name(name: str) -> str:
    """`name`, if a run may be called that. Raises UsageError: digits alone would be taken for an id."""
    if not _NAME.fullmatch(name) or name.isdecimal():
        raise UsageError(
            f"a run cannot be named {name!r}: use up to 64 letters, digits, dots, dashes and underscores, "
            "not digits alone"
        )
    return name
