"""Runs in which UCI engines play: what a run records of them, and what they may do to it."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections import Counter

import chess.pgn
import pytest

from agents.uci.process import EXTRA_PLACES
from arena.config import RunConfig
from arena.errors import ArenaError, UsageError
from arena.lineup import Lineup
from arena.pgn import to_pgn
from arena.runner import play, resume
from arena.store.database import Database
from arena.store.models import AgentRow, RunRow
from arena.store.queries import game_detail

ENGINE = """#!{python} -IS
import os, sys
version, lasts = sys.argv[1], int(sys.argv[2])
for line in sys.stdin:
    if line.startswith("uci\\n"): print(f"id name Brittle {{version}}\\nuciok", flush=True)
    if line.startswith("isready"): print("readyok", flush=True)
    if line.startswith("quit"): break
    if line.startswith("position"): plies = len(line.partition(" moves ")[2].split())
    if line.startswith("go"):
        if plies >= lasts: os._exit(9)
        print("bestmove", ["g1f3", "g8f6", "f3g1", "f6g8"][plies % 4], flush=True)
"""


@pytest.fixture
def brittle(tmp_path):
    """The spec of an engine that shuffles its knight, and dies when so many plies are played."""
    path = tmp_path / "brittle"
    path.write_text(ENGINE.format(python=sys.executable))
    path.chmod(0o755)
    return lambda lasts=1000, version=1: f"uci:{path}?args={version} {lasts}"


def installed(name):
    path = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *EXTRA_PLACES]))
    return f"uci:{path}?nodes=50" if path else pytest.skip(f"{name} is not installed")


@pytest.fixture
def stockfish():
    return installed("stockfish")


@pytest.fixture
def fairy_stockfish():
    return installed("fairy-stockfish")


def config(*agents, **fields):
    return RunConfig(**{"agent": agents, "seed": 7, "max_plies": 12, **fields})


async def test_an_engine_that_dies_voids_its_games_until_their_replays_are_used_up(db_path, brittle):
    result = await play(config(brittle(2), brittle(), "random", "random"), db=db_path)
    by_game = {}
    for game in result.games:
        by_game.setdefault(game.new.index, []).append((game.result, game.termination))
    crashed = [ends for ends in by_game.values() if ("*", "crash") in ends]
    assert crashed == [[("*", "crash"), ("*", "crash"), ("0-1", "crash")]]
    assert Counter(ends[-1][1] for ends in by_game.values())["crash"] == 1
    void = next(game for game in result.games if game.void)
    with Database.open(db_path, create=False) as database:
        detail = game_detail(database, void.game_id)
    assert "brittle ended with status 9" in detail.detail
    assert [(attempt.failure, len(detail.moves)) for attempt in detail.open_attempts] == [("crash", 2)]


async def test_settings_and_version_are_recorded_and_another_version_does_not_resume(db_path, brittle):
    await play(config(brittle(), "random"), db=db_path)
    with Database.open(db_path, create=False) as database, database.writing() as session:
        agent = session.query(AgentRow).filter_by(spec=brittle()).one()
        assert agent.settings["version"] == "Brittle 1"
        assert agent.settings["args"] == "1 1000"
        agent.settings = {**agent.settings, "version": "Brittle 0"}
        session.query(RunRow).one().status = "interrupted"
    with pytest.raises(ArenaError, match="the version of brittle-1 was Brittle 0 when the run began and is Brittle 1"):
        await resume(db=db_path)


async def test_many_games_need_few_processes(db_path, brittle):
    lineup = Lineup(config(brittle(), agents=32, max_plies=8))
    pool = lineup.uci_engines
    most = 0

    class Watch:
        def begin(self, run):
            pass

        def read(self, event):
            nonlocal most
            most = max(most, pool.alive)

    result = await play(lineup.config, db=db_path, readers=(Watch(),), lineup=lineup)
    assert [game.termination for game in result.games] == ["threefold-repetition"] * 16
    assert 1 <= most <= (os.cpu_count() or 1)
    assert pool.alive == 0


async def test_a_run_of_a_real_engine_repeats_move_for_move(tmp_path, stockfish):
    runs = [
        await play(config(stockfish, "random", games=4, concurrency=limit), db=tmp_path / f"{limit}.db")
        for limit in (1, 4)
    ]
    moves = [[game.moves for game in run.games] for run in runs]
    assert moves[0] == moves[1]
    assert len(set(moves[0])) == 4


async def test_games_of_chess_with_an_engine_end_and_are_read_back_by_another_program(db_path, stockfish):
    result = await play(config(stockfish, "random", games=2, max_plies=2000), db=db_path)
    with Database.open(db_path, create=False) as database:
        pgns = [to_pgn(game_detail(database, game.game_id)) for game in result.games]
    for game, pgn in zip(result.games, pgns, strict=True):
        read = chess.pgn.read_game(io.StringIO(pgn))
        board = read.end().board()
        assert read.errors == []
        assert [move.uci() for move in board.move_stack] == list(game.moves)
        assert board.is_checkmate()
        assert (game.termination, game.result) == ("checkmate", board.result())
        assert read.headers["Result"] == game.result


@pytest.mark.parametrize("rules", ["janggi", "janggimodern"])
async def test_games_of_janggi_with_an_engine_end_and_replay_in_another_program(db_path, fairy_stockfish, rules):
    pyffish = pytest.importorskip("pyffish")
    result = await play(config(fairy_stockfish, "random", game=rules, games=2, max_plies=2000), db=db_path)
    with Database.open(db_path, create=False) as database:
        fens = [[move.fen for move in game_detail(database, game.game_id).moves] for game in result.games]
    start = pyffish.start_fen(rules)
    for game, after in zip(result.games, fens, strict=True):
        played = list(game.moves)
        for ply, move in enumerate(played):
            assert move in pyffish.legal_moves(rules, start, played[:ply])
            assert after[ply] == pyffish.get_fen(rules, start, played[: ply + 1])
        ends = [ends(rules, start, played) for ends in (pyffish.is_immediate_game_end, pyffish.is_optional_game_end)]
        if game.termination == "checkmate":
            assert pyffish.legal_moves(rules, start, played) == []
            assert pyffish.gives_check(rules, start, played)
            ends.append((True, -1))
        for_mover = next(score for over, score in ends if over)
        first_to_move = len(played) % 2 == 0
        assert game.result == ("1/2-1/2" if for_mover == 0 else "1-0" if (for_mover > 0) == first_to_move else "0-1")


def test_engines_that_always_answer_the_same_are_known_to_repeat_their_games(brittle):
    assert Lineup(config(brittle(), games=3)).repeats() == 2
    assert Lineup(config(brittle(), games=3, time_control="60")).repeats() == 0
    assert Lineup(config(f"{brittle()}&threads=2", games=3)).repeats() == 0


async def test_a_program_that_is_no_engine_stops_the_run_before_it_is_recorded(db_path):
    with pytest.raises(UsageError, match="agent true-1: true ended with status 0, before it was ready"):
        await play(config("uci:true", "random"), db=db_path)
    assert not db_path.exists()
