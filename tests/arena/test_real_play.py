"""Sixteen agents on the real model: the same seed gives the same games, and every record stands up to a replay."""

import asyncio
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import chess
import chess.pgn
import pytest

from arena.config import EngineSettings, RunConfig
from arena.pgn import to_pgn
from arena.runner import play, resume
from arena.store.database import Database
from arena.store.queries import game_detail, list_games

ROOT = Path(__file__).parents[2]


def config(**changes):
    return RunConfig(**{"agents": 16, "max_plies": 2, "seed": 7, **changes})


def lines(result):
    return [(game.new.index, game.moves, game.result, game.termination) for game in result.games]


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    path = tmp_path_factory.mktemp("first") / "arena.db"
    return path, asyncio.run(play(config(), db=path))


def test_games_depend_on_the_seed_and_not_on_concurrency_or_engine_switches(first_run, tmp_path):
    _, first = first_run
    assert [len(game.moves) for game in first.games] == [2] * 8
    assert len({game.moves for game in first.games}) > 1
    engine = EngineSettings(max_batch_tokens=64, continuous_batching=False)
    for name, changed in (("again", {}), ("alone", {"concurrency": 1}), ("switched", {"engine": engine})):
        result = asyncio.run(play(config(**changed), db=tmp_path / f"{name}.db"))
        assert lines(result) == lines(first), name
    other = asyncio.run(play(config(seed=8), db=tmp_path / "other.db"))
    assert lines(other) != lines(first)


def test_the_record_and_the_pgn_agree_with_an_independent_replay(first_run):
    path, run = first_run
    with Database.open(path, create=False) as database:
        for game in run.games:
            detail = game_detail(database, game.game_id)
            board = chess.Board()
            for move in detail.moves:
                assert chess.Move.from_uci(move.move) in board.legal_moves
                assert move.san == board.san(chess.Move.from_uci(move.move))
                board.push_uci(move.move)
                assert move.fen == board.fen(en_passant="legal") or move.fen == board.fen()
                assert move.policy == "constrained"
                assert 0 < move.probability <= 1
                assert move.prompt_tokens >= move.cached_tokens > 250
                assert move.forwarded_tokens < 100
            assert (game.result, game.termination) == ("1/2-1/2", "ply-limit")
            read = chess.pgn.read_game(io.StringIO(to_pgn(detail)))
            assert not read.errors
            assert [move.uci() for move in read.mainline_moves()] == list(game.moves)


KILLED = """
import asyncio, os, signal, sys
from arena.config import RunConfig
from arena.runner import play

class Kill:
    moves = 0
    def begin(self, run): pass
    def read(self, event):
        self.moves += event.type == "move_played"
        if self.moves == 5:
            os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(play(RunConfig.model_validate_json(sys.argv[2]), db=sys.argv[1], readers=(Kill(),)))
"""


def test_a_killed_run_resumes_to_the_games_of_an_uninterrupted_one(first_run, tmp_path):
    _, whole = first_run
    path = tmp_path / "killed.db"
    command = [sys.executable, "-c", KILLED, str(path), config().model_dump_json()]
    killed = subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"})
    assert killed.returncode == -signal.SIGKILL
    with Database.open(path, create=False) as database:
        assert 5 <= sum(game.plies for game in list_games(database)) < 16
    result = asyncio.run(resume(db=path))
    assert lines(result) == lines(whole)
