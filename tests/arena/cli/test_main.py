"""What holds for every command: one clear sentence for an error, and quiet when nobody reads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PLAY = ("play", "--agent", "random", "--agents", "8", "--games", "40", "--max-plies", "30")


def arena_process(*args, db_path, **options):
    return subprocess.Popen(
        [sys.executable, "-c", "from arena.cli import main; main()", *args],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "ARENA_DB": str(db_path)},
        **options,
    )


@pytest.fixture
def long_record(scribe):
    scribe = scribe(games=60)
    for game in scribe.run.games:
        scribe.play_out(game.game_id)
    scribe.db.close()


@pytest.mark.parametrize("command", [("games", "--json"), ("games",), ("export", "--pgn"), ("show", "1", "--json")])
def test_reader_that_goes_away_ends_the_command_quietly(long_record, db_path, command):
    process = arena_process(*command, db_path=db_path, stdout=subprocess.PIPE)
    process.stdout.close()
    assert process.communicate()[1] == ""


def test_games_go_on_when_nobody_reads_the_progress(db_path, recorded):
    process = arena_process(*PLAY, db_path=db_path, stdout=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    err = process.communicate()[1]
    assert "Traceback" not in err
    assert recorded(1).status == "finished"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", [("games",), ("games", "--json"), ("export", "--pgn"), ("show", "1")])
def test_full_disk_is_said_in_one_sentence(long_record, db_path, command):
    with open("/dev/full", "w") as full:
        process = arena_process(*command, db_path=db_path, stdout=full)
    err = process.communicate()[1]
    assert (process.returncode, err) == (1, "arena: cannot write the output: No space left on device\n")


def test_closed_stdout_is_no_fault(long_record, db_path):
    process = arena_process("games", db_path=db_path, preexec_fn=lambda: os.close(1))
    assert (process.communicate()[1], process.returncode) == ("", 0)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("play", "--agents", "1e3"), ["invalid value for '--agents'", "'1e3'", "arena play --help"]),
        (("games", "--limit", "0"), ["--limit", "0"]),
        (("models", "frob"), ["'frob'", "arena models --help"]),
        (("models", "pull"), ["NAME"]),
        (("show", "x"), ["'x' is not the number of a game", "arena games"]),
        (("frob",), ["'frob'"]),
    ],
)
def test_bad_arguments_are_one_sentence(arena, args, words):
    code, out, err = arena(*args)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("arena: ")
    assert [word for word in words if word not in err] == []


def test_error_text_cannot_move_the_terminal(arena, tmp_path):
    (tmp_path / "own.py").write_text(
        "from agents.base import Agent\n"
        "class Own(Agent):\n"
        "    async def choose_move(self, request): ...\n"
        "    async def start(self): raise RuntimeError('\\x1b[2J gone')\n"
    )
    code, _, err = arena("play", "--agent", f"python:{tmp_path}/own.py:Own")
    assert code == 1
    assert err == "arena: agent Own-1 could not start: \\x1b[2J gone\n"
