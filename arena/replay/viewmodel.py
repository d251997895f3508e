"""What there is to see of a recorded game, ply by ply. Pure: every face (terminal, page, file) shows these values.

replay = replay_of(game_detail(db, 7))
replay.plies[0]      # the start
replay.plies[12]     # after ply 12: board, last move, clocks, how the move was chosen
replay_json(replay)  # the same for a page
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arena.clocks import TimeControl
from arena.errors import StoreError
from arena.replay.result import result_words
from arena.store.records import IMPORTED
from games import get_game
from games.base import IllegalMoveError, InvalidPositionError, Position, Side, UnknownGameError
from games.words import checked_square, move_words, position_words, squares_of

if TYPE_CHECKING:
    from arena.replay.prompts import Prompts
    from arena.store.queries import AttemptDetail, GameDetail, MoveDetail
    from inference.types import Decision


@dataclass(frozen=True, slots=True)
class Player:
    """Who plays a side: the agent's name and spec, and what the side is called (`White`, `Cho`)."""

    name: str
    spec: str
    side: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at a move: what the agent said, as it said it. `failure` None: it gave the move."""

    number: int
    text: str
    failure: str | None
    detail: str
    total_ms: float


@dataclass(frozen=True, slots=True)
class Latency:
    """Where a move's wall time went, in milliseconds. `other_ms` is what is neither queue, prefill nor decode, so that
    the four add up to the total (or more, where an agent claims more than it took)."""

    queue_ms: float
    prefill_ms: float
    decode_ms: float
    other_ms: float
    ttft_ms: float
    total_ms: float


@dataclass(frozen=True, slots=True)
class Tokens:
    """`new` are the prompt's tokens that were not in the cache."""

    prompt: int
    cached: int
    new: int
    forwarded: int
    generated: int
    passes: int
    batch: int


@dataclass(frozen=True, slots=True)
class PromptPart:
    """A piece of a prompt: who says it (`system`, `user`, `assistant`), and what."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """How a move was chosen; `decisions` are those on the way to it, with the likeliest alternatives.
    `prompt` is what the prompt had that the game's prompt before it had not, as far as it is known. `latency` and
    `tokens` are None for an imported move, which nobody was asked for."""

    agent: str
    policy: str
    probability: float | None
    decisions: tuple[Decision, ...]
    prompt: tuple[PromptPart, ...]
    attempts: tuple[Attempt, ...]
    latency: Latency | None
    tokens: Tokens | None


@dataclass(frozen=True, slots=True)
class Ply:
    """The game after ply `ply`; 0 is the start, which no move led to: there the fields of the move are None.

    `number` is the move's number as records write it (`12.`, `12…`), `check` the square of the king in check,
    `clocks_ms` what both sides have left, None in a game without clocks.
    """

    ply: int
    fen: str
    to_move: Side
    check: str | None
    words: str
    clocks_ms: tuple[float, float] | None
    side: Side | None = None
    number: str | None = None
    move: str | None = None
    san: str | None = None
    squares: tuple[str, str] | None = None
    move_words: str | None = None
    chosen: Chosen | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """A game to look at. Invariant: `plies` has the start and every recorded ply, in order; `plies[n].ply == n`.

    `board` is the kind of board to draw. `ending` is the result in words. `open_attempts` are tries at the ply after
    the last, which got no move; `open_side` made them.
    """

    game_id: int
    run: str
    rules: str
    board: str
    title: str
    players: tuple[Player, Player]
    status: str
    result: str | None
    termination: str | None
    ending: str
    detail: str
    facts: tuple[tuple[str, str], ...]
    plies: tuple[Ply, ...]
    open_side: Side
    open_attempts: tuple[Attempt, ...]

    @property
    def last(self) -> int:
        """The number of the last ply."""
        return len(self.plies) - 1

    @property
    def live(self) -> bool:
        """Whether more may come: the game has no end yet."""
        return self.status != "finished"


def replay_of(detail: GameDetail, prompts: Prompts | None = None) -> Replay:
    """What there is to see of `detail`, with what was new in its prompts, if `prompts` knows them.

    Raises StoreError for a record that cannot be replayed by its game's rules.
    """
    try:
        sides = get_game(detail.game).sides
        positions = tuple(_positions(detail))
    except (UnknownGameError, IllegalMoveError, InvalidPositionError) as error:
        raise StoreError(f"game {detail.game_id} cannot be replayed from the record: {error}") from error
    players = (
        Player(detail.white, detail.white_spec, sides["first"]),
        Player(detail.black, detail.black_spec, sides["second"]),
    )
    return Replay(
        game_id=detail.game_id,
        run=detail.run,
        rules=detail.game,
        board="chess" if detail.game == "chess" else "janggi",
        title=f"{detail.white} – {detail.black}",
        players=players,
        status=detail.status,
        result=detail.result,
        termination=detail.termination,
        ending=result_words(detail, sides),
        detail=detail.detail,
        facts=(*_facts(detail), *_missing(prompts, sides)),
        plies=tuple(_plies(detail, positions, prompts)),
        open_side=positions[-1].side_to_move,
        open_attempts=tuple(map(_attempt, detail.open_attempts)),
    )


def replay_json(replay: Replay) -> dict[str, Any]:
    """The replay as JSON values: objects with the names of the fields, `last` and `live` among them."""
    return {**dataclasses.asdict(replay), "last": replay.last, "live": replay.live}


def _positions(detail: GameDetail) -> Iterator[Position]:
    """The position at the start and after every recorded move."""
    position = get_game(detail.game).position(detail.initial_fen)
    yield position
    for expected, move in enumerate(detail.moves, start=1):
        if move.ply != expected:
            raise StoreError(f"game {detail.game_id} cannot be replayed from the record: ply {expected} is missing")
        position = position.play(move.move)
        yield position


def _plies(detail: GameDetail, positions: tuple[Position, ...], prompts: Prompts | None) -> Iterator[Ply]:
    said = prompts.new_parts(detail, positions[:-1]) if prompts else [()] * len(detail.moves)
    clocks = _start_clocks(detail)
    number = _first_number(positions[0].fen)
    yield _ply(0, positions[0], clocks)
    for move, prompt, before, after in zip(detail.moves, said, positions, positions[1:], strict=False):
        side = before.side_to_move
        if move.clock_ms is not None:
            clocks = {**clocks, side: move.clock_ms}
        yield _ply(
            move.ply,
            after,
            clocks,
            side=side,
            number=f"{number}{'.' if side == 'first' else '…'}",
            move=move.move,
            san=move.san,
            squares=squares_of(move.move),
            move_words=move_words(before, after),
            chosen=_chosen(move, prompt),
        )
        number += side == "second"


def _ply(ply: int, position: Position, clocks: Mapping[Side, float], **of_move: Any) -> Ply:
    return Ply(
        ply=ply,
        fen=position.fen,
        to_move=position.side_to_move,
        check=checked_square(position),
        words=position_words(position),
        clocks_ms=(clocks["first"], clocks["second"]) if len(clocks) == 2 else None,
        **of_move,
    )


def _start_clocks(detail: GameDetail) -> dict[Side, float]:
    """What both clocks show before the first move; empty without a time control."""
    if detail.time_control is None:
        return {}
    base = TimeControl.parse(detail.time_control).base_ms
    return {"first": base, "second": base}


def _first_number(fen: str) -> int:
    last = fen.split()[-1]
    return int(last) if last.isdecimal() else 1


def _chosen(move: MoveDetail, prompt: tuple[PromptPart, ...]) -> Chosen:
    imported = move.policy == IMPORTED
    return Chosen(
        agent=move.agent,
        policy=move.policy,
        probability=move.probability,
        decisions=move.decisions,
        prompt=prompt,
        attempts=tuple(map(_attempt, move.attempts)),
        latency=None if imported else _latency(move),
        tokens=None if imported else _tokens(move),
    )


def _latency(move: MoveDetail) -> Latency:
    known = move.queue_ms + move.prefill_ms + move.decode_ms
    return Latency(
        queue_ms=move.queue_ms,
        prefill_ms=move.prefill_ms,
        decode_ms=move.decode_ms,
        other_ms=max(0.0, move.total_ms - known),
        ttft_ms=move.ttft_ms,
        total_ms=move.total_ms,
    )


def _tokens(move: MoveDetail) -> Tokens:
    return Tokens(
        prompt=move.prompt_tokens,
        cached=move.cached_tokens,
        new=move.prompt_tokens - move.cached_tokens,
        forwarded=move.forwarded_tokens,
        generated=move.generated_tokens,
        passes=move.forward_passes,
        batch=move.batch_size,
    )


def _attempt(attempt: AttemptDetail) -> Attempt:
    return Attempt(attempt.number, attempt.text, attempt.failure, attempt.detail, attempt.total_ms)


def _missing(prompts: Prompts | None, sides: Mapping[Side, str]) -> Iterator[tuple[str, str]]:
    for side, why in prompts.missing.items() if prompts else ():
        yield f"prompts of {sides[side]}", f"not shown: {why}"


def _facts(detail: GameDetail) -> Iterator[tuple[str, str]]:
    """What else is known of the game, as pairs of name and value."""
    yield "rules", detail.game
    yield "run", detail.run
    if detail.started_at is not None:
        yield "started", f"{detail.started_at:%Y-%m-%d %H:%M:%S} UTC"
    if detail.source_tags is not None:
        yield "imported", "its moves come from a file"
        return
    yield "seed", str(detail.seed)
    if detail.time_control is not None:
        yield "time control", detail.time_control
    if detail.opening:
        yield "opening", detail.opening
    if detail.model:
        yield "model", detail.model
    if detail.replay:
        yield "replay", str(detail.replay)
    if detail.duplicate_of is not None:
        yield "same moves as", f"game {detail.duplicate_of}"
