"""One game: how it goes on, how it ends, what it emits."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter

import pytest

import arena.turn
from agents.base import Accounting, Agent, Attempt, Failure, InfrastructureError, MoveReply, PlayerLeft
from agents.random import RandomAgent
from agents.scripted import CrashingAgent, DishonestAgent, FixedLineAgent, IllegalAgent, SilentAgent, SlowAgent
from agents.seeds import derive_seed
from arena.bus import EventBus
from arena.endings import FAULT_OF, Fault
from arena.errors import StoreError
from arena.events import AttemptFailed, DecisionRecord, GameEnded, GameStarted, MovePlayed
from arena.match import play_game
from arena.store.records import NewGame, StoredGame
from games import get_game
from inference.types import Decision, Option

FOOLS_MATE = "f2f3 e7e5 g2g4 d8h4"
STALEMATE = "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"


class Tape:
    """A recorder that keeps what it is given."""

    def __init__(self):
        self.events = []

    async def record(self, event):
        await asyncio.sleep(0)
        self.events.append(event)

    def offer(self, event):
        self.events.append(event)

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]


class Unspeakable(Exception):
    def __str__(self):
        raise ValueError("no words")


class Answers(Agent):
    """Gives the same reply, or raises the same error, every time."""

    name = "answers"

    def __init__(self, answer):
        self.answer = answer
        self.requests = []

    async def choose_move(self, request):
        self.requests.append(request)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class Stubborn(Agent):
    """Does not stop when it is cancelled."""

    name = "stubborn"

    async def choose_move(self, request):
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                if Stubborn.released.is_set():
                    raise


def stored(moves="", *, max_plies=200, replay=0, fen=None, seed=5):
    new = NewGame(0, "w", "b", "chess", seed, max_plies, "rules", start_fen=fen, replay=replay)
    return StoredGame(1, new, None, None, False, tuple(moves.split()))


async def play(game, white, black, *, tape=None, readers=(), timeout_s=10.0):
    tape = tape or Tape()
    bus = EventBus(tape, readers)
    ended = await play_game(game, {"w": white, "b": black}, bus, run_id=3, move_timeout_s=timeout_s)
    return ended, tape


async def test_a_game_is_told_from_its_start_to_its_end():
    line = FixedLineAgent(FOOLS_MATE)
    ended, tape = await play(stored(), line, line)
    assert (ended.result, ended.termination, ended.plies, ended.void) == ("0-1", "checkmate", 4, False)
    started, *moves, last = tape.events
    assert isinstance(started, GameStarted)
    assert (started.white, started.black, started.moves) == ("w", "b", ())
    assert [(move.ply, move.agent, move.side, move.san) for move in moves] == [
        (1, "w", "first", "f3"),
        (2, "b", "second", "e5"),
        (3, "w", "first", "g4"),
        (4, "b", "second", "Qh4#"),
    ]
    assert moves[-1].fen == get_game("chess").position(None, FOOLS_MATE.split()).fen
    assert last == ended


async def test_a_game_goes_on_from_its_last_durable_ply():
    line = FixedLineAgent(FOOLS_MATE)
    ended, tape = await play(stored("f2f3 e7e5"), line, line)
    assert (ended.result, ended.plies) == ("0-1", 4)
    assert tape.events[0].moves == ("f2f3", "e7e5")
    assert [move.ply for move in tape.of(MovePlayed)] == [3, 4]


async def test_a_resumed_game_is_the_game_that_was_not_interrupted():
    dice = RandomAgent()
    _, whole = await play(stored(max_plies=40), dice, dice)
    moves = [move.move for move in whole.of(MovePlayed)]
    _, rest = await play(stored(" ".join(moves[:17]), max_plies=40), dice, dice)
    assert [move.move for move in rest.of(MovePlayed)] == moves[17:]


async def test_the_ply_limit_counts_the_plies_before_an_interruption():
    ended, tape = await play(stored("e2e4 e7e5", max_plies=5), RandomAgent(), RandomAgent())
    assert (ended.result, ended.termination, ended.plies) == ("1/2-1/2", "ply-limit", 5)
    assert len(tape.of(MovePlayed)) == 3


async def test_the_rules_come_before_the_ply_limit():
    line = FixedLineAgent(FOOLS_MATE)
    ended, _ = await play(stored(max_plies=4), line, line)
    assert ended.termination == "checkmate"


async def test_a_position_where_the_game_is_over_ends_at_once():
    ended, tape = await play(stored(fen=STALEMATE), SilentAgent(), SilentAgent())
    assert (ended.result, ended.termination, ended.plies) == ("1/2-1/2", "stalemate", 0)
    assert len(tape.events) == 2


ENDINGS = {
    Failure.ILLEGAL: ("forfeit-illegal", "0-1", False),
    Failure.UNPARSABLE: ("forfeit-unparsable", "0-1", False),
    Failure.EMPTY: ("forfeit-empty", "0-1", False),
    Failure.TRUNCATED: ("forfeit-truncated", "0-1", False),
    Failure.TIMEOUT: ("time", "0-1", False),
    Failure.CRASH: ("crash", "*", True),
    Failure.CANCELLED: ("infrastructure", "*", True),
}


@pytest.mark.parametrize("failure", list(Failure))
async def test_every_failure_of_an_agent_has_its_ending(failure):
    reply = MoveReply(None, (Attempt("hm", Failure.EMPTY), Attempt("hm", failure, "because")), "retry:2")
    ended, tape = await play(stored(), Answers(reply), RandomAgent())
    assert (ended.termination, ended.result, ended.void) == ENDINGS[failure]
    assert ended.detail == "because"
    failed = tape.of(AttemptFailed)
    assert [(event.ply, event.agent, event.attempt.failure) for event in failed] == [
        (1, "w", "empty"),
        (1, "w", failure.value),
    ]


def test_every_failure_is_a_fault():
    assert set(FAULT_OF) == set(Failure)
    assert set(FAULT_OF.values()) == set(Fault)


async def test_the_opponent_of_a_forfeiting_black_wins():
    ended, _ = await play(stored(), RandomAgent(), IllegalAgent(tries=3))
    assert (ended.result, ended.termination, ended.plies) == ("1-0", "forfeit-illegal", 1)


async def test_an_illegal_move_is_noticed_whatever_the_agent_says():
    ended, tape = await play(stored(), DishonestAgent(), RandomAgent())
    assert (ended.result, ended.termination) == ("0-1", "forfeit-illegal")
    assert "'a1a1'" in ended.detail
    assert [event.attempt.failure for event in tape.of(AttemptFailed)] == ["illegal"]


@pytest.mark.parametrize(("replay", "result", "void"), [(0, "*", True), (1, "*", True), (2, "0-1", False)])
async def test_a_crash_is_void_until_the_replays_are_used_up(replay, result, void):
    ended, tape = await play(stored(replay=replay), CrashingAgent(plies=2), RandomAgent())
    assert (ended.termination, ended.result, ended.void, ended.plies) == ("crash", result, void, 2)
    assert "ZeroDivisionError" in ended.detail
    assert tape.of(AttemptFailed)[0].attempt.failure == "crash"


@pytest.mark.parametrize("replay", [0, 2])
async def test_what_the_agent_relies_on_is_nobodys_fault(replay):
    ended, tape = await play(stored(replay=replay), Answers(InfrastructureError("no engine")), RandomAgent())
    assert (ended.termination, ended.result, ended.void) == ("infrastructure", "*", True)
    assert ended.detail == "no engine"
    assert tape.of(AttemptFailed) == []


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "NoneType"),
        ("e2e4", "str"),
        (MoveReply(None, (), "free"), "neither a move nor a failure"),
        (MoveReply(None, (Attempt("e2e4"),), "free"), "neither a move nor a failure"),
        (MoveReply.of(5), "move is int"),
        (MoveReply("e2e4", (), "free", resigns=True), "move is 'e2e4' although it resigns"),
        (MoveReply(None, (), "free", resigns=1), "resigns is 1"),
        (MoveReply("e2e4", ("e2e4",), "free"), "attempts hold str"),
        (MoveReply("e2e4", None, "free"), "attempts are NoneType"),
        (MoveReply("e2e4", (Attempt(5),), "free"), "text is int"),
        (MoveReply("e2e4", (Attempt("x", seed=2**70),), "free"), "seed is"),
        (MoveReply("e2e4", (Attempt("x", accounting=Accounting(prompt_tokens=2**70)),), "free"), "prompt_tokens"),
        (MoveReply("e2e4", (Attempt("x", accounting=Accounting(queue_ms=float("nan"))),), "free"), "queue_ms"),
        (MoveReply("e2e4", (), "free", float("nan")), "probability is nan"),
        (MoveReply("e2e4", (), "free", decisions=("e2e4",)), "decisions hold str, not Decision"),
        (MoveReply("e2e4", (), "free", decisions=(Decision((), 0),)), "options are not a tuple of 1 to 20"),
        (MoveReply("e2e4", (), "free", decisions=(Decision((Option("e4", 2.0),), 0),)), "probability=2.0"),
        (MoveReply("e2e4", (), "free", decisions=(Decision((Option("e4", 1.0),), 1),)), "took option 1 of 1"),
        (MoveReply("e2e4", (), 5), "policy is int"),
        (KeyboardInterrupt(), "raised KeyboardInterrupt"),
        (Unspeakable(), "its message cannot be had"),
        (SystemExit(3), "exit with 3"),
        (asyncio.CancelledError(), "cancelled its own turn"),
        (RuntimeError("oops"), "RuntimeError: oops"),
    ],
)
async def test_an_agent_that_breaks_the_contract_has_crashed(answer, words):
    ended, _ = await play(stored(), Answers(answer), RandomAgent())
    assert (ended.termination, ended.void) == ("crash", True)
    assert words in ended.detail


async def test_who_resigns_loses():
    ended, tape = await play(stored("e2e4"), RandomAgent(), Answers(MoveReply.resignation()))
    assert (ended.termination, ended.result, ended.void, ended.plies) == ("resignation", "1-0", False, 1)
    assert tape.of(AttemptFailed) == []


async def test_a_person_who_leaves_stops_the_game_without_an_ending():
    tape = Tape()
    with pytest.raises(PlayerLeft):
        await play(stored(), Answers(PlayerLeft("Ada has left")), RandomAgent(), tape=tape)
    assert tape.of(GameEnded) == tape.of(AttemptFailed) == []


async def test_a_silent_agent_loses_on_time_and_is_cancelled():
    silent = SilentAgent()
    ended, tape = await play(stored(), silent, RandomAgent(), timeout_s=0.05)
    assert (ended.termination, ended.result, ended.void) == ("time", "0-1", False)
    assert (silent.waiting, silent.cancelled) == (0, 1)
    assert [event.attempt.failure for event in tape.of(AttemptFailed)] == ["timeout"]


async def test_a_slow_agent_within_its_time_loses_nothing():
    ended, _ = await play(stored(max_plies=2), SlowAgent(0.05), SlowAgent(0.05), timeout_s=60)
    assert ended.termination == "ply-limit"


async def test_an_agent_that_will_not_be_cancelled_does_not_hang_the_game(monkeypatch, caplog):
    monkeypatch.setattr(arena.turn, "CANCEL_GRACE_S", 0.05)
    Stubborn.released = asyncio.Event()
    ended, _ = await play(stored(), Stubborn(), RandomAgent(), timeout_s=0.05)
    assert ended.termination == "time"
    assert "w in game 1 does not stop" in caplog.text
    Stubborn.released.set()
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()


async def test_an_interrupted_game_has_no_ending_and_leaves_no_call_behind():
    silent, tape = SilentAgent(), Tape()
    game = asyncio.create_task(play(stored(), RandomAgent(), silent, tape=tape))
    while not silent.waiting:  # noqa: ASYNC110
        await asyncio.sleep(0)
    game.cancel()
    with pytest.raises(asyncio.CancelledError):
        await game
    assert (silent.waiting, silent.cancelled) == (0, 1)
    assert len(tape.of(MovePlayed)) == 1
    assert tape.of(GameEnded) == []


async def test_a_ply_is_asked_for_only_when_the_one_before_is_durable():
    class SlowTape(Tape):
        def __init__(self):
            super().__init__()
            self.gate = asyncio.Semaphore(0)

        async def record(self, event):
            await self.gate.acquire()
            await super().record(event)

    black, tape = Answers(MoveReply.of("e7e5")), SlowTape()
    game = asyncio.create_task(play(stored(max_plies=2), FixedLineAgent("e2e4"), black, tape=tape))
    tape.gate.release()  # lets GameStarted through, not the first move
    for _ in range(50):
        await asyncio.sleep(0)
    assert black.requests == []
    for _ in range(3):
        tape.gate.release()
    await game
    assert len(black.requests) == 1


async def test_a_record_that_cannot_be_written_stops_the_game():
    class FullDisk(Tape):
        async def record(self, event):
            if isinstance(event, MovePlayed):
                raise StoreError("the disk is full")

    with pytest.raises(StoreError, match="disk is full"):
        await play(stored(), RandomAgent(), RandomAgent(), tape=FullDisk())


async def test_a_reader_that_fails_is_logged_once_and_touches_nobody(caplog):
    class Broken:
        def __init__(self):
            self.calls = Counter()

        def begin(self, run):
            raise AssertionError

        def read(self, event):
            self.calls[type(event)] += 1
            raise RuntimeError("cannot draw")

    class Quiet:
        def __init__(self):
            self.seen = []

        def begin(self, run):
            raise AssertionError

        def read(self, event):
            self.seen.append(event)

    broken, quiet = Broken(), Quiet()
    with caplog.at_level(logging.ERROR):
        ended, tape = await play(stored(max_plies=6), RandomAgent(), RandomAgent(), readers=(broken, quiet))
    assert ended.plies == 6
    assert broken.calls[MovePlayed] == 6
    assert quiet.seen == tape.events
    assert [record.message.split()[0] for record in caplog.records] == ["Broken"]


async def test_each_ply_has_a_seed_from_the_game_and_the_time_it_may_take():
    agent = Answers(MoveReply(None, (Attempt("", Failure.EMPTY),), "free"))
    await play(stored("e2e4 e7e5", seed=77), agent, RandomAgent(), timeout_s=9)
    (request,) = agent.requests
    assert (request.ply, request.seed, request.deadline_s, request.game_id) == (3, derive_seed(77, 3), 9, 1)


async def test_a_move_tells_what_it_cost_and_every_attempt():
    cost = Accounting(
        prompt_tokens=100, cached_tokens=90, queue_ms=1, prefill_ms=2, decode_ms=3, ttft_ms=2.5, batch_size=4
    )
    attempts = (
        Attempt("Ke5", Failure.ILLEGAL, "no", seed=1, accounting=cost),
        Attempt("e4", seed=2, accounting=cost),
    )
    decisions = (Decision((Option("e2…", 0.123456), Option("d2…", 0.1)), 0),)
    reply = MoveReply("e2e4", attempts, "retry:3", probability=0.25, decisions=decisions)
    _, tape = await play(stored(max_plies=1), Answers(reply), RandomAgent())
    (move,) = tape.of(MovePlayed)
    assert (move.policy, move.probability, move.batch_size, move.ttft_ms) == ("retry:3", 0.25, 4, 2.5)
    assert move.decisions == (DecisionRecord(options=(("e2…", 0.123), ("d2…", 0.1)), taken=0),)
    assert (move.prompt_tokens, move.cached_tokens, move.queue_ms, move.decode_ms) == (200, 180, 2, 6)
    assert [(tried.text, tried.failure, tried.seed, tried.total_ms) for tried in move.attempts] == [
        ("Ke5", "illegal", 1, 6),
        ("e4", None, 2, 6),
    ]
    assert move.total_ms > 0
    assert tape.of(AttemptFailed) == []
