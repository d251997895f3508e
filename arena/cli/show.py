"""`arena show`: one recorded game, its board, and how each move was chosen."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import click

from arena.cli.logs import log_options
from arena.cli.options import console, db_option, echo_json, game_id, json_option
from arena.errors import StoreError, UsageError
from arena.printable import percent, printable, shortened
from arena.store.records import IMPORTED

if TYPE_CHECKING:
    from arena.replay.viewmodel import PromptPart
    from arena.store.queries import AttemptDetail, GameDetail, MoveDetail
    from games.base import Position, Side

LINE_WIDTH = 88
SOURCE_TAGS = ("Event", "Site", "Date", "Round", "대회명", "회전", "대국일자", "대국장소", "제한시간")
MAX_TEXT = 300
"""Characters shown of what an agent said in the overview of a game; `--ply` shows all of it."""


@click.command("show")
@click.argument("game", type=game_id)
@click.option("--ply", type=click.IntRange(min=0), help="The position after this ply (0: the start), and its move.")
@db_option
@json_option
@log_options
def command(game: int, ply: int | None, db: str, as_json: bool) -> None:
    """Show game GAME: board, moves, how each was chosen."""
    from arena.store.database import Database
    from arena.store.queries import game_detail

    with Database.open(db, create=False) as database:
        detail = game_detail(database, game)
    if ply is not None and ply > detail.plies:
        raise UsageError(f"game {game} has plies 0 to {detail.plies}, not {ply}")
    shown = detail.plies if ply is None else ply
    position = _position(detail, shown)
    if as_json:
        where = {"ply": shown, "fen": position.fen, "text": position.text(), "prompt": _prompt(detail, shown)}
        echo_json(
            {**{field.name: getattr(detail, field.name) for field in dataclasses.fields(detail)}, "position": where}
        )
        return
    for line in _header(detail):
        click.echo(line)
    click.echo(f"\n{position.text()}\n\nAfter ply {shown}: {position.fen}")
    if ply is None:
        _print_moves(detail)
        _print_judgements(detail)
    elif ply > 0:
        _print_move(detail.moves[ply - 1])
        _print_attempts("Attempts:", detail.moves[ply - 1].attempts)
        _print_prompt(detail, ply)
    if shown == detail.plies:
        most = MAX_TEXT if ply is None else None
        _print_attempts(f"Ply {detail.plies + 1} got no move:", detail.open_attempts, most)


def sides(game: str) -> dict[Side, str]:
    """Display names of the sides of a recorded game. Raises UsageError for rules that are not installed."""
    from games import get_game
    from games.base import UnknownGameError

    try:
        return get_game(game).sides
    except UnknownGameError as error:
        raise UsageError(str(error)) from error


def _position(detail: GameDetail, ply: int) -> Position:
    from games import get_game
    from games.base import IllegalMoveError, InvalidPositionError

    sides(detail.game)
    moves = [move.move for move in detail.moves[:ply]]
    try:
        return get_game(detail.game).position(detail.initial_fen, moves)
    except (IllegalMoveError, InvalidPositionError) as error:
        raise StoreError(f"game {detail.game_id} cannot be replayed from the record: {error}") from error


def _header(detail: GameDetail) -> Iterable[str]:
    names = sides(detail.game)
    yield printable(
        f"Game {detail.game_id} of run {detail.run}: "
        f"{detail.white} ({names['first']}) - {detail.black} ({names['second']})"
    )
    if detail.source_tags is not None:
        yield printable(", ".join((detail.game, "imported", *_source(detail.source_tags))))
        yield printable(_state(detail))
        return
    facts = [detail.game, f"seed {detail.seed}"]
    facts += [f"pair {detail.pair}"] if detail.pair is not None else []
    facts += [f"opening {detail.opening}"] if detail.opening else []
    facts += [f"replay {detail.replay}"] if detail.replay else []
    facts += [f"model {detail.model}"] if detail.model else []
    facts += [f"started {detail.started_at:%Y-%m-%d %H:%M:%S} UTC"] if detail.started_at else []
    yield printable(", ".join(facts))
    yield printable(_state(detail))


def _source(tags: Mapping[str, str]) -> Iterable[str]:
    """What the file of an imported game says of when and where it was played."""
    return (f"{tag} {shortened(value, MAX_TEXT)}" for tag, value in tags.items() if tag in SOURCE_TAGS and value)


def _state(detail: GameDetail) -> str:
    plies = f"{detail.plies} {'ply' if detail.plies == 1 else 'plies'}"
    if detail.status == "scheduled":
        return "Not started."
    if detail.status == "playing":
        return f"Unfinished: {plies} so far."
    reason = f"{detail.termination}" + (f" ({shortened(detail.detail, MAX_TEXT)})" if detail.detail else "")
    if detail.void:
        return f"Void after {plies}: {reason}. It does not count."
    same = f" The same line as game {detail.duplicate_of}." if detail.duplicate_of is not None else ""
    return f"{detail.result} by {reason} after {plies}.{same}"


def _print_moves(detail: GameDetail) -> None:
    if not detail.moves:
        return
    from rich.table import Table
    from rich.text import Text

    click.echo(f"\n{click.wrap_text(printable(_movetext(detail)), width=LINE_WIDTH)}\n")
    if detail.source_tags is not None:
        return  # nobody was asked for its moves
    click.echo(printable(_policies(detail)))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("ply", justify="right")
    table.add_column("move")
    for heading in ("prob", "queue", "prefill", "decode", "ttft", "total", "prompt", "cached", "new", "tries"):
        table.add_column(heading, justify="right")
    for move in detail.moves:
        times = (move.queue_ms, move.prefill_ms, move.decode_ms, move.ttft_ms, move.total_ms)
        counts = (move.prompt_tokens, move.cached_tokens, move.generated_tokens, len(move.attempts))
        cells = (*(f"{time:.0f}" for time in times), *(str(count) for count in counts))
        table.add_row(str(move.ply), Text(printable(move.san)), _probability(move), *cells)
    console().print(table)
    for move in detail.moves:
        if any(attempt.failure for attempt in move.attempts):
            _print_attempts(f"Ply {move.ply}, {move.agent}:", move.attempts, MAX_TEXT)


def _print_judgements(detail: GameDetail) -> None:
    """What each judge makes of the moves: its own choice, the score after the move for the mover, what it lost."""
    from rich.table import Table
    from rich.text import Text

    from agents.uci.score import score_text

    for judge in dict.fromkeys(one.judge for move in detail.moves for one in move.judgements):
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for heading in ("ply", "move", "best", "score", "loss"):
            table.add_column(heading, justify="left" if heading in ("move", "best") else "right")
        for move in detail.moves:
            for one in move.judgements:
                if one.judge == judge:
                    best = "same" if one.agrees else one.best or ""
                    cells = (Text(printable(best)), score_text(one.after), str(one.loss) if one.loss else "")
                    table.add_row(str(move.ply), Text(printable(move.san)), *cells)
        click.echo(
            "\n" + printable(f"Judged by {judge}; the score is the mover's after the move, the loss in centipawns:")
        )
        console().print(table)


def _movetext(detail: GameDetail) -> str:
    """The moves in native notation with their numbers: `1. e4 e5 2. Nf3`, `1... e5 2. Nf3`."""
    start = (detail.initial_fen or "").split()
    number = int(start[-1]) if start and start[-1].isdecimal() else 1
    words: list[str] = []
    for move in detail.moves:
        if move.side == "first":
            words.append(f"{number}.")
        elif not words:
            words.append(f"{number}...")
        words.append(move.san)
        number += move.side == "second"
    return " ".join([*words, detail.result or "*"])


def _policies(detail: GameDetail) -> str:
    """By which policies each agent moved, and the units of the table that follows."""
    used: dict[str, list[str]] = {}
    for move in detail.moves:
        policies = used.setdefault(move.agent, [])
        if move.policy not in policies:
            policies.append(move.policy)
    names = "; ".join(
        f"{agent} by policy {', '.join(policies)}{_first_tries(detail, agent) if _free(policies) else ''}"
        for agent, policies in used.items()
    )
    return f"{names}. Milliseconds and tokens:"


def _free(policies: Iterable[str]) -> bool:
    return any(policy == "free" or policy.startswith("retry:") for policy in policies)


def _first_tries(detail: GameDetail, agent: str) -> str:
    from arena.store.first_tries import FirstTries

    mine = [move.attempts[0].failure for move in detail.moves if move.agent == agent and move.attempts]
    to_move = detail.white if _side_to_move(detail) == "first" else detail.black
    if detail.open_attempts and agent == to_move:
        mine.append(detail.open_attempts[0].failure)
    return f", legal at first try {FirstTries.of(mine)}"


def _side_to_move(detail: GameDetail) -> Side:
    return _position(detail, detail.plies).side_to_move


def _print_move(move: MoveDetail) -> None:
    from agents.uci.score import score_text

    clock = f", clock {move.clock_ms / 1000:.1f} s" if move.clock_ms is not None else ""
    click.echo()
    click.echo(
        printable(
            f"Ply {move.ply}: {move.san} ({move.move}) by {move.agent}, policy {move.policy}, "
            f"probability {_probability(move) or 'not known'}{clock}"
        )
    )
    for one in move.judgements:
        choice = "plays the same" if one.agrees else f"plays {one.best}, loss {one.loss} centipawns"
        click.echo(printable(f"{one.judge} {choice}; {score_text(one.score)} before, {score_text(one.after)} after"))
    if move.policy == IMPORTED:
        return
    click.echo(
        f"Time: {move.total_ms:.0f} ms; queue {move.queue_ms:.0f}, prefill {move.prefill_ms:.0f}, "
        f"decode {move.decode_ms:.0f}, first token after {move.ttft_ms:.0f}"
    )
    click.echo(
        f"Tokens: {move.prompt_tokens} prompted ({move.cached_tokens} cached), {move.forwarded_tokens} forwarded "
        f"in {move.forward_passes} passes, {move.generated_tokens} generated; batch of {move.batch_size}"
    )
    _print_decisions(move)


def _prompt(detail: GameDetail, ply: int) -> tuple[PromptPart, ...]:
    """What the prompt of this ply had that the game's prompt before it had not."""
    from arena.replay.prompts import recorded_replay

    chosen = recorded_replay(detail).plies[ply].chosen
    return chosen.prompt if chosen else ()


def _print_prompt(detail: GameDetail, ply: int) -> None:
    from arena.replay.prompts import prompts_of

    for side, why in prompts_of(detail).missing.items():
        if side == detail.moves[ply - 1].side:
            click.echo(printable(f"\nIts prompt cannot be shown: {why}"))
    parts = _prompt(detail, ply)
    if parts:
        click.echo("\nNew in the prompt:")
    for part in parts:
        click.echo(printable(f"  {part.role}:"))
        for line in part.text.splitlines():
            click.echo(printable(f"    {line}"))


def _print_decisions(move: MoveDetail) -> None:
    """What the answer could have begun with at each point where there was a choice, the likeliest first."""
    if move.decisions:
        click.echo("\nThe likeliest ways at each choice, and the one taken (>):")
    for number, decision in enumerate(move.decisions, start=1):
        ways = (
            f"{'>' if index == decision.taken else ''}{option.text.strip()} {percent(option.probability)}"
            for index, option in enumerate(decision.options)
        )
        click.echo(printable(f"  {number}. {'  '.join(ways)}"))


def _print_attempts(title: str, attempts: tuple[AttemptDetail, ...], most: int | None = None) -> None:
    """What was said at each try: whole, or about `most` characters of it."""
    if not attempts:
        return
    click.echo(f"\n{printable(title)}")
    for attempt in attempts:
        verdict = attempt.failure or "played"
        said = [text if most is None else shortened(text, most) for text in (attempt.detail, attempt.text)]
        detail = f": {said[0]}" if said[0] else ""
        click.echo(printable(f"  {attempt.number}. {verdict}{detail} | {said[1]}"))


def _probability(move: MoveDetail) -> str:
    return "" if move.probability is None else f"{move.probability:.3g}"
