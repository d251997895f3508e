"""Who gets which process when, and that none is left."""

import asyncio

import pytest

from agents.uci.pool import EnginePool
from agents.uci.process import EngineProcess, EngineStartError, Setup

CHESS, JANGGI = Setup(("/bin/engine",), "chess"), Setup(("/bin/engine",), "janggi")


class FakeProcess(EngineProcess):
    """A process that is none; it knows how it ended."""

    version = "Fake 1"

    def __init__(self, setup):
        self.setup = setup
        self.end = None

    pid = 0

    @property
    def running(self):
        return self.end is None

    async def search(self, position, limits, *, new_game):
        raise AssertionError

    def ask_to_quit(self):
        raise AssertionError

    async def wait(self):
        raise AssertionError

    async def quit(self):
        self.end = self.end or "quit"

    async def kill(self):
        self.end = self.end or "killed"


class Launcher:
    """Makes fake processes, and keeps them."""

    def __init__(self):
        self.made = []

    async def __call__(self, setup):
        await asyncio.sleep(0)
        self.made.append(FakeProcess(setup))
        return self.made[-1]

    def ends(self):
        return [process.end for process in self.made]


@pytest.fixture
def launcher():
    return Launcher()


def pool_of(launcher, **limits):
    pool = EnginePool(**limits, launch=launcher)
    pool.enter()
    return pool


async def test_many_games_share_as_many_processes_as_think_at_once(launcher):
    pool, thinking, most = pool_of(launcher, at_once=3), 0, 0

    async def play(game):
        nonlocal thinking, most
        for _ in range(5):
            async with pool.lend(CHESS, game):
                thinking += 1
                most = max(most, thinking)
                await asyncio.sleep(0)
                thinking -= 1

    await asyncio.gather(*(play(game) for game in range(16)))
    assert most == 3
    assert len(launcher.made) == pool.alive == 3
    await pool.leave()
    assert launcher.ends() == ["quit"] * 3


async def test_a_process_is_lent_again_for_the_same_setup_only(launcher):
    pool = pool_of(launcher, at_once=2)
    for setup in (CHESS, JANGGI, CHESS, JANGGI):
        async with pool.lend(setup) as process:
            assert process.setup == setup
    assert len(launcher.made) == 2


async def test_a_game_gets_the_process_that_thought_about_it_last(launcher):
    pool = pool_of(launcher, at_once=2)
    async with pool.lend(CHESS, 1) as first, pool.lend(CHESS, 2) as second:
        first.last_game, second.last_game = 1, 2
    for game, process in ((1, first), (2, second), (1, first)):
        async with pool.lend(CHESS, game) as lent:
            assert lent is process


async def test_the_process_that_is_idle_longest_makes_room(launcher):
    pool = pool_of(launcher, at_once=1, kept=2)
    for variant in ("chess", "janggi", "chess", "shogi"):
        async with pool.lend(Setup(("/bin/engine",), variant)):
            assert pool.alive <= 2
    assert [process.setup.variant for process in launcher.made if process.running] == ["chess", "shogi"]


async def test_a_question_without_an_answer_costs_its_process_its_life(launcher):
    pool = pool_of(launcher, at_once=1)
    with pytest.raises(ZeroDivisionError):
        async with pool.lend(CHESS):
            raise ZeroDivisionError
    async with pool.lend(CHESS) as process:
        assert process.running
    assert launcher.ends() == ["killed", None]


async def test_a_process_that_died_while_idle_is_replaced(launcher):
    pool = pool_of(launcher)
    async with pool.lend(CHESS) as process:
        pass
    process.end = "died"
    async with pool.lend(CHESS) as process:
        assert process.running
    assert launcher.ends() == ["died", None]


async def test_cancelled_questions_leave_no_process_and_free_their_turn(launcher):
    pool = pool_of(launcher, at_once=4)

    async def think():
        async with pool.lend(CHESS):
            await asyncio.Event().wait()

    questions = [asyncio.create_task(think()) for _ in range(50)]
    while len(launcher.made) < 4:  # noqa: ASYNC110
        await asyncio.sleep(0)
    for question in questions:
        question.cancel()
    await asyncio.gather(*questions, return_exceptions=True)
    assert pool.alive == 0
    assert set(launcher.ends()) == {"killed"}
    async with pool.lend(CHESS) as process:
        assert process.running


async def test_only_the_last_to_leave_ends_the_processes(launcher):
    pool = pool_of(launcher)
    pool.enter()
    async with pool.lend(CHESS):
        pass
    await pool.leave()
    assert launcher.ends() == [None]
    await pool.leave()
    assert launcher.ends() == ["quit"]


async def test_a_start_that_takes_too_long_is_an_error_with_the_limit(monkeypatch):
    monkeypatch.setattr("agents.uci.pool.START_LIMIT_S", 0.01)

    async def launch(setup):
        await asyncio.Event().wait()

    pool = EnginePool(launch=launch)
    with pytest.raises(EngineStartError, match=r"engine did not get ready in 0\.01 s: is it a UCI engine"):
        async with pool.lend(CHESS):
            pass
    assert pool.alive == 0
