"""A record to test against, filled by playing out lists of chess moves."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

import chess
import pytest

from arena.events import AttemptFailed, AttemptRecord, GameEnded, GameStarted, MovePlayed
from arena.store.apply import apply
from arena.store.database import Database
from arena.store.records import NewAgent, NewGame, NewRun, StoredRun
from arena.store.runs import create_run, load_run

FOOLS_MATE = ("f2f3", "e7e5", "g2g4", "d8h4")


@dataclass
class Scribe:
    """Records games of one run, synchronously; `boards` are the games as they stand."""

    db: Database
    run: StoredRun
    boards: dict[int, chess.Board] = field(default_factory=dict)

    def names(self, game_id):
        new = next(game.new for game in self.run.games if game.game_id == game_id)
        return new.white, new.black

    def started(self, game_id, fen=chess.STARTING_FEN, **fields):
        white, black = self.names(game_id)
        self.boards[game_id] = chess.Board(fen)
        return GameStarted(
            run_id=self.run.run_id,
            game_id=game_id,
            game="chess",
            white=white,
            black=black,
            start_fen=fen,
            **fields,
        )

    def played(self, game_id, uci, **fields):
        board = self.boards[game_id]
        move = chess.Move.from_uci(uci)
        san = board.san(move)
        white, black = self.names(game_id)
        agent, side = (white, "first") if board.turn else (black, "second")
        board.push(move)
        defaults = {
            "policy": "constrained",
            "attempts": (AttemptRecord(text=uci, seed=5, prompt_tokens=40, generated_tokens=4, total_ms=900),),
            "prompt_tokens": 40,
            "cached_tokens": 30,
            "forwarded_tokens": 14,
            "generated_tokens": 4,
            "forward_passes": 5,
            "queue_ms": 10.0,
            "prefill_ms": 110.0,
            "decode_ms": 700.0,
            "ttft_ms": 120.0,
            "total_ms": 900.0,
            "batch_size": 3,
            "probability": 0.31,
        }
        return MovePlayed(
            run_id=self.run.run_id,
            game_id=game_id,
            ply=len(board.move_stack),
            agent=agent,
            side=side,
            move=uci,
            san=san,
            fen=board.fen(),
            **{**defaults, **fields},
        )

    def failed(self, game_id, **attempt):
        board = self.boards[game_id]
        return AttemptFailed(
            run_id=self.run.run_id,
            game_id=game_id,
            ply=len(board.move_stack) + 1,
            agent=self.names(game_id)[not board.turn],
            attempt=AttemptRecord(**attempt),
        )

    def ended(self, game_id, result, termination, **fields):
        plies = len(self.boards[game_id].move_stack)
        return GameEnded(
            run_id=self.run.run_id,
            game_id=game_id,
            result=result,
            termination=termination,
            plies=plies,
            **fields,
        )

    def write(self, *events):
        with self.db.writing() as session:
            for event in events:
                apply(session.connection(), event)

    def start(self, game_id, moves=(), **fields):
        self.write(self.started(game_id, **fields), *(self.played(game_id, move) for move in moves))

    def play_out(self, game_id, moves=FOOLS_MATE, result="0-1", termination="checkmate", **fields):
        self.start(game_id, moves)
        self.write(self.ended(game_id, result, termination, **fields))


def new_run(games=1, schedule=None, **fields) -> NewRun:
    """A run of `games` games between alice and bob, who swap colours; or of the games of `schedule`."""
    players = [("alice", "bob") if index % 2 == 0 else ("bob", "alice") for index in range(games)]
    defaults = {
        "config": {"games": games},
        "seed": 7,
        "agents": (NewAgent("alice", "llm", {"temperature": 0.7}), NewAgent("bob", "random")),
        "games": schedule
        or tuple(
            NewGame(index, white, black, "chess", 100 + index, 200, "threefold", pair=index // 2)
            for index, (white, black) in enumerate(players)
        ),
        "model": "tiny",
        "model_checksum": "abc123",
        "environment": {"threads": 2},
    }
    return NewRun(**{**defaults, **fields})


@pytest.fixture
def db_path(tmp_path) -> Path:
    return tmp_path / "arena.db"


@pytest.fixture
def database(db_path):
    with Database.open(db_path, create=True) as database:
        yield database


@pytest.fixture(name="new_run")
def new_run_fixture():
    return new_run


@pytest.fixture
def scribe(database):
    """A function that makes a run and the Scribe to fill it."""

    def make(games=1, **fields):
        return Scribe(database, create_run(database, new_run(games, **fields)))

    return make


@pytest.fixture
def recorded(db_path):
    """A function that gives a run as it stands in the test's database."""

    def load(run=None):
        with Database.open(db_path, create=False) as database:
            return load_run(database, run)

    return load


@pytest.fixture
def arena(monkeypatch, capsys, db_path):
    """Runs `arena ARGS` in this process, on the test's database: (exit code, stdout, stderr)."""
    from arena.cli import main

    monkeypatch.setenv("ARENA_DB", str(db_path))

    def run(*args):
        monkeypatch.setattr(sys, "argv", ["arena", *map(str, args)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        return code, out, err

    return run
