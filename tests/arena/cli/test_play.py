"""`arena play` as a person calls it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arena.lineup import Lineup
from arena.openings import find_opening
from arena.store.database import Database
from arena.store.runs import load_run
from games import get_game
from inference.engine import Engine

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def no_config_of_the_user(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def random_games(arena, *args):
    return arena("play", "--agent", "random", "--max-plies", "6", *args)


def test_play_tells_what_happened_and_what_to_try_next(arena, db_path, recorded):
    code, out, err = random_games(arena, "--agents", "4", "--seed", "7")
    assert (code, err) == (0, "")
    run = recorded(1)
    assert out.splitlines()[0] == f"run {run.name}: 2 games, seed 7"
    assert "game 1: random-1 1/2-1/2 random-4, ply-limit, 6 plies" in out
    assert re.search(r"random-3 +0\.5 +1 +0 +1 +0", out)
    assert re.search(r"total +[\d.]+ +[\d.]+ +[\d.]+ +12", out)
    assert f"Recorded in {db_path} as run {run.name} (seed 7), finished." in out
    assert "arena show 1" in out
    assert f"arena games --run {run.name}" in out
    assert "--db" not in out  # ARENA_DB says it


def test_the_next_commands_name_the_database_that_was_named(arena, tmp_path):
    code, out, _ = random_games(arena, "--db", tmp_path / "other.db")
    assert code == 0
    assert f"arena show 1 --db {tmp_path / 'other.db'}" in out


@pytest.mark.parametrize(
    ("game", "opening", "plies"), [("chess", "petrov, italian", 6), ("janggi", "masangmasang-sangmamasang", 0)]
)
def test_every_game_begins_with_the_opening_that_was_named(arena, recorded, game, opening, plies):
    code, _, err = random_games(
        arena, "--game", game, "--opening", opening, "--games", "2", "--max-plies", "9", "--seed", "7"
    )
    assert (code, err) == (0, "")
    start = find_opening(get_game(game), opening)
    for played in recorded(1).games:
        assert (played.new.opening, played.new.start_fen) == (start.name, start.start_fen)
        assert played.moves[:plies] == start.moves
        assert len(played.moves) > plies


def test_a_seed_that_is_not_given_is_drawn_and_printed(arena, recorded):
    seeds = []
    for number in (1, 2):
        _, out, _ = random_games(arena)
        seeds.append(recorded(number).new.seed)
        assert f"seed {seeds[-1]}" in out
    assert seeds[0] != seeds[1]


def test_json_is_all_that_goes_to_stdout(arena, recorded):
    code, out, err = random_games(arena, "--agents", "4", "--seed", "7", "--json")
    assert code == 0
    found = json.loads(out)
    assert (found["seed"], found["status"], found["moves"], len(found["agents"])) == (7, "finished", 12, 4)
    assert [(game["white"], game["result"]) for game in found["games"]] == [
        ("random-1", "1/2-1/2"),
        ("random-2", "1/2-1/2"),
    ]
    assert "game 1: random-1" in err


def test_every_option_reaches_the_record(arena, recorded):
    options = {
        "--agents": 4, "--games": 3, "--concurrency": 1, "--seed": 9, "--temperature": 0.5, "--prompt": "pgn",
        "--legality": "retry:3", "--move-timeout": 12.5, "--model": "m", "--weights": "bfloat16", "--threads": 1,
        "--kv": "int8", "--kv-memory": 64, "--page-size": 32, "--max-batch-tokens": 128, "--max-batch": 7,
        "--fen": "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", "--game": "chess", "--time-control": "600+2", "--charge": "wall",
    }  # fmt: skip
    switches = [
        "--no-prefix-cache",
        "--no-continuous-batching",
        "--no-chunked-prefill",
        "--no-jump-forward",
        "--no-shared-attention",
        "--select",
        "tree",
    ]
    code, _, err = random_games(arena, *(word for pair in options.items() for word in pair), *switches)
    assert (code, err) == (0, "")
    config = recorded(1).new.config
    engine = config.pop("engine")
    assert config == {
        "agent": ["random"], "agents": 4, "games": 3, "concurrency": 1, "game": "chess", "fen": options["--fen"],
        "opening": None, "prompt": "pgn",
        "max_plies": 6, "seed": 9, "temperature": 0.5, "legality": "retry:3", "move_timeout": 12.5,
        "time_control": "600+2", "charge": "wall",
    }  # fmt: skip
    assert engine == {
        "model": "m", "weights": "bfloat16", "threads": 1, "page_size": 32, "kv": "int8", "kv_memory_mb": 64,
        "max_batch_tokens": 128, "max_batch": 7, "prefix_cache": False, "continuous_batching": False,
        "chunked_prefill": False,
        "jump_forward": False, "select": "tree", "shared_attention": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--agents", "3"], ["--agents 3", "even"]),
        (["--agents", "x"], ["--agents", "'x'"]),
        (["--agents", "2", "--agent", "random", "--agent", "random"], ["3 agent specs"]),
        (["--agent", "rnadom"], ["rnadom", "did you mean random"]),
        (["--agent", "llm?temprature=1"], ["temprature", "did you mean temperature"]),
        (["--agent", "llm?legality=strict"], ["'strict'", "retry:N"]),
        (["--agent", "llm?prompt=/nowhere.toml"], ["/nowhere.toml"]),
        (["--agent", "python:./nowhere.py:Agent"], ["nowhere.py"]),
        (["--agent", "llm", "--legality", "none"], ["'none'", "retry:N"]),
        (["--game", "go"], ["go", "chess"]),
        (["--fen", "rubbish"], ["rubbish"]),
        (["--agent", "llm", "--prompt", "trancsript"], ["'trancsript'", "did you mean transcript"]),
        (["--opening", "Petrof"], ["'Petrof'", "Petrov, Steinitz"]),
        (["--opening", "Slav, Quiet", "--fen", "x"], ["--fen or --opening"]),
        (["--opening", "Slav, Quiet", "--game", "mixed"], ["--opening", "--game mixed"]),
        (["--move-timeout", "-1"], ["--move-timeout -1", "greater than 0"]),
        (["--time-control", "1:30"], ["--time-control 1:30", "60+1"]),
        (["--charge", "thinking"], ["--charge", "'compute', 'wall'"]),
        (["--white", "random"], ["--white", "--agent"]),
        (["--agent", "uci:stokfish"], ["'stokfish'", "PATH"]),
        (["--agent", "human", "--agents", "4"], ["one game at a time", "--concurrency 1"]),
        (["--max-plies", "0"], ["--max-plies 0"]),
        (["--temperature", "-2"], ["--temperature -2"]),
        (["--seed", "-2"], ["--seed -2"]),
        (["--kv-memory", "0"], ["--kv-memory 0"]),
        (["--log-file", "/nowhere/log"], ["--log-file /nowhere/log"]),
        (["--no-cache"], ["--no-cache"]),
    ],
)
def test_bad_input_is_named_before_a_model_loads_or_a_database_is_made(arena, db_path, monkeypatch, args, words):
    monkeypatch.setattr(Engine, "start", lambda self: pytest.fail("loaded a model"))
    code, out, err = random_games(arena, *args)
    assert (code, out) == (2, "")
    for word in words:
        assert word in err
    assert "Traceback" not in err
    assert not db_path.exists()


def test_a_model_that_cannot_be_had_is_one_sentence_and_no_record(arena, db_path):
    code, _, err = arena("play", "--model", "no such model")
    assert code == 2
    assert "'no such model' names no model" in err
    assert "Traceback" not in err
    assert not db_path.exists()


def test_the_users_file_gives_the_defaults(arena, recorded, tmp_path):
    folder = tmp_path / "config" / "arena"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[play]\nagents = 6\nmax_plies = 4\n[engine]\nthreads = 1\n")
    assert random_games(arena, "--seed", "3")[0] == 0
    config = recorded(1).new.config
    assert (config["agents"], config["max_plies"], config["engine"]["threads"]) == (6, 6, 1)


def test_a_faulty_users_file_is_named(arena, tmp_path):
    folder = tmp_path / "config" / "arena"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[play]\nagnets = 6\n")
    code, _, err = random_games(arena)
    assert code == 2
    assert "config.toml" in err
    assert "'agnets'" in err


def test_greedy_twins_are_warned_about(arena, monkeypatch):
    monkeypatch.setattr(Lineup, "repeats", lambda self: 3)
    _, _, err = random_games(arena, "--agents", "8")
    assert "3 of 4 games will repeat another move for move" in err


def test_the_log_file_has_what_the_screen_leaves_out(arena, tmp_path):
    log = tmp_path / "log.txt"
    crash = "python:agents.scripted:CrashingAgent"
    code, _, err = arena("play", "--agent", crash, "--agent", "random", "--log-file", log)
    assert code == 0
    assert "CrashingAgent-1 in game 1 crashed: ZeroDivisionError" in err
    assert "Traceback" not in err
    assert "Traceback" in log.read_text()


def test_there_must_be_something_to_resume(arena, db_path):
    code, _, err = arena("play", "--resume")
    assert code == 2
    assert str(db_path) in err
    random_games(arena)
    code, _, err = arena("play", "--resume")
    assert code == 2
    assert "no unfinished run" in err
    code, _, err = arena("play", "--resume", "1")
    assert code == 2
    assert "finished" in err
    code, _, err = arena("play", "--resume", "nobody")
    assert code == 2
    assert "nobody" in err


class Child:
    """`arena ARGS` as a process of its own."""

    def __init__(self, db_path, *args):
        self._errors = db_path.with_name("stderr")
        with self._errors.open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-c", "from arena.cli import main; main()", *args],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, "PYTHONPATH": str(ROOT), "ARENA_DB": str(db_path)},
            )

    def wait_for(self, word):
        for line in self.process.stdout:
            if word in line:
                return line
        raise AssertionError(f"{word} was never said: {self._errors.read_text()}")

    def wait_for_notice(self, word):
        while word not in self._errors.read_text():
            assert self.process.poll() is None, f"{word} was never said: {self._errors.read_text()}"
            time.sleep(0.01)

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def has_ended(self, within_s):
        try:
            self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self):
        out, _ = self.process.communicate(timeout=120)
        return self.process.returncode, out, self._errors.read_text()


@pytest.fixture
def child(db_path):
    started = []

    def start(*args):
        started.append(Child(db_path, *args))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.communicate()


def test_one_ctrl_c_finishes_the_running_games(child, gate, wait_for_moves, recorded):
    asked = ["--agents", "4", "--games", "6", "--concurrency", "2", "--max-plies", "20"]
    play = child("play", "--agent", gate.at(4), *asked)
    play.wait_for("run ")
    wait_for_moves(2 * 3)
    play.interrupt()
    play.wait_for_notice("Finishing")
    gate.open()
    code, out, err = play.end()
    assert code == 130
    assert "Finishing 2 running games and starting no more; Ctrl-C again stops at once." in err
    assert [game.result for game in recorded().games] == ["1/2-1/2"] * 2 + [None] * 4
    assert f"arena play --resume {recorded().name}" in out
    assert "Traceback" not in err


def test_two_ctrl_c_stop_at_once_and_resume_goes_on_to_the_same_games(
    child, gate, wait_for_moves, arena, recorded, tmp_path
):
    asked = ["--agents", "4", "--agent", gate.at(10), "--max-plies", "24", "--seed", "5", "--opening", "Colle"]
    play = child("play", *asked)
    play.wait_for("run ")
    wait_for_moves(2 * 9)
    play.interrupt()
    play.wait_for_notice("Finishing")
    play.interrupt()
    code, _, err = play.end()
    assert code == 130
    assert "Traceback" not in err
    before = recorded()
    assert before.status == "interrupted"
    assert [(game.result, len(game.moves)) for game in before.games] == [(None, 9)] * 2
    gate.open()

    code, _, err = arena("play", "--resume", before.name, "--seed", "6")
    assert code == 2
    assert "--seed 6 (the run has 5)" in err
    code, _, err = arena("play", "--resume", "--concurrency", "0")
    assert code == 2
    assert "--concurrency 0" in err
    assert recorded() == before

    code, out, _ = arena("play", "--resume", "--concurrency", "1", "--agents", "4")
    assert code == 0
    assert f"game 1 goes on at ply {len(before.games[0].moves)}" in out
    after = recorded(before.run_id)
    assert arena("play", *asked, "--db", tmp_path / "whole.db")[0] == 0
    with Database.open(tmp_path / "whole.db", create=False) as database:
        whole = load_run(database, 1)
    assert [game.moves for game in after.games] == [game.moves for game in whole.games]
    assert all(new.moves[: len(old.moves)] == old.moves for old, new in zip(before.games, after.games, strict=True))


def test_a_run_that_is_being_played_is_not_resumed(child, gate, wait_for_moves, arena, recorded):
    play = child("play", "--agent", gate.at(4), "--max-plies", "6")
    play.wait_for("run ")
    wait_for_moves(3)
    code, _, err = arena("play", "--resume")
    assert code == 2
    assert f"run 1 is being played by process {play.process.pid}" in err
    play.process.kill()
    play.end()
    moves = recorded().games[0].moves
    resumed = child("play", "--resume", "--concurrency", "1")
    assert f"goes on at ply {len(moves)}" in resumed.wait_for("goes on")


def test_third_ctrl_c_ends_a_run_whose_agent_blocks(child, recorded, tmp_path):
    own, blocked = tmp_path / "own.py", tmp_path / "blocked"
    own.write_text(
        "import time\n"
        "from agents.base import Agent\n"
        "class Own(Agent):\n"
        "    async def choose_move(self, request):\n"
        f"        open({str(blocked)!r}, 'w').close()\n"
        "        time.sleep(600)\n"
    )
    play = child("play", "--agent", f"python:{own}:Own")
    play.wait_for("run ")
    while not blocked.exists():
        time.sleep(0.01)
    for _ in range(3):
        play.interrupt()
        time.sleep(0.3)
    while not play.has_ended(within_s=20):  # of two signals that come close together one may be lost
        play.interrupt()
    code, _, err = play.end()
    assert code == 130
    assert "Traceback" not in err
    assert recorded().status == "interrupted"


@pytest.mark.parametrize(
    ("db", "words"),
    [("", "''"), ("/nowhere/arena.db", "no folder /nowhere"), ("sqlite://", "sqlite://"), ("text", "not an SQLite")],
)
def test_a_database_that_cannot_be_had_is_named_before_a_model_loads(arena, monkeypatch, tmp_path, db, words):
    monkeypatch.setattr(Engine, "start", lambda self: pytest.fail("loaded a model"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("no database")
    code, _, err = arena("play", "--db", db)
    assert code == (1 if db == "text" else 2)  # that file may be a database that was damaged
    assert words in err
