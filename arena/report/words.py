"""Numbers as a report writes them."""

from __future__ import annotations

from arena.tournament.elo import Estimate


def number(value: int) -> str:
    return f"{value:,}"


def percent(value: float | None) -> str:
    """A share as a percentage; a dash for none."""
    return "–" if value is None else f"{value:.1%}"


def decimal(value: float | None, places: int = 1) -> str:
    return "–" if value is None else f"{value:,.{places}f}"


def points(value: float) -> str:
    """Points with their halves."""
    return f"{value:,.1f}".removesuffix(".0")


def duration(milliseconds: float | None) -> str:
    """A time with three digits or so: `0.21 ms`, `14 ms`, `1.3 s`."""
    if milliseconds is None:
        return "–"
    value, unit = (milliseconds, "ms") if milliseconds < 1000 else (milliseconds / 1000, "s")
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.2g} {unit}"


def elo_text(elo: Estimate) -> str:
    """`+12 ± 30`, `at least +183`; `0` for the player that the scale hangs on."""
    if elo.value is None and elo.low is None and elo.high is None:
        return "no games"
    if elo.value is None:
        return f"at least {elo.low:+z.0f}" if elo.low is not None else f"at most {elo.high:+z.0f}"
    value = f"{elo.value:+z.0f}" if round(elo.value) else "0"
    if elo.error is not None:
        return f"{value} ± {elo.error:.0f}"
    bound = Estimate(None, elo.low, elo.high)
    return value if elo.low is None and elo.high is None else f"{value} ({elo_text(bound)})"
