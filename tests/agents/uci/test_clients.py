"""Both ways to speak to an engine, through one contract."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agents.uci.client import UciClient
from agents.uci.library import ChessEngine
from agents.uci.process import (
    EngineDiedError,
    EngineNotFoundError,
    EngineStartError,
    IllegalAnswerError,
    Search,
    SearchLimits,
    Setup,
    find_engine,
)
from games import get_game

ROOT = Path(__file__).parents[3]
CLIENTS = [ChessEngine, UciClient]
START = get_game("chess").position()


def setup(script, variant="chess", **options):
    return Setup(tuple(script.command), variant, tuple(options.items()))


@pytest.mark.parametrize("client", CLIENTS)
async def test_an_engine_is_told_options_game_and_limits(client, script):
    scripted = script("plays", "e7e5")
    engine = await client.launch(setup(scripted, Hash="32"))
    try:
        position = get_game("chess").position(None, ["e2e4"])
        limits = SearchLimits(nodes=20, wtime=900, btime=800, winc=10, binc=10)
        assert await engine.best_move(position, limits, new_game=True) == "e7e5"
        assert engine.version == "Scripted 1.0"
        told = scripted.told()
        assert told.index("setoption name Hash value 32") < told.index("ucinewgame") < len(told) - 2
        assert told[-2].startswith("position ")
        assert told[-2].endswith(" moves e2e4")
        words = told[-1].split()
        assert words[0] == "go"
        pairs = dict(zip(words[1::2], words[2::2], strict=True))
        assert pairs == {"nodes": "20", "wtime": "900", "btime": "800", "winc": "10", "binc": "10"}
    finally:
        await engine.quit()
    assert scripted.told()[-1] == "quit"
    assert scripted.alive() == []


@pytest.mark.parametrize("client", CLIENTS)
async def test_only_a_new_game_makes_an_engine_forget(client, script):
    scripted = script()
    engine = await client.launch(setup(scripted))
    for new_game in (True, False, True):
        await engine.best_move(START, SearchLimits(depth=1), new_game=new_game)
    assert scripted.told().count("ucinewgame") == 2
    await engine.kill()


@pytest.mark.parametrize("client", CLIENTS)
async def test_an_engine_that_dies_says_how(client, script):
    engine = await client.launch(setup(script("dies")))
    with pytest.raises(EngineDiedError, match=r"scripted ended with status 7; it said: .*out of memory"):
        await engine.best_move(START, SearchLimits(nodes=1), new_game=True)
    assert not engine.running
    await engine.kill()


@pytest.mark.parametrize("client", CLIENTS)
async def test_no_move_is_an_empty_answer(client, script):
    engine = await client.launch(setup(script("plays", "(none)", "0000")))
    assert [await engine.best_move(START, SearchLimits(nodes=1), new_game=True) for _ in range(2)] == ["", ""]
    await engine.kill()


async def test_an_illegal_answer_to_the_library_is_told_apart_from_a_crash(script):
    engine = await ChessEngine.launch(setup(script("plays", "e2e5")))
    with pytest.raises(IllegalAnswerError, match="e2e5"):
        await engine.best_move(START, SearchLimits(nodes=1), new_game=True)
    assert engine.running
    await engine.kill()


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("mode", ["garbage", "mute"])
async def test_what_never_says_uciok_is_waited_for_no_longer_than_asked_and_ended(client, mode, script):
    scripted = script(mode)

    async def hurry(limit):
        while not scripted.pids():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        limit.reschedule(asyncio.get_running_loop().time() + 0.2)

    async def launch():
        async with asyncio.timeout(None) as limit, asyncio.TaskGroup() as group:
            group.create_task(hurry(limit))
            await client.launch(setup(scripted))

    with pytest.raises(TimeoutError):
        await launch()
    assert len(scripted.pids()) == 1
    assert scripted.alive() == []


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_program_that_ends_at_once_is_no_engine(client, script):
    with pytest.raises(EngineStartError, match=r"scripted ended with status 1.*before it was ready"):
        await client.launch(setup(script("dead")))


async def test_a_line_without_end_is_no_engine(script):
    scripted = script("endless line")
    with pytest.raises(EngineStartError, match="without a line break"):
        await UciClient.launch(setup(scripted))
    assert scripted.alive() == []


@pytest.mark.parametrize("client", CLIENTS)
async def test_an_option_it_does_not_have_is_refused_and_the_process_ended(client, script):
    scripted = script()
    with pytest.raises(EngineStartError, match=r"Scripted 1\.0 has no option 'Contempt'"):
        await client.launch(setup(scripted, Contempt="3"))
    assert scripted.alive() == []


async def test_a_game_it_does_not_play_is_refused(script):
    with pytest.raises(EngineStartError, match="does not play shogi"):
        await UciClient.launch(setup(script(), "shogi"))


@pytest.mark.parametrize("client", CLIENTS)
async def test_an_engine_that_hangs_is_killed_with_all_that_it_started(client, script, monkeypatch):
    monkeypatch.setattr("agents.uci.process.QUIT_LIMIT_S", 0.5)
    for mode in ("stubborn", "orphans"):
        scripted = script(mode)
        engine = await client.launch(setup(scripted))
        await engine.quit()
        while scripted.alive():  # an orphan is reaped by whoever adopts it  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def test_an_engine_is_found_where_shells_often_do_not_look(stockfish, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert find_engine("stockfish") == find_engine(stockfish)


@pytest.mark.parametrize(
    ("command", "words"),
    [("stokfish", "no engine 'stokfish' on PATH or in /usr/games"), ("./nowhere/engine", "no file ./nowhere/engine")],
)
def test_an_engine_that_is_not_there_is_named_with_the_places_searched(command, words):
    with pytest.raises(EngineNotFoundError, match=words):
        find_engine(command)


def test_a_file_that_is_no_program_is_named(tmp_path):
    (tmp_path / "notes").write_text("e4 is best")
    with pytest.raises(EngineNotFoundError, match="not a program"):
        find_engine(str(tmp_path / "notes"))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
def test_an_engine_does_not_outlive_a_killed_parent(script, is_alive):
    scripted = script("hangs")
    code = f"""
import asyncio, os, signal
from agents.uci.client import UciClient
from agents.uci.process import SearchLimits, Setup
from games import get_game
async def main():
    engine = await UciClient.launch(Setup({tuple(scripted.command)!r}, "chess"))
    asyncio.get_running_loop().call_later(0.2, os.kill, os.getpid(), signal.SIGKILL)
    await engine.best_move(get_game("chess").position(), SearchLimits(nodes=1), new_game=True)
asyncio.run(main())
"""
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == -9
    (pid,) = scripted.pids()
    until = time.monotonic() + 60
    while is_alive(pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not is_alive(pid)


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_search_tells_the_score_for_the_side_to_move(client, script):
    engine = await client.launch(setup(script("plays", "e7e5")))
    try:
        position = get_game("chess").position(None, ["e2e4"])
        assert await engine.search(position, SearchLimits(nodes=20), new_game=True) == Search("e7e5", 13)
    finally:
        await engine.quit()
