"""What a terminal says about a move: how it was chosen, what it cost, what was tried."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from arena.printable import percent, printable
from arena.replay.terminal.strip import COLORS, PARTS, seconds
from arena.replay.viewmodel import Attempt, Chosen, Ply, PromptPart, Replay
from inference.types import Decision


def move_detail(replay: Replay, ply: Ply) -> Text:
    """All about the move that led to `ply`; at the last one also the tries that led nowhere."""
    lines = [Text("Start", "bold"), Text("No move has been played.", "dim")]
    if ply.chosen is not None:
        lines = [
            Text(printable(f"{ply.number} {ply.san}"), "bold"),
            Text(str(ply.move_words)),
            Text(),
            *_how(ply.chosen),
        ]
    if ply.ply == replay.last and replay.open_attempts:
        side = replay.players[0 if replay.open_side == "first" else 1].side
        lines += [Text(), Text(f"{side}’s next move never came", "bold"), *_tries(replay.open_attempts)]
    if ply.ply == replay.last:
        lines += [Text(), Text(printable(replay.ending), "bold")]
        lines += [Text(printable(replay.detail))] if replay.detail else []
    return Text("\n").join(lines)


def _how(chosen: Chosen) -> Iterator[Text]:
    yield _fact("agent", chosen.agent)
    yield _fact("policy", chosen.policy)
    if chosen.probability is not None:
        yield _fact("probability", percent(chosen.probability)).append_text(_bar(chosen.probability))
    time, tokens = chosen.latency, chosen.tokens
    if time is not None:
        yield _fact("time", seconds(time.total_ms))
        for part in PARTS:
            yield _fact("", f"{part:<8}").append(seconds(getattr(time, f"{part}_ms")), COLORS[part])
    if time is not None and tokens is not None and tokens.prompt:
        yield _fact("first token", f"after {seconds(time.ttft_ms)}")
        yield _fact("prompt", f"{tokens.prompt} tokens, {tokens.new} of them new")
        yield _fact("generated", f"{tokens.generated} tokens")
        yield _fact("computed", f"{tokens.forwarded} tokens, {tokens.passes} passes, batch of {tokens.batch}")
    if chosen.decisions:
        yield Text()
        yield Text("The likeliest ways, and the one taken", "bold")
        yield from _ways(chosen.decisions)
    if chosen.attempts:
        yield Text()
        yield Text("What the agent said", "bold")
        yield from _tries(chosen.attempts)
    if chosen.prompt:
        yield Text()
        yield Text("New in the prompt", "bold")
        yield from _prompt(chosen.prompt)


def _prompt(parts: tuple[PromptPart, ...]) -> Iterator[Text]:
    for part in parts:
        yield Text(f"{part.role}:", "dim")
        for line in part.text.splitlines() or [part.text]:
            yield Text(f"   {printable(line)}")


def _ways(decisions: tuple[Decision, ...]) -> Iterator[Text]:
    """What the answer could have begun with, at each point where there was a choice; an empty line between two."""
    for number, decision in enumerate(decisions):
        if number:
            yield Text()
        for index, option in enumerate(decision.options):
            mark, style = ("▸", "bold") if index == decision.taken else (" ", "")
            way = f"{mark} {printable(option.text.strip()):<9} {percent(option.probability):>6}"
            yield Text(way, style).append_text(_bar(option.probability))


def _tries(attempts: tuple[Attempt, ...]) -> Iterator[Text]:
    for attempt in attempts:
        style = "bold red" if attempt.failure else "bold green"
        detail = f": {attempt.detail}" if attempt.detail else ""
        yield Text(f"{attempt.number}. ").append(attempt.failure or "played", style).append(printable(detail))
        for line in attempt.text.splitlines() or ["(nothing)"]:
            yield Text(f"   {printable(line)}")


def _fact(name: str, value: str) -> Text:
    return Text().append(f"{name:<12}", "dim").append(printable(value))


def _bar(share: float) -> Text:
    filled = round(20 * min(share, 1.0))
    return Text("  ").append("━" * filled, COLORS["decode"]).append("━" * (20 - filled), "dim")
