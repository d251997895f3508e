"""What each event changes in the tables, inside the transaction of whoever calls.

Rules that make recording safe to repeat:

- A ply is written once. The same move again changes nothing; another move, a gap, or a ply of a finished game
  is an error: somebody else is playing this game.
- `MovePlayed` is the last word on its ply: its attempts replace those that `AttemptFailed` brought while the
  agent was still trying. Without it (the game ended there) the failed attempts stay, numbered as they came.
- `GameStarted` drops attempts at plies that have no move: an interrupted ply is asked again from its first.
- The end of a game is written once. The same end again changes nothing; another one is an error.
"""

from __future__ import annotations

from datetime import datetime
from hashlib import blake2b
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update
from sqlalchemy.orm import aliased

from arena.errors import StoreError
from arena.events import (
    AttemptFailed,
    AttemptRecord,
    EngineSampled,
    Event,
    GameEnded,
    GameStarted,
    MovePlayed,
    RunEnded,
)
from arena.store.models import AgentRow, AttemptRow, EngineSampleRow, GameRow, MoveRow, RunRow


class _Game(NamedTuple):
    """A game as it stands before the event."""

    id: int
    run_id: int
    game: str
    initial_fen: str
    status: str
    result: str | None
    termination: str | None
    void: bool
    plies: int
    started_at: datetime | None
    white_id: int
    white: str
    black_id: int
    black: str


# Statements are built once: building one costs several times what running it does.
_WHITE, _BLACK = aliased(AgentRow), aliased(AgentRow)
_GAME = (
    select(
        GameRow.id,
        GameRow.run_id,
        GameRow.game,
        func.coalesce(GameRow.initial_fen, GameRow.start_fen, ""),
        GameRow.status,
        GameRow.result,
        GameRow.termination,
        GameRow.void,
        GameRow.plies,
        GameRow.started_at,
        _WHITE.id,
        _WHITE.name,
        _BLACK.id,
        _BLACK.name,
    )
    .join(_WHITE, _WHITE.id == GameRow.white_id)
    .join(_BLACK, _BLACK.id == GameRow.black_id)
    .where(GameRow.id == bindparam("game_id"))
)
_MOVES = select(MoveRow.move).where(MoveRow.game_id == bindparam("game_id")).order_by(MoveRow.ply)
_MOVE_AT = select(MoveRow.move).where(MoveRow.game_id == bindparam("game_id"), MoveRow.ply == bindparam("at_ply"))
_LAST_ATTEMPT = select(func.max(AttemptRow.number)).where(
    AttemptRow.game_id == bindparam("game_id"), AttemptRow.ply == bindparam("at_ply")
)
_DROP_ATTEMPTS_FROM = delete(AttemptRow).where(
    AttemptRow.game_id == bindparam("of_game"), AttemptRow.ply >= bindparam("from_ply")
)
_SET_PLIES = update(GameRow).where(GameRow.id == bindparam("of_game")).values(plies=bindparam("new_plies"))
_ADD_MOVE = insert(MoveRow)
_ADD_ATTEMPT = insert(AttemptRow)
_ADD_SAMPLE = insert(EngineSampleRow)


def apply(connection: Connection, event: Event) -> None:
    """Write one event. Raises StoreError if it contradicts the record."""
    match event:
        case GameStarted():
            _start_game(connection, event)
        case MovePlayed():
            _play_move(connection, event)
        case AttemptFailed():
            _fail_attempt(connection, event)
        case GameEnded():
            _end_game(connection, event)
        case EngineSampled():
            sample = {"run_id": event.run_id, "at": event.at, "figures": event.figures}
            connection.execute(_ADD_SAMPLE, sample)
        case RunEnded():
            _end_run(connection, event)
        case _:
            raise StoreError(f"no table takes a {type(event).__name__} event")


def line_hash(game: str, initial_fen: str, moves: list[str]) -> str:
    """Stable hash of a line of play: equal exactly for the same game, initial position and moves."""
    return blake2b("\n".join((game, initial_fen, *moves)).encode(), digest_size=16).hexdigest()


def _start_game(connection: Connection, event: GameStarted) -> None:
    game = _game(connection, event.game_id, event.run_id)
    played = _moves(connection, game.id)
    if game.status == "finished":
        raise StoreError(f"game {game.id} is finished and cannot start again")
    if played != list(event.moves):
        raise StoreError(
            f"game {game.id} has {len(played)} recorded plies; it cannot go on from {len(event.moves)} others"
        )
    connection.execute(
        update(GameRow)
        .where(GameRow.id == game.id)
        .values(
            status="playing",
            initial_fen=event.start_fen,
            white_template=event.white_template,
            black_template=event.black_template,
            started_at=game.started_at or event.at,
        )
    )
    connection.execute(_DROP_ATTEMPTS_FROM, {"of_game": game.id, "from_ply": len(played) + 1})


def _play_move(connection: Connection, event: MovePlayed) -> None:
    game = _game(connection, event.game_id, event.run_id)
    if 1 <= event.ply <= game.plies:
        recorded = connection.scalar(_MOVE_AT, {"game_id": game.id, "at_ply": event.ply})
        if recorded == event.move:
            return
        raise StoreError(f"game {game.id}, ply {event.ply}: {recorded} is recorded, {event.move} cannot replace it")
    if event.ply != game.plies + 1:
        raise StoreError(f"game {game.id}: ply {event.ply} does not follow the recorded {game.plies} plies")
    if game.status == "finished":
        raise StoreError(f"game {game.id} is finished: ply {event.ply} cannot be added")
    agent_id = _agent_id(game, event.agent)
    fields = event.model_dump(exclude={"type", "run_id", "at", "agent", "attempts"})
    own = {"agent_id": agent_id, "played_at": event.at, "decisions": fields["decisions"] or None}
    connection.execute(_ADD_MOVE, {**fields, **own})
    connection.execute(_DROP_ATTEMPTS_FROM, {"of_game": game.id, "from_ply": event.ply})
    if event.attempts:
        attempts = enumerate(event.attempts, start=1)
        connection.execute(_ADD_ATTEMPT, [_attempt(event, one, number, agent_id) for number, one in attempts])
    connection.execute(_SET_PLIES, {"of_game": game.id, "new_plies": event.ply})


def _fail_attempt(connection: Connection, event: AttemptFailed) -> None:
    game = _game(connection, event.game_id, event.run_id)
    if event.ply <= game.plies:
        return  # the move that followed is recorded already, with all of its attempts
    last = connection.scalar(_LAST_ATTEMPT, {"game_id": game.id, "at_ply": event.ply}) or 0
    agent_id = _agent_id(game, event.agent)
    connection.execute(_ADD_ATTEMPT, _attempt(event, event.attempt, last + 1, agent_id))


def _attempt(event: MovePlayed | AttemptFailed, attempt: AttemptRecord, number: int, agent_id: int) -> dict[str, Any]:
    where = {"game_id": event.game_id, "ply": event.ply, "number": number, "agent_id": agent_id}
    return {**attempt.model_dump(), **where, "at": event.at}


def _end_game(connection: Connection, event: GameEnded) -> None:
    if event.void != (event.result == "*"):
        raise StoreError(f"game {event.game_id}: the result {event.result} and void={event.void} do not agree")
    game = _game(connection, event.game_id, event.run_id)
    if game.status == "finished":
        if (game.result, game.termination, game.void) == (event.result, event.termination, event.void):
            return
        raise StoreError(
            f"game {game.id} ended {game.result} by {game.termination}: it cannot end {event.result} by "
            f"{event.termination} as well"
        )
    moves = _moves(connection, game.id)
    if len(moves) != event.plies:
        raise StoreError(f"game {game.id} ends after {event.plies} plies, but {len(moves)} are recorded")
    line = line_hash(game.game, game.initial_fen, moves)
    connection.execute(
        update(GameRow)
        .where(GameRow.id == game.id)
        .values(
            status="finished",
            result=event.result,
            termination=event.termination,
            void=event.void,
            detail=event.detail,
            ended_at=event.at,
            line_hash=line,
        )
    )
    if not event.void:
        _mark_duplicates(connection, event.run_id, line)


def _mark_duplicates(connection: Connection, run_id: int, line: str) -> None:
    """Point every game of this line at the lowest-numbered one, whatever the order in which they ended."""
    same_line = (GameRow.run_id == run_id, GameRow.line_hash == line, GameRow.void.is_(False))
    first = connection.scalar(select(func.min(GameRow.id)).where(*same_line))
    connection.execute(update(GameRow).where(*same_line, GameRow.id != first).values(duplicate_of=first))
    connection.execute(update(GameRow).where(GameRow.id == first).values(duplicate_of=None))


def _end_run(connection: Connection, event: RunEnded) -> None:
    end = update(RunRow).where(RunRow.id == event.run_id)
    done = connection.execute(end.values(status=event.status, detail=event.detail, ended_at=event.at))
    if done.rowcount == 0:
        raise StoreError(f"there is no run {event.run_id}")


def _game(connection: Connection, game_id: int, run_id: int) -> _Game:
    row = connection.execute(_GAME, {"game_id": game_id}).one_or_none()
    game = None if row is None else _Game._make(row)
    if game is None or game.run_id != run_id:
        raise StoreError(f"run {run_id} has no game {game_id}")
    return game


def _moves(connection: Connection, game_id: int) -> list[str]:
    return list(connection.scalars(_MOVES, {"game_id": game_id}))


def _agent_id(game: _Game, name: str) -> int:
    for known, agent_id in ((game.white, game.white_id), (game.black, game.black_id)):
        if name == known:
            return agent_id
    raise StoreError(f"game {game.id} is between {game.white} and {game.black}, not {name}")
