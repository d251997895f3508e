"""Many games at once: who plays, what is recorded, how a run stops and goes on."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

import arena.lineup
import arena.runner
from agents.seeds import derive_seed
from arena.config import RunConfig
from arena.errors import ArenaError, UsageError
from arena.events import EngineSampled, GameEnded, GameStarted, MovePlayed
from arena.lineup import Lineup
from arena.runner import left_to_play, play, resume
from arena.store.database import Database
from arena.store.queries import game_detail
from arena.store.runs import add_replay, load_run
from arena.store.stages import last_tries
from inference.errors import EngineClosedError, EngineFailedError
from inference.types import ChoiceReply, EngineStats, FinishReason, Reply

ROOT = Path(__file__).parents[2]
SLOW = "python:agents.scripted:SlowAgent?delay_s=0.02"


class Watch:
    """A reader that keeps the events, and may act on them."""

    def __init__(self, act=None):
        self.run = None
        self.events = []
        self.act = act

    def begin(self, run):
        self.run = run

    def read(self, event):
        self.events.append(event)
        if self.act:
            self.act(event)

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def own_agents(tmp_path):
    """Writes a module of agents, and gives the spec of one of its classes."""

    def write(code):
        path = tmp_path / "mine.py"
        path.write_text("import asyncio\nfrom agents.base import *\n" + code, encoding="utf-8")
        return lambda name: f"python:{path}:{name}"

    return write


def config(**fields):
    return RunConfig(**{"agent": ("random",), "agents": 8, "seed": 7, "max_plies": 30, **fields})


def table(games):
    """What a run comes to, whatever happened on the way: each game of the schedule with its moves and its end."""
    return {(game.new.index, game.new.replay): (game.result, game.termination, game.moves) for game in games}


async def test_a_run_plays_every_game_and_records_it(db_path):
    watch = Watch()
    result = await play(config(games=12), db=db_path, readers=(watch,))
    assert result.status == "finished"
    assert len(result.games) == 12
    assert watch.run.name == result.name
    assert Counter(type(event).__name__ for event in watch.events)["GameEnded"] == 12
    with Database.open(db_path, create=False) as database:
        run = load_run(database, result.run_id)
    assert (run.status, run.new.seed, run.new.model) == ("finished", 7, None)
    assert run.games == result.games
    assert RunConfig.model_validate(run.new.config) == config(games=12)
    assert [agent.name for agent in run.new.agents][:2] == ["random-1", "random-2"]


async def test_one_that_crashes_one_silent_and_one_illegal_leave_all_other_games_alone(db_path):
    scripted = "python:agents.scripted:"
    specs = [f"{scripted}CrashingAgent?plies=4", f"{scripted}SilentAgent", f"{scripted}IllegalAgent?tries=2"]
    result = await play(config(agents=16, agent=(*specs, *["random"] * 13), move_timeout=0.3), db=db_path)
    assert result.status == "finished"
    ends = {(game.new.index, game.new.replay): (game.result, game.termination) for game in result.games}
    assert ends[0, 0] == ends[0, 1] == ("*", "crash")
    assert ends[0, 2] == ("0-1", "crash")
    assert ends[1, 0] == ("0-1", "time")
    assert ends[2, 0] == ("0-1", "forfeit-illegal")
    assert {ends[index, 0] for index in range(3, 8)} == {("1/2-1/2", "ply-limit")}
    assert len(ends) == 10


async def test_a_seed_gives_the_same_games_whatever_plays_at_once(tmp_path):
    runs = [
        await play(config(concurrency=concurrency), db=tmp_path / f"{number}.db")
        for number, concurrency in enumerate((4, 4, 1))
    ]
    assert table(runs[0].games) == table(runs[1].games) == table(runs[2].games)
    assert len({game.moves for game in runs[0].games}) == 4
    other = await play(config(seed=8), db=tmp_path / "other.db")
    assert table(other.games) != table(runs[0].games)


async def test_the_moves_follow_from_the_seed_alone(db_path):
    from games import get_game

    result = await play(config(agents=2, max_plies=3), db=db_path)
    position, seed = get_game("chess").position(), derive_seed(7, "game", 0)
    for ply in (1, 2, 3):
        legal = position.legal_moves()
        move = legal[derive_seed(derive_seed(seed, ply), "random move") % len(legal)]
        position = position.play(move)
    assert result.games[0].moves == position.moves


@pytest.mark.parametrize("limit", [1, 3])
async def test_no_more_games_than_asked_for_play_at_once(db_path, own_agents, limit):
    spec = own_agents(
        "class Sociable(Agent):\n"
        "    seen = set()\n"
        "    def __init__(self, games: int):\n"
        "        self.games = games\n"
        "    async def choose_move(self, request):\n"
        "        self.seen.add(request.game_id)\n"
        "        while len(self.seen) < self.games:\n"
        "            await asyncio.sleep(0.001)\n"
        "        return MoveReply.of(request.position.legal_moves()[0])\n"
    )("Sociable")
    live, most = set(), []

    def count(event):
        if isinstance(event, GameStarted):
            live.add(event.game_id)
        elif isinstance(event, GameEnded):
            live.remove(event.game_id)
        most.append(len(live))

    agent = (f"{spec}?games={limit}",)
    await play(config(games=10, concurrency=limit, max_plies=6, agent=agent), db=db_path, readers=(Watch(count),))
    assert max(most) == limit


async def test_a_game_void_for_infrastructure_is_played_again_twice_and_then_stays_void(db_path, own_agents):
    spec = own_agents(
        "class Unplugged(Agent):\n"
        "    async def choose_move(self, request):\n"
        "        raise InfrastructureError('no endpoint')\n"
    )("Unplugged")
    result = await play(config(agents=2, agent=(spec,)), db=db_path)
    assert result.status == "finished"
    assert [(game.new.replay, game.result, game.termination, game.void) for game in result.games] == [
        (replay, "*", "infrastructure", True) for replay in (0, 1, 2)
    ]


async def test_an_agent_that_cannot_start_stops_the_run_before_it_is_recorded(db_path, own_agents):
    spec = own_agents(
        "class Missing(Agent):\n"
        "    async def start(self):\n"
        "        raise FileNotFoundError('no such engine')\n"
        "    async def choose_move(self, request):\n"
        "        raise AssertionError\n"
    )("Missing")
    with pytest.raises(ArenaError, match=r"agent Missing-1 could not start: no such engine"):
        await play(config(agents=2, agent=(spec, "random")), db=db_path)
    assert not db_path.exists()


async def test_agents_are_started_and_closed_once_on_every_way_out(db_path, own_agents, tmp_path, monkeypatch):
    spec = own_agents(
        "import pathlib\n"
        "class Diary(Agent):\n"
        "    def __init__(self, diary):\n"
        "        self.diary = pathlib.Path(diary)\n"
        "    def note(self, word):\n"
        "        self.diary.write_text((self.diary.read_text() if self.diary.exists() else '') + word + ' ')\n"
        "    async def start(self):\n"
        "        self.note('start')\n"
        "    async def choose_move(self, request):\n"
        "        return MoveReply.of(request.position.legal_moves()[0])\n"
        "    async def close(self):\n"
        "        self.note('close')\n"
        "        raise OSError('already gone')\n"
    )("Diary")
    diary = tmp_path / "diary"
    specs = (f"{spec}?diary={diary}", "random")
    await play(config(agents=2, agent=specs), db=db_path)
    assert diary.read_text() == "start close "

    def full(database, new):
        raise ArenaError("the disk is full")

    monkeypatch.setattr(arena.runner, "create_run", full)
    with pytest.raises(ArenaError, match="full"):
        await play(config(agents=2, agent=specs), db=db_path)
    assert diary.read_text() == "start close start close "


async def test_a_bug_in_the_program_stops_the_run_with_the_first_error(db_path, monkeypatch):
    real = arena.runner.play_game

    async def faulty(game, *args, **kwargs):
        if game.new.index == 2:
            raise KeyError("a bug")
        return await real(game, *args, **kwargs)

    monkeypatch.setattr(arena.runner, "play_game", faulty)
    with pytest.raises(KeyError, match="a bug"):
        await play(config(agent=(SLOW,)), db=db_path)
    with Database.open(db_path, create=False) as database:
        run = load_run(database)
    assert run.status == "failed"


async def test_a_run_that_is_cancelled_is_interrupted_and_can_go_on(db_path, tmp_path):
    begun = asyncio.Event()
    watch = Watch(lambda event: begun.set() if isinstance(event, MovePlayed) and event.ply > 5 else None)
    task = asyncio.create_task(play(config(), db=db_path, readers=(watch,)))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with Database.open(db_path, create=False) as database:
        assert load_run(database).status == "interrupted"
    resumed = await resume(db=db_path)
    whole = await play(config(), db=tmp_path / "whole.db")
    assert table(resumed.games) == table(whole.games)


async def test_the_first_interrupt_finishes_running_games_and_starts_no_other(db_path, tmp_path):
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    sent = []

    def interrupt(event):
        if isinstance(event, MovePlayed) and event.ply == 10 and not sent:
            sent.append(event)
            os.kill(os.getpid(), signal.SIGINT)

    result = await play(config(games=12, concurrency=3), db=db_path, readers=(Watch(interrupt),))
    assert result.status == "interrupted"
    assert [game.result is not None for game in result.games] == [True] * 3 + [False] * 9
    assert all(not game.moves for game in result.games[3:])
    assert {number: signal.getsignal(number) for number in before} == before
    resumed = await resume(result.run_id, db=db_path)
    assert resumed.status == "finished"
    whole = await play(config(games=12, concurrency=3), db=tmp_path / "whole.db")
    assert table(resumed.games) == table(whole.games)


async def test_an_interrupt_while_the_last_games_play_lets_the_run_finish(db_path):
    def interrupt(event):
        if isinstance(event, MovePlayed) and event.ply == 10 and event.game_id == 1:
            os.kill(os.getpid(), signal.SIGTERM)

    result = await play(config(agents=4), db=db_path, readers=(Watch(interrupt),))
    assert result.status == "finished"


async def test_the_second_interrupt_stops_at_once_and_keeps_every_finished_ply(db_path):
    moved = asyncio.Semaphore(0)
    watch = Watch(lambda event: moved.release() if isinstance(event, MovePlayed) else None)
    silent = "python:agents.scripted:SilentAgent"
    asked = config(agents=4, agent=("random", "random", silent, silent))
    run = asyncio.create_task(play(asked, db=db_path, readers=(watch,)))
    for _ in range(2):
        await moved.acquire()
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.sleep(0.1)
    assert not run.done()
    os.kill(os.getpid(), signal.SIGINT)
    result = await run
    assert result.status == "interrupted"
    assert [(len(game.moves), game.result) for game in result.games] == [(1, None), (1, None)]


async def test_a_run_can_be_played_in_a_thread_where_signals_cannot_be_caught(db_path):
    asked = config(agents=2, max_plies=4)
    result = await asyncio.to_thread(lambda: asyncio.run(play(asked, db=db_path)))
    assert result.status == "finished"


CHILD = """
import asyncio, sys, time
from arena.config import RunConfig
from arena.events import MovePlayed
from arena.runner import play, resume

class Print:
    said = 0
    def begin(self, run): pass
    def read(self, event):
        if isinstance(event, MovePlayed):
            if self.said == most:
                time.sleep(600)  # until it is killed
            self.said += 1
            print(event.game_id, event.ply, event.move, flush=True)

db, what, most = sys.argv[1], sys.argv[2], int(sys.argv[4])
config = RunConfig.model_validate_json(sys.argv[3])
asyncio.run(play(config, db=db, readers=(Print(),)) if what == "play" else resume(db=db, readers=(Print(),)))
"""


def killed_after(plies, db_path, what, asked):
    """Runs a child that is killed once it has said `plies` plies are played; what it said."""
    most = plies + 10  # however late the kill comes
    command = [sys.executable, "-c", CHILD, str(db_path), what, asked.model_dump_json(), str(most)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    said = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        for line in child.stdout:
            said.append(line.split())
            if len(said) == plies:
                child.kill()
                break
        said += [line.split() for line in child.stdout if line.endswith("\n")]
    return [(int(game), int(ply), move) for game, ply, move in said]


async def test_a_run_killed_again_and_again_ends_with_the_games_of_one_that_was_not(db_path, tmp_path):
    asked = config(agents=6, agent=(SLOW, "random"), games=6)
    draw = random.Random(1)
    for attempt in range(3):
        said = killed_after(draw.randint(5, 30), db_path, "resume" if attempt else "play", asked)
        with Database.open(db_path, create=False) as database:
            run = load_run(database)
        assert run.status == "running"
        moves = {game.game_id: game.moves for game in run.games}
        assert all(moves[game][ply - 1] == move for game, ply, move in said)
        assert not [game for game in run.games if game.result and len(game.moves) < 30]
    resumed = await resume(db=db_path)
    whole = await play(asked, db=tmp_path / "whole.db")
    assert resumed.status == "finished"
    assert table(resumed.games) == table(whole.games)


async def test_a_finished_run_has_nothing_to_resume(db_path):
    result = await play(config(agents=2, max_plies=2), db=db_path)
    with pytest.raises(UsageError, match=f"{result.name} is finished"):
        await resume(result.name, db=db_path)
    with pytest.raises(UsageError, match="no unfinished run"):
        await resume(db=db_path)


def test_what_is_left_to_play_are_games_without_an_end_and_void_ones_whose_replay_is_now_scheduled(scribe):
    run = scribe(games=4)
    first, second, third, _ = (game.game_id for game in run.run.games)
    run.play_out(first)
    for crashed in (second, third):
        run.start(crashed)
        run.write(run.ended(crashed, "*", "crash", void=True))
    add_replay(run.db, second)
    left = left_to_play(run.db, last_tries(run.db, run.run.run_id))
    tries = {game.game_id: (game.new.index, game.new.replay) for game in load_run(run.db, run.run.run_id).games}
    assert [tries[game_id] for game_id in left] == [(1, 1), (2, 1), (3, 0)]
    assert left == left_to_play(run.db, last_tries(run.db, run.run.run_id))


def test_what_was_played_three_times_is_not_played_again(scribe):
    run = scribe()
    game_id = run.run.games[0].game_id
    for _ in range(2):
        game_id = add_replay(run.db, game_id).game_id
    run.run = load_run(run.db, run.run.run_id)
    run.start(game_id)
    run.write(run.ended(game_id, "*", "infrastructure", void=True))
    assert left_to_play(run.db, last_tries(run.db, run.run.run_id)) == []


class FakeEngine:
    """Answers every choice at once, by its seed; `fails_after` choices it is dead."""

    model_name, model_checksum = "fake", "sum"
    model = SimpleNamespace(weights="float32")

    def __init__(self, fails_after=None):
        self.fails_after = fails_after
        self.asked = 0
        self.warmed = 0
        self.started = 0
        self.closed = 0

    def start(self, progress=None):
        self.started += 1

    def close(self):
        self.closed += 1

    def environment(self):
        return {"threads": 1}

    def stats(self):
        return EngineStats(running=3, prompt_tokens=100, cached_tokens=90, pages_total=8)

    @property
    def alive(self):
        return not self._dead

    @property
    def _dead(self):
        return self.fails_after is not None and self.asked >= self.fails_after

    async def generate(self, prompt, params, *, timeout_s=None):
        if self._dead:
            raise EngineClosedError("the engine was closed")
        self.warmed += 1
        return Reply("", (), FinishReason.LENGTH, 0)

    async def choose(self, prompt, choices, *, temperature=1.0, seed=None, terminator=None, timeout_s=None):
        if self._dead:
            raise EngineFailedError("a pass failed")
        self.asked += 1
        index = seed % len(choices)
        return ChoiceReply(choices[index], (), FinishReason.CHOICE, seed, index=index, probability=0.5)


@pytest.fixture
def engine(monkeypatch):
    """Puts a FakeEngine in the place of the real one."""

    def use(**fields):
        fake = FakeEngine(**fields)
        monkeypatch.setattr("arena.engines.make_engine", lambda config, model: fake)
        monkeypatch.setattr("inference.catalogue.is_installed", lambda name: True)
        return fake

    return use


async def test_the_engine_is_started_before_the_agents_and_closed_after_them(db_path, engine):
    fake = engine()
    result = await play(config(agent=("llm", "random")), db=db_path)
    assert (fake.started, fake.closed, fake.warmed) == (1, 1, 4)
    assert fake.asked == sum(len(game.moves) for game in result.games) / 2
    with Database.open(db_path, create=False) as database:
        run = load_run(database, result.run_id)
    assert (run.new.model, run.new.model_checksum) == ("fake", "sum")
    assert run.new.environment["threads"] == 1


def test_a_run_without_llm_agents_makes_no_engine(monkeypatch):
    monkeypatch.setattr("arena.engines.make_engine", lambda config, model: pytest.fail("made an engine"))
    assert not Lineup(config()).engines


async def test_the_engines_figures_are_sampled_while_games_are_played(db_path, engine, monkeypatch):
    monkeypatch.setattr("arena.figures.SAMPLE_S", 0.02)
    engine()
    watch = Watch()
    await play(config(agents=4, agent=("llm", SLOW)), db=db_path, readers=(watch,))
    figures = watch.of(EngineSampled)[-1].figures
    assert (figures["running"], figures["hit_rate"], figures["pages_total"]) == (3, 0.9, 8)
    assert figures["moves_per_s"] > 0


async def test_a_dead_engine_stops_the_run_which_can_go_on_later(db_path, tmp_path, engine):
    engine(fails_after=20)
    with pytest.raises(ArenaError, match="engine has stopped"):
        await play(config(agent=("llm",), agents=4), db=db_path)
    with Database.open(db_path, create=False) as database:
        assert load_run(database).status == "failed"
    fake = engine()
    resumed = await resume(db=db_path)
    assert resumed.status == "finished"
    assert fake.closed == 1
    whole = await play(config(agent=("llm",), agents=4), db=tmp_path / "whole.db")
    last = {game.new.index: game.moves for game in resumed.games if not game.void}
    assert last == {game.new.index: game.moves for game in whole.games}


async def test_a_run_is_not_resumed_with_another_model(db_path, engine):
    engine(fails_after=20)
    with pytest.raises(ArenaError):
        await play(config(agent=("llm",), agents=2), db=db_path)
    engine().model_checksum = "another"
    with pytest.raises(ArenaError, match="has changed since"):
        await resume(db=db_path)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"agent": ("lllm",)}, ["--agent lllm", "did you mean llm"]),
        ({"agent": ("python:nowhere.at_all:Class",)}, ["nowhere"]),
        ({"agent": ("llm?temperature=-1",)}, ["temperature", "-1"]),
        ({"game": "chss"}, ["chss", "chess"]),
        ({"fen": "8/8/8/8/8/8/8/8 w - - 0 1"}, ["8/8/8/8/8/8/8/8"]),
    ],
)
def test_what_cannot_be_played_is_refused_before_a_model_loads(fields, words, engine):
    fake = engine()
    with pytest.raises(UsageError) as caught:
        Lineup(config(**fields))
    for word in words:
        assert word in str(caught.value)
    assert fake.started == 0


def test_equal_greedy_agents_are_known_to_repeat_their_games(engine):
    engine()
    assert Lineup(config(agent=("llm",), temperature=0)).repeats() == 3
    assert Lineup(config(agent=("llm",), temperature=0.5)).repeats() == 0
    assert Lineup(config(agent=("random",))).repeats() == 0


async def test_a_run_returns_though_an_agent_will_not_close(db_path, own_agents, monkeypatch, caplog):
    monkeypatch.setattr(arena.lineup, "CLOSE_LIMIT_S", 0.05)
    spec = own_agents(
        "class Clingy(Agent):\n"
        "    async def choose_move(self, request):\n"
        "        return MoveReply.of(request.position.legal_moves()[0])\n"
        "    async def close(self):\n"
        "        await asyncio.sleep(3600)\n"
    )("Clingy")
    result = await play(config(agents=2, agent=(spec, "random"), max_plies=2), db=db_path)
    assert result.status == "finished"
    assert "Clingy-1 did not close" in caplog.text


def test_the_event_loop_ends_though_an_agent_will_not_stop(db_path, own_agents):
    spec = own_agents(
        "import asyncio\n"
        "class Deaf(Agent):\n"
        "    async def choose_move(self, request):\n"
        "        while True:\n"
        "            try:\n"
        "                await asyncio.sleep(600)\n"
        "            except asyncio.CancelledError:\n"
        "                pass\n"
    )("Deaf")
    asked = config(agents=2, agent=(spec, "random"), move_timeout=0.05)
    result = asyncio.run(play(asked, db=db_path))
    assert result.games[0].termination == "time"


def test_what_agents_say_is_recorded_in_a_form_that_can_be_stored(db_path, own_agents):
    spec = own_agents(
        "from agents.base import Attempt, Failure\n"
        "class Odd(Agent):\n"
        "    async def choose_move(self, request):\n"
        "        text = chr(0xd800) + chr(0) + 'x' * 100_000\n"
        "        return MoveReply(None, (Attempt(text, Failure.UNPARSABLE, chr(0xdfff)),), 'free')\n"
    )("Odd")
    asyncio.run(play(config(agents=2, agent=(spec, "random")), db=db_path))
    with Database.open(db_path, create=False) as database:
        game = game_detail(database, 1)
    assert game.detail == r"\udfff"
    assert game.open_attempts[0].text.startswith(r"\ud800\x00xxx")
    assert game.open_attempts[0].text.endswith("characters more)")
    assert len(game.open_attempts[0].text) < 66_000
