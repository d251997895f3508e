"""One game, from any state to its end."""

from __future__ import annotations

from collections.abc import Mapping

from agents.base import Agent, Attempt, MoveRequest
from agents.seeds import derive_seed
from arena.bus import EventBus
from arena.endings import by_fault, natural_ending
from arena.events import AttemptFailed, AttemptRecord, GameEnded, GameStarted, MovePlayed
from arena.store.records import StoredGame
from arena.turn import Failed, Played, take_turn
from games import get_game
from games.base import Position


async def play_game(
    game: StoredGame, agents: Mapping[str, Agent], bus: EventBus, *, run_id: int, move_timeout_s: float
) -> GameEnded:
    """Plays `game` on from its durable moves, and returns the last event it emitted.

    A ply is asked for only when the one before is durable. Cancelling it stops the game without an ending; the
    plies that were durable stay so. `agents` is looked up by the names in the schedule. Raises StoreError if the
    record cannot be written; whatever an agent does ends only the game.
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
    while (ending := natural_ending(position, plan.max_plies)) is None:
        mover, ply = position.side_to_move, len(position.moves) + 1
        name = name_of[mover]
        request = MoveRequest(
            position=position,
            game_id=game.game_id,
            ply=ply,
            seed=derive_seed(plan.seed, ply),
            deadline_s=move_timeout_s,
        )
        turn = await take_turn(agents[name], name, request, move_timeout_s)
        if isinstance(turn, Failed):
            for attempt in turn.attempts:
                record = attempt_record(attempt)
                bus.offer(AttemptFailed(run_id=run_id, game_id=game.game_id, ply=ply, agent=name, attempt=record))
            ending = by_fault(turn.fault, mover, replay=plan.replay, detail=turn.detail)
            break
        after = position.play(turn.move)
        await bus.record(move_played(turn, position, after, run_id=run_id, game_id=game.game_id, agent=name))
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
    )


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
