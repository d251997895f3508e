"""Tournaments played for real, by agents that answer the same each time: ends, interruptions, what is recorded."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.seeds import derive_seed
from arena.errors import UsageError
from arena.events import GameEnded, MovePlayed
from arena.report.collect import collect
from arena.report.markdown import to_markdown
from arena.store.database import Database
from arena.store.models import GameRow
from arena.store.queries import game_detail
from arena.store.records import OPENING
from arena.store.runs import create_run, load_run
from arena.store.stages import last_tries
from arena.tournament.lineup import TournamentLineup
from arena.tournament.plan import make_plan
from arena.tournament.record import plan_from
from arena.tournament.runner import play_tournament, resume_tournament, run_to_continue, stages
from arena.tournament.spec import parse_tournament
from arena.tournament.standings import standings

ROOT = Path(__file__).parents[3]
SCRIPTED = "python:agents.scripted:"
BASE = {"name": "test", "format": "round-robin", "max_plies": 14, "concurrency": 4, "seed": 3}


def plan_of(*players, **changes):
    agents = [{"name": name, "spec": spec} for name, spec in players] or [
        {"name": name, "spec": "random"} for name in "abcd"
    ]
    return make_plan(parse_tournament(yaml.safe_dump(BASE | {"agents": agents} | changes), Path()))


def recorded(db_path, run=1):
    with Database.open(db_path, create=False) as database:
        return load_run(database, run)


def table_of(db_path, run=None):
    with Database.open(db_path, create=False) as database:
        return standings(database, run)


def games_of(run):
    """What a tournament comes to: each try of each game with its moves and its end."""
    return {
        (game.new.index, game.new.replay): (game.new.white, game.new.black, game.result, game.termination, game.moves)
        for game in run.games
    }


class Interrupt:
    """A reader that sends SIGINT at each of the numbered events of its kind."""

    def __init__(self, kind, *numbers):
        self.kind, self.numbers, self.seen = kind, numbers, 0

    def begin(self, run):
        self.run = run

    def read(self, event):
        if isinstance(event, self.kind):
            self.seen += 1
            if self.seen in self.numbers:
                os.kill(os.getpid(), signal.SIGINT)


async def test_pairs_are_played_from_the_same_opening_with_colours_swapped(db_path):
    plan = plan_of()
    result = await play_tournament(plan, db=db_path)
    assert result.status == "finished"
    run = recorded(db_path)
    assert len(run.games) == plan.format.most_games() == 12
    assert plan_from(run.new.config) == plan
    for one, other in zip(run.games[::2], run.games[1::2], strict=True):
        assert (one.new.white, one.new.black) == (other.new.black, other.new.white)
        assert one.new.pair == other.new.pair
        opening = plan.openings[plan.schedule({}).games[one.new.index].opening]
        assert one.new.opening == other.new.opening == opening.name
        assert one.moves[: len(opening.moves)] == other.moves[: len(opening.moves)] == opening.moves
        assert one.moves != other.moves


async def test_moves_of_the_opening_are_told_apart_and_cost_nothing(db_path):
    plan = plan_of(max_plies=10)
    await play_tournament(plan, db=db_path)
    with Database.open(db_path, create=False) as database:
        game = game_detail(database, 1)
    plies = len(plan.openings[plan.schedule({}).games[0].opening].moves)
    assert 0 < plies < 10
    assert [move.policy for move in game.moves] == [OPENING] * plies + ["constrained"] * (10 - plies)
    assert all(not move.attempts and move.total_ms == 0 for move in game.moves[:plies])
    assert all(len(move.attempts) == 1 for move in game.moves[plies:])


@pytest.mark.parametrize(
    ("changes", "games"),
    [({"format": "swiss", "rounds": 2}, 8), ({"format": "knockout"}, None), ({"format": "gauntlet"}, 6)],
    ids=lambda value: value["format"] if isinstance(value, dict) else "",
)
async def test_formats_whose_schedule_follows_from_results_are_played_to_their_end(db_path, changes, games):
    plan = plan_of(**changes)
    result = await play_tournament(plan, db=db_path)
    table = table_of(db_path)
    assert (result.status, table.status) == ("finished", "finished")
    assert games is None or table.games == games
    if changes["format"] == "knockout":
        assert table.note == f"{table.table[0].player} has won."


async def test_one_that_crashes_one_that_hangs_and_one_that_is_illegal_leave_the_other_games_alone(db_path):
    plan = plan_of(
        ("a", "random"),
        ("b", "random"),
        ("crash", f"{SCRIPTED}CrashingAgent"),
        ("hang", f"{SCRIPTED}SilentAgent"),
        ("illegal", f"{SCRIPTED}IllegalAgent"),
        move_timeout=0.5,
        openings="start",
    )
    result = await play_tournament(plan, db=db_path)
    assert result.status == "finished"
    table = {line.player: line for line in table_of(db_path).table}
    assert all(line.tally.games == 8 and not line.unfinished for line in table.values())
    # Whoever is first to be asked loses: against each other, each of the three loses one game of two.
    assert table["crash"].forfeits == {"crash": 6}
    assert table["hang"].forfeits == {"time": 6}
    assert table["illegal"].forfeits == {"forfeit-illegal": 6}
    assert table["a"].forfeits == {}
    assert (table["a"].tally.wins, table["a"].tally.given, table["a"].tally.draws) == (6, 6, 2)
    assert table["crash"].void == 12  # each of its crashes was played twice more
    assert table["crash"].elo_on_board.value is None
    with Database.open(db_path, create=False) as database:
        told = to_markdown(collect(database, result.run_id))
    assert "18 forfeits, 12 repeats, 12 void, 0 unfinished" in told
    assert all(f"| {ending} | 2 | 0 | 4 |" in told for ending in ("crash", "forfeit-illegal", "time"))


async def test_ctrl_c_drains_and_the_same_spec_goes_on_to_the_games_of_an_uninterrupted_run(db_path, tmp_path):
    plan = plan_of()
    result = await play_tournament(plan, db=db_path, readers=(Interrupt(GameEnded, 3),))
    assert result.status == "interrupted"
    assert 3 <= table_of(db_path).games < 12
    with Database.open(db_path, create=True) as database:
        assert run_to_continue(database, plan_of(concurrency=1)) == result.run_id
        assert run_to_continue(database, plan_of(seed=4)) is None
    resumed = await resume_tournament(db=db_path)
    assert (resumed.run_id, resumed.status) == (result.run_id, "finished")
    with (
        Database.open(db_path, create=True) as database,
        pytest.raises(UsageError, match=r"finished as run 1.*--new plays another"),
    ):
        run_to_continue(database, plan)
    await play_tournament(plan, db=tmp_path / "whole.db")
    assert games_of(recorded(db_path)) == games_of(recorded(tmp_path / "whole.db"))


async def test_the_second_ctrl_c_stops_at_once(db_path):
    silent = [(name, f"{SCRIPTED}SilentAgent") for name in "abc"]
    opening_plies = Interrupt(MovePlayed, 8, 9)
    result = await play_tournament(plan_of(*silent, concurrency=2), db=db_path, readers=(opening_plies,))
    assert result.status == "interrupted"
    assert all(game.result is None for game in recorded(db_path).games)


NURSERY = """
import asyncio, faulthandler, os, sys, time
from pathlib import Path
from arena.events import MovePlayed
from arena.tournament.plan import make_plan
from arena.tournament.runner import play_tournament, resume_tournament
from arena.tournament.spec import parse_tournament

def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())  # in one piece: a kill must not tear a line

class Tell:
    def __init__(self, most):
        self.left = most
    def begin(self, run): pass
    def read(self, event):
        if isinstance(event, MovePlayed):
            if self.left == 0:
                time.sleep(600)  # until it is killed
            self.left -= 1
            say(event.game_id, event.ply, event.move)

def play(db, most):
    if Path(db).exists():
        asyncio.run(resume_tournament(db=db, readers=(Tell(most),)))
    else:
        plan = make_plan(parse_tournament(Path(sys.argv[1]).read_text(), Path()))
        asyncio.run(play_tournament(plan, db=db, readers=(Tell(most),)))

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(250, exit=True)
        say("child", os.getpid())
        most, _, db = line.strip().partition(" ")
        play(db, int(most))
        os._exit(0)
    say("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
"""Forks a process for each database that it is told: the modules are loaded once, and no thread is ever started here.
A child that hangs shows where, and ends."""


class Nursery:
    """Plays a tournament in processes that are killed."""

    def __init__(self, process):
        self._process = process

    def play(self, db_path, kill_after=None):
        """The plies that a child said were played, as (game, ply, move), until it ended, or was killed after so
        many."""
        most = -1 if kill_after is None else kill_after + 3  # however late the kill comes
        self._process.stdin.write(f"{most} {db_path}\n")
        self._process.stdin.flush()
        said = []
        child = 0
        for line in self._process.stdout:
            match line.split():
                case ["child", number]:
                    child = int(number)
                case ["ended", status]:
                    assert int(status) == (0 if kill_after is None else -signal.SIGKILL)
                    return said
                case [game, ply, move]:
                    said.append((int(game), int(ply), move))
                    if len(said) == kill_after:
                        os.kill(child, signal.SIGKILL)
        raise AssertionError("the nursery has ended")


@pytest.fixture
def nursery(tmp_path):
    """A function that gives a Nursery for the tournament of a spec."""
    started = []

    def start(spec):
        path = tmp_path / "spec.yaml"
        path.write_text(yaml.safe_dump(spec))
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", NURSERY, str(path)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        started.append(process)
        return Nursery(process)

    yield start
    for process in started:
        process.stdin.close()
        process.stdout.close()
        process.wait()


def test_forty_games_killed_at_twenty_moments_end_as_if_nothing_had_happened(db_path, tmp_path, nursery):
    agents = [{"name": f"p{number}", "spec": "random"} for number in range(10)]
    children = nursery(BASE | {"format": "swiss", "rounds": 4, "agents": agents})
    children.play(tmp_path / "whole.db")
    whole = recorded(tmp_path / "whole.db")
    plies = sum(len(game.moves) for game in whole.games)
    draw = random.Random(7)
    for _ in range(20):
        said = children.play(db_path, kill_after=draw.randint(1, plies // 20))
        run = recorded(db_path)
        assert run.status == "running"
        moves = {game.game_id: game.moves for game in run.games}
        assert all(moves[game][ply - 1] == move for game, ply, move in said)
    children.play(db_path)
    assert len(whole.games) == 40
    assert games_of(recorded(db_path)) == games_of(whole)
    ended, uninterrupted = table_of(db_path), table_of(tmp_path / "whole.db")
    assert (ended.status, ended.table) == ("finished", uninterrupted.table)


FORMATS = st.sampled_from(
    [
        {"format": "round-robin"},
        {"format": "double-round-robin", "games_per_pair": 1},
        {"format": "gauntlet", "challengers": 2},
        {"format": "swiss", "rounds": 2},
        {"format": "knockout", "tiebreak_pairs": 1},
    ]
)


@pytest.fixture(scope="module")
def shared_database(tmp_path_factory):
    with Database.open(tmp_path_factory.mktemp("stages") / "arena.db", create=True) as database:
        yield database


@settings(max_examples=12, deadline=None)
@given(changes=FORMATS, count=st.integers(3, 6), seed=st.integers(0, 2**32))
def test_a_schedule_that_is_interrupted_anywhere_becomes_that_of_an_uninterrupted_run(
    shared_database, changes, count, seed
):
    """The record and the stages as a run uses them, with results that follow from the place in the schedule."""
    plan = plan_of(*((f"p{number}", "random") for number in range(count)), **changes)
    draw = random.Random(seed)
    whole = asyncio.run(_played(plan, shared_database, seed, lambda: False))
    broken = asyncio.run(_played(plan, shared_database, seed, lambda: draw.random() < 0.1))
    assert broken == whole
    assert len(whole) <= plan.format.most_games()


async def _played(plan, database, seed, interrupted):
    """The games of `plan` with their results, by their place in the schedule, begun again from the record whenever
    `interrupted` says so."""
    run = create_run(database, TournamentLineup(plan).new_run())
    complete = False
    while not complete:
        complete = True
        async for batch in stages(plan, database, run.run_id):
            for game_id in batch:
                if interrupted():
                    complete = False
                    break
                _end(database, run.run_id, game_id, seed)
            if not complete:
                break
    games = load_run(database, run.run_id).games
    assert len(last_tries(database, run.run_id)) == len(games)
    return {game.new: game.result for game in games}


def _end(database, run_id, game_id, seed):
    """Puts a result into the record, without the moves."""
    with database.writing() as session:
        row = session.get(GameRow, game_id)
        assert row.run_id == run_id
        assert row.result is None, "a game was played twice"
        row.result = ("1-0", "1/2-1/2", "0-1")[derive_seed(seed, row.schedule_index) % 3]
        row.status, row.termination = "finished", "checkmate"
