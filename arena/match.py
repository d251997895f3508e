"""One game, from any state to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from agents.base import Agent, Attempt, Clock, Failure, MoveReply, MoveRequest
from agents.seeds import derive_seed
from arena.bus import EventBus
from arena.clocks import TimeControl
from arena.endings import PLY_LIMIT, Ending, Fault, by_fault, by_resignation, natural_ending
from arena.events import AttemptFailed, AttemptRecord, DecisionRecord, GameEnded, GameStarted, MovePlayed
from arena.store.records import OPENING, StoredGame
from arena.turn import Failed, Played, Resigned, take_turn
from games import get_game
from games.base import Position, Side
from inference.types import Decision


class Watch(Protocol):
    """Follows one game."""

    async def ending(self, position: Position, *, at_limit: bool) -> Ending | None:
        """The ending that is adjudicated after the last move of `position`, if any. Asked after every ply that the
        rules let go on, and once `at_limit`: the game has reached its most plies."""


class Adjudicator(Protocol):
    """Ends games that no rule ends."""

    def watch(self, game: StoredGame) -> Watch:
        """Someone who follows `game`."""


async def play_game(
    game: StoredGame,
    agents: Mapping[str, Agent],
    bus: EventBus,
    *,
    run_id: int,
    move_timeout_s: float | None,
    time_control: TimeControl | None = None,
    adjudicator: Adjudicator | None = None,
) -> GameEnded:
    """Plays `game` on from its durable moves, and returns the last event it emitted.

    What is missing of its opening is played first, and nobody is asked. A ply is asked for only when the one before
    is durable. Cancelling it stops the game without an ending; the plies that were durable stay so. `agents` is
    looked up by the names in the schedule. An answer may take `move_timeout_s` of wall time, a person's excepted;
    under a `time_control` the clocks go on from the last durable plies, and an interrupted ply is charged nothing;
    the `adjudicator` looks off the clock. Raises StoreError if the record cannot be written, PlayerLeft; whatever
    else an agent does ends only the game.
    """
    plan = game.new
    position = get_game(plan.game).position(plan.start_fen, game.moves)
    name_of = {"first": plan.white, "second": plan.black}
    await bus.record(
        GameStarted(
            run_id=run_id,
            game_id=game.game_id,
            game=plan.game,
            white=plan.white,
            black=plan.black,
            start_fen=position.start_fen,
            moves=position.moves,
            white_template=agents[plan.white].template_hash(plan.game),
            black_template=agents[plan.black].template_hash(plan.game),
        )
    )
    opening = []
    for move in plan.opening_moves[len(position.moves) :]:
        after = position.play(move)
        name = name_of[position.side_to_move]
        opening.append(move_played(_given(move), position, after, run_id=run_id, game_id=game.game_id, agent=name))
        position = after
    await asyncio.gather(*(bus.record(event) for event in opening))  # in their order, and in one commit
    watch = adjudicator.watch(game) if adjudicator else None
    left_ms = dict(game.clock_ms)
    while (ending := await _ending(position, plan.max_plies, watch)) is None:
        mover, ply = position.side_to_move, len(position.moves) + 1
        name = name_of[mover]
        clock = time_control.clock(left_ms) if time_control else None
        limit_s = _limit(agents[name], mover, move_timeout_s, time_control, clock)
        request = MoveRequest(
            position=position,
            game_id=game.game_id,
            ply=ply,
            seed=derive_seed(plan.seed, ply),
            deadline_s=limit_s,
            clock=clock,
        )
        turn = await take_turn(agents[name], name, request, limit_s)
        if isinstance(turn, Played) and time_control and clock:
            turn = _charge(turn, name, clock.left(mover), time_control)
        if isinstance(turn, Resigned):
            ending = by_resignation(mover)
            break
        if isinstance(turn, Failed):
            for attempt in turn.attempts:
                record = attempt_record(attempt)
                bus.offer(AttemptFailed(run_id=run_id, game_id=game.game_id, ply=ply, agent=name, attempt=record))
            ending = by_fault(turn.fault, mover, replay=plan.replay, detail=turn.detail)
            break
        after = position.play(turn.move)
        await bus.record(move_played(turn, position, after, run_id=run_id, game_id=game.game_id, agent=name))
        if turn.clock_ms is not None:
            left_ms[mover] = turn.clock_ms
        position = after
    ended = GameEnded(
        run_id=run_id,
        game_id=game.game_id,
        result=ending.result,
        termination=ending.termination,
        plies=len(position.moves),
        void=ending.void,
        detail=ending.detail,
    )
    await bus.record(ended)
    return ended


async def _ending(position: Position, max_plies: int, watch: Watch | None) -> Ending | None:
    """The ending by the rules, else by adjudication where it is asked for, else by the ply limit; None: it goes on."""
    ending = natural_ending(position, max_plies)
    if watch is None or not (ending is None or ending.termination == PLY_LIMIT):
        return ending
    return await watch.ending(position, at_limit=ending is not None) or ending


def _given(move: str) -> Played:
    """The turn in which a move of the opening is played: nobody's, at no cost."""
    return Played(move, MoveReply(move, (), OPENING), 0.0)


def _limit(
    agent: Agent, mover: Side, move_timeout_s: float | None, time_control: TimeControl | None, clock: Clock | None
) -> float | None:
    """Wall seconds that an answer may take; None: as long as it likes."""
    limits = []
    if move_timeout_s is not None and not agent.is_person:
        limits.append(move_timeout_s)
    if time_control is not None and clock is not None:
        limits.append(time_control.patience_s(clock.left(mover), queues=agent.queues))
    return min(limits, default=None)


def _charge(turn: Played, name: str, left_ms: float, time_control: TimeControl) -> Played | Failed:
    """The turn with what the mover's clock shows after it, or a failure if its flag fell."""
    charged_ms = time_control.charged_ms(turn.total_ms, turn.reply.accounting.queue_ms)
    after_ms = time_control.after_move(left_ms, charged_ms)
    if after_ms is not None:
        return replace(turn, clock_ms=after_ms)
    detail = f"{name} took {charged_ms / 1000:.1f} s for {turn.move}, and had {left_ms / 1000:.1f} s"
    said = turn.reply.attempts[-1] if turn.reply.attempts else Attempt(turn.move)
    late = replace(said, failure=Failure.TIMEOUT, detail=detail)
    return Failed(Fault.TIME, (*turn.reply.attempts[:-1], late), detail)


def move_played(
    turn: Played, before: Position, after: Position, *, run_id: int, game_id: int, agent: str
) -> MovePlayed:
    """The event of a turn that led from `before` to `after`."""
    reply = turn.reply
    cost = reply.accounting
    return MovePlayed(
        run_id=run_id,
        game_id=game_id,
        ply=len(after.moves),
        agent=agent,
        side=before.side_to_move,
        move=turn.move,
        san=before.san(turn.move),
        fen=after.fen,
        policy=reply.policy,
        attempts=tuple(map(attempt_record, reply.attempts)),
        prompt_tokens=cost.prompt_tokens,
        cached_tokens=cost.cached_tokens,
        forwarded_tokens=cost.forwarded_tokens,
        generated_tokens=cost.generated_tokens,
        forward_passes=cost.forward_passes,
        queue_ms=cost.queue_ms,
        prefill_ms=cost.prefill_ms,
        decode_ms=cost.decode_ms,
        ttft_ms=cost.ttft_ms,
        total_ms=turn.total_ms,
        batch_size=cost.batch_size,
        probability=reply.probability,
        decisions=tuple(map(decision_record, reply.decisions)),
        clock_ms=turn.clock_ms,
    )


def decision_record(decision: Decision) -> DecisionRecord:
    """The decision as the record keeps it."""
    options = tuple((option.text, float(f"{option.probability:.3g}")) for option in decision.options)
    return DecisionRecord(options=options, taken=decision.taken)


def attempt_record(attempt: Attempt) -> AttemptRecord:
    """The attempt as the record keeps it."""
    cost = attempt.accounting
    return AttemptRecord(
        text=attempt.text,
        failure=attempt.failure.value if attempt.failure else None,
        detail=attempt.detail,
        seed=attempt.seed,
        prompt_tokens=cost.prompt_tokens,
        cached_tokens=cost.cached_tokens,
        forwarded_tokens=cost.forwarded_tokens,
        generated_tokens=cost.generated_tokens,
        total_ms=cost.queue_ms + cost.prefill_ms + cost.decode_ms,
    )
