"""Recording imported games: one file is one run, written in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlalchemy import select

from arena.endings import Ending, Result, by_rule
from arena.errors import UsageError
from arena.events import Event, GameEnded, GameStarted, MovePlayed, RunEnded, now
from arena.printable import storable
from arena.store.apply import apply
from arena.store.database import Database
from arena.store.models import RunRow
from arena.store.records import IMPORTED, NewAgent, NewGame, NewRun, StoredGame
from arena.store.runs import add_run
from games import get_game
from games.base import Position

UNFINISHED = "unfinished"
"""The termination of a game whose file gives it no result: it does not count."""


@dataclass(frozen=True, slots=True)
class MoveTimes:
    """What a file says of a move, in milliseconds: the time it took, and what was left on the mover's clock."""

    total_ms: float = 0.0
    clock_ms: float | None = None


@dataclass(frozen=True, slots=True)
class ImportedGame:
    """A game of a file. `position` is its last one, with the history; `times` are of its moves, or empty; `kinds` say
    who plays first and second (`human`, `program`, or nothing); `tags` are the file's own."""

    position: Position
    white: str
    black: str
    ending: Ending
    date: datetime | None = None
    times: tuple[MoveTimes, ...] = ()
    kinds: tuple[str | None, str | None] = (None, None)
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """What an import made."""

    run_id: int
    name: str
    games: tuple[int, ...]


def ending_of(position: Position, said: Result, termination: str) -> Ending:
    """The end of a game for which a file says `said` by `termination`.

    The rules' own name for it is taken if they end the game there with that result. Where nothing is said, their
    result is. Raises ValueError if the rules leave no move and the file says another result.
    """
    outcome = position.outcome()
    if outcome is not None:
        ruled = by_rule(outcome)
        if said in ("*", ruled.result):
            return ruled
        if not position.legal_moves():
            raise ValueError(
                f"the result is said to be {said}, but the game ends {ruled.result} by {ruled.termination}"
            )
    if said == "*":
        return Ending("*", UNFINISHED, void=True)
    return Ending(said, termination)


def record(
    db: Database, file: str, checksum: str, games: Sequence[ImportedGame], name: str | None = None
) -> ImportedRun:
    """Record the games of `file`, all or none, as a finished run. `checksum` is of the file's bytes.

    Raises UsageError if a file of that checksum was imported before, or for a run name that is taken or cannot be one;
    StoreError.
    """
    with db.writing() as session:
        twin = session.scalar(select(RunRow).where(RunRow.config["sha256"].as_string() == checksum).limit(1))
        if twin is not None:
            raise UsageError(f"{file} is in the record already, as run {twin.id} ({twin.name})")
        run = add_run(session, _new_run(file, checksum, games, name))
        connection = session.connection()
        for stored, game in zip(run.games, games, strict=True):
            for event in _events(run.run_id, stored, game):
                apply(connection, event)
        apply(connection, RunEnded(run_id=run.run_id, status="finished"))
    return ImportedRun(run.run_id, run.name, tuple(game.game_id for game in run.games))


def _new_run(file: str, checksum: str, games: Sequence[ImportedGame], name: str | None) -> NewRun:
    agents: dict[str, NewAgent] = {}
    for game in games:
        for player, kind in zip((game.white, game.black), game.kinds, strict=True):
            settings = {} if kind is None else {"kind": kind}
            agents.setdefault(storable(player), NewAgent(storable(player), IMPORTED, settings))
    tags = [{storable(tag): storable(value) for tag, value in game.tags.items()} for game in games]
    return NewRun(
        config={"kind": "import", "file": storable(file), "sha256": checksum, "tags": tags},
        seed=0,
        agents=tuple(agents.values()),
        games=tuple(_new_game(index, game) for index, game in enumerate(games)),
        name=name,
    )


def _new_game(index: int, game: ImportedGame) -> NewGame:
    rules = get_game(game.position.game)
    return NewGame(
        index=index,
        white=storable(game.white),
        black=storable(game.black),
        game=rules.name,
        seed=0,
        max_plies=len(game.position.moves),
        rule_policy=f"as in the file; legal by {rules.rule_policy}",
        start_fen=game.position.start_fen,
    )


def _events(run_id: int, stored: StoredGame, game: ImportedGame) -> Iterator[Event]:
    """What happened in the game, dated as the file dates it."""
    at = game.date.astimezone(UTC) if game.date is not None else now()
    white, black = stored.new.white, stored.new.black
    position = get_game(game.position.game).position(game.position.start_fen)
    yield GameStarted(
        run_id=run_id,
        game_id=stored.game_id,
        at=at,
        game=position.game,
        white=white,
        black=black,
        start_fen=position.start_fen,
    )
    times = game.times or (MoveTimes(),) * len(game.position.moves)
    for move, time in zip(game.position.moves, times, strict=True):
        before, position = position, position.play(move)
        yield MovePlayed(
            run_id=run_id,
            game_id=stored.game_id,
            at=at,
            ply=len(position.moves),
            agent=white if before.side_to_move == "first" else black,
            side=before.side_to_move,
            move=move,
            san=before.san(move),
            fen=position.fen,
            policy=IMPORTED,
            total_ms=time.total_ms,
            clock_ms=time.clock_ms,
        )
    yield GameEnded(
        run_id=run_id,
        game_id=stored.game_id,
        at=at,
        result=game.ending.result,
        termination=game.ending.termination,
        plies=len(position.moves),
        void=game.ending.void,
        detail=game.ending.detail,
    )
