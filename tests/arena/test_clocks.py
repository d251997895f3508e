"""What a move is charged, when a flag falls, and that a resumed game has the clocks it stopped with."""

import asyncio
import time
from types import SimpleNamespace

import pytest

from agents.base import FLAG_MARGIN_MS, Accounting, Agent, Attempt, MoveReply
from agents.random import random_move
from agents.scripted import SilentAgent
from arena.bus import EventBus
from arena.clocks import QUEUE_PATIENCE_S, TimeControl
from arena.config import build_config
from arena.events import AttemptFailed, MovePlayed
from arena.match import play_game
from arena.store.records import NewGame, StoredGame


@pytest.mark.parametrize(
    ("text", "base_ms", "increment_ms"), [("60+1", 60_000, 1000), ("300", 300_000, 0), ("0.5+0.05", 500, 50)]
)
def test_a_time_control_is_read_and_written(text, base_ms, increment_ms):
    control = TimeControl.parse(text)
    assert (control.base_ms, control.increment_ms, str(control)) == (base_ms, increment_ms, text)


@pytest.mark.parametrize("text", ["", "0", "0+1", "1:30", "40/60", "-5", "60+", "60 + 1", "nan", "1e3", "60+1+1"])
def test_what_is_no_time_control_is_refused(text):
    with pytest.raises(ValueError, match=r"such as 60\+1"):
        TimeControl.parse(text)


def test_a_clock_loses_what_is_charged_and_gains_the_increment():
    control = TimeControl.parse("10+2")
    assert control.after_move(10_000, 3_000) == 9_000
    assert control.after_move(1_000, 1_000 + FLAG_MARGIN_MS) == 2_000  # never below zero
    assert control.after_move(1_000, 1_001 + FLAG_MARGIN_MS) is None


def test_queueing_is_charged_only_by_the_wall():
    assert TimeControl.parse("10", "compute").charged_ms(total_ms=900, queue_ms=700) == 200
    assert TimeControl.parse("10", "wall").charged_ms(total_ms=900, queue_ms=700) == 900


def test_who_may_be_queueing_is_waited_for_longer():
    control = TimeControl.parse("10")
    assert control.patience_s(5_000, queues=False) == 5 + FLAG_MARGIN_MS / 1000
    assert control.patience_s(5_000, queues=True) == 5 + FLAG_MARGIN_MS / 1000 + QUEUE_PATIENCE_S
    assert TimeControl.parse("10", "wall").patience_s(5_000, queues=True) == 5 + FLAG_MARGIN_MS / 1000


def test_a_move_has_a_limit_of_its_own_only_without_clocks_or_if_asked_for():
    assert build_config({}).move_timeout == 60
    assert build_config({"time_control": "60+1"}).move_timeout is None
    assert build_config({"time_control": "60+1", "move_timeout": 5}).move_timeout == 5


class Tape:
    def __init__(self):
        self.events = []

    async def record(self, event):
        self.events.append(event)

    def offer(self, event):
        self.events.append(event)

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture(autouse=True)
def stopwatch(monkeypatch):
    """What measures a turn: only a Thinker who ponders makes it go on."""
    monkeypatch.setattr(Thinker, "now_s", 0.0)
    monkeypatch.setattr("arena.turn.time", SimpleNamespace(perf_counter=lambda: Thinker.now_s))


class Thinker(Agent):
    """Plays at random after a while, part of which it says it stood in a queue. Keeps the clocks it saw."""

    now_s = 0.0

    name = "thinker"

    def __init__(self, wall_s=0.0, queue_s=0.0, *, person=False):
        self.wall_s, self.queue_s = wall_s, queue_s
        self.queues, self.is_person = queue_s > 0, person
        self.seen = []

    async def choose_move(self, request):
        self.seen.append(request.clock)
        Thinker.now_s += self.wall_s
        move = random_move(request)
        return MoveReply(move, (Attempt(move, accounting=Accounting(queue_ms=self.queue_s * 1000)),), "test")


async def play(white, black, control, *, plies=2, moves="", clock_ms=None, charge="compute", move_timeout_s=None):
    tape = Tape()
    new = NewGame(0, "w", "b", "chess", 5, plies, "rules")
    game = StoredGame(1, new, None, None, False, tuple(moves.split()), clock_ms or {})
    agents = {"w": white, "b": black}
    ended = await play_game(
        game,
        agents,
        EventBus(tape),
        run_id=1,
        move_timeout_s=move_timeout_s,
        time_control=TimeControl.parse(control, charge),
    )
    return ended, tape


async def test_every_move_is_stored_with_what_is_left_and_the_agents_see_both_clocks():
    white, black = Thinker(0.05), Thinker()
    _, tape = await play(white, black, "10+1", plies=4)
    assert [move.total_ms for move in tape.of(MovePlayed)] == pytest.approx([50, 0, 50, 0])
    left = [move.clock_ms for move in tape.of(MovePlayed)]
    assert left == pytest.approx([10_950, 11_000, 11_900, 12_000])
    assert [(clock.first_ms, clock.second_ms, clock.increment_ms) for clock in black.seen] == [
        (left[0], 10_000, 1000),
        (left[2], left[1], 1000),
    ]


async def test_queueing_does_not_run_the_clock_down():
    ended, tape = await play(Thinker(0.5, queue_s=0.49), Thinker(), "0.1")
    assert ended.termination == "ply-limit"
    assert tape.of(MovePlayed)[0].clock_ms == pytest.approx(90)
    ended, tape = await play(Thinker(0.5, queue_s=0.49), Thinker(), "0.1", charge="wall")
    assert (ended.termination, ended.result) == ("time", "0-1")


async def test_a_move_that_comes_after_the_flag_loses_on_time_and_is_never_illegal():
    ended, tape = await play(Thinker(0.5, queue_s=0.01), Thinker(), "0.1")
    assert (ended.termination, ended.result, ended.plies) == ("time", "0-1", 0)
    assert "w took 0.5 s for" in ended.detail
    assert [event.attempt.failure for event in tape.of(AttemptFailed)] == ["timeout"]


async def test_an_agent_that_says_nothing_loses_when_its_flag_falls():
    ended, _ = await play(Thinker(), SilentAgent(), "0.05")
    assert (ended.termination, ended.result, ended.plies) == ("time", "1-0", 1)


async def test_an_event_loop_that_is_blocked_for_a_moment_costs_nobody_the_game(monkeypatch):
    monkeypatch.setattr("arena.clocks.FLAG_MARGIN_MS", 5000.0)

    class Careless(Thinker):
        async def choose_move(self, request):
            time.sleep(0.15)  # noqa: ASYNC251
            return await super().choose_move(request)

    ended, tape = await play(Careless(0.15), Thinker(), "0.1")
    assert ended.termination == "ply-limit"
    assert tape.of(MovePlayed)[0].clock_ms == 0


async def test_clocks_go_on_from_the_last_durable_plies():
    black = Thinker()
    await play(Thinker(), black, "10+1", moves="e2e4 e7e5 g1f3", plies=4, clock_ms={"first": 4_000, "second": 250})
    assert [(clock.first_ms, clock.second_ms) for clock in black.seen] == [(4_000, 250)]


async def test_a_limit_for_each_move_counts_beside_a_clock():
    ended, _ = await play(SilentAgent(), Thinker(), "60", move_timeout_s=0.05)
    assert ended.termination == "time"


async def test_a_person_has_all_the_time_of_the_clock_for_one_move():
    class Person(Thinker):
        async def choose_move(self, request):
            await asyncio.sleep(0.3)
            return await super().choose_move(request)

    ended, _ = await play(Person(person=True), Thinker(), "60", move_timeout_s=0.05)
    assert ended.termination == "ply-limit"
