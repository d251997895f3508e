"""The agent: what it answers, how it fails, what it leaves behind."""

import asyncio

import pytest

from agents.base import AgentCrashed, Clock, Failure, UnusableAgentError
from agents.uci.agent import UciAgent
from agents.uci.pool import EnginePool
from agents.uci.settings import UciSettings

GAMES = {"chess": "chess", "janggi": "janggi"}  # spoken to by the library, and by our own client


def agent_of(script, game="chess", pool=None, **settings):
    return UciAgent("engine", script.command, [game], UciSettings(**settings), pool)


@pytest.mark.parametrize(("game", "move"), [("chess", "e2e4"), ("janggi", "a4b4")])
async def test_a_move_comes_with_its_times_and_the_version(game, move, script, request_for):
    agent = agent_of(script("plays", move), game, nodes=5)
    await agent.start()
    reply = await agent.choose_move(request_for(game=game))
    await agent.close()
    assert (reply.move, reply.policy, reply.failure) == (move, "engine", None)
    assert reply.accounting.decode_ms > 0
    assert agent.facts == {"version": "Scripted 1.0"}


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize(
    ("answer", "failure"), [("a1a5", Failure.ILLEGAL), ("a8a8", Failure.ILLEGAL), ("(none)", Failure.EMPTY)]
)
async def test_a_move_that_is_none_here_is_a_failure_of_its_kind(game, answer, failure, script, request_for):
    agent = agent_of(script("plays", answer), game)
    await agent.start()
    reply = await agent.choose_move(request_for(game=game))
    await agent.close()
    assert (reply.move, reply.failure) == (None, failure)
    assert answer in reply.attempts[-1].detail or failure is Failure.EMPTY


@pytest.mark.parametrize("game", GAMES)
async def test_an_engine_that_dies_is_a_crash_and_is_started_again(game, script, request_for):
    scripted = script("dies")
    agent = agent_of(scripted, game)
    await agent.start()
    for lives in (1, 2):
        with pytest.raises(AgentCrashed, match="status 7"):
            await agent.choose_move(request_for(game=game))
        assert len(scripted.pids()) == lives
    await agent.close()
    assert scripted.alive() == []


@pytest.mark.parametrize("game", GAMES)
async def test_an_engine_that_hangs_is_out_of_time_and_killed(game, script, request_for):
    scripted = script("hangs")
    agent = agent_of(scripted, game)
    await agent.start()
    reply = await agent.choose_move(request_for(game=game, deadline_s=0.1))
    assert (reply.failure, scripted.alive()) == (Failure.TIMEOUT, [])
    reply = await agent.choose_move(request_for(game=game, deadline_s=60, clock=Clock(1, 60_000, 0)))
    assert reply.failure is Failure.TIMEOUT  # by its clock, long before anybody gives up waiting
    await agent.close()
    assert scripted.alive() == []


@pytest.mark.parametrize("game", GAMES)
async def test_a_cancelled_question_ends_its_process_and_the_next_gets_an_answer(game, script, request_for):
    scripted = script("slow", "e2e4" if game == "chess" else "a4b4")
    agent = agent_of(scripted, game)
    await agent.start()
    question = asyncio.create_task(agent.choose_move(request_for(game=game)))
    while not any(line.startswith("go") for line in scripted.told()):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    question.cancel()
    with pytest.raises(asyncio.CancelledError):
        await question
    assert scripted.alive() == []
    assert (await agent.choose_move(request_for(game=game))).failure is None
    await agent.close()
    assert scripted.alive() == []


async def test_waiting_for_a_process_is_told_apart_from_thinking(script, request_for):
    agent = agent_of(script("slow"), pool=EnginePool(at_once=1))
    await agent.start()
    first, second = await asyncio.gather(*(agent.choose_move(request_for(game_id=game)) for game in (1, 2)))
    await agent.close()
    assert second.accounting.queue_ms > first.accounting.queue_ms + 250
    assert second.accounting.decode_ms > 250


async def test_an_engine_forgets_before_each_move_unless_it_keeps_its_hash(script, request_for):
    for keep_hash, forgotten in ((False, 3), (True, 2)):
        scripted = script("plays")
        scripted.log.unlink(missing_ok=True)
        agent = agent_of(scripted, keep_hash=keep_hash)
        await agent.start()
        for game_id in (1, 1, 2):
            await agent.choose_move(request_for(game_id=game_id))
        await agent.close()
        assert scripted.told().count("ucinewgame") == forgotten


async def test_a_program_that_is_no_engine_cannot_start(script):
    scripted = script("dead")
    agent = agent_of(scripted)
    with pytest.raises(UnusableAgentError, match="no network file"):
        await agent.start()
    await agent.close()
    assert scripted.alive() == []


@pytest.mark.parametrize("game", ["chess", "janggi"])
async def test_a_real_engine_answers_by_the_position_alone(game, fairy_stockfish, request_for):
    lines = {"chess": ["", "e2e4", "e2e4 e7e5"], "janggi": ["", "a4b4", "a4b4 a7b7"]}[game]
    agent = UciAgent("fish", [fairy_stockfish], [game], UciSettings(nodes=300), EnginePool(at_once=2))
    await agent.start()
    alone = [(await agent.choose_move(request_for(line, game=game))).move for line in lines]
    crowd = [request_for(line, game=game, game_id=number) for number in range(4) for line in reversed(lines)]
    together = [reply.move for reply in await asyncio.gather(*map(agent.choose_move, crowd))]
    await agent.close()
    assert together == list(reversed(alone)) * 4
    assert agent.facts["version"].startswith("Fairy-Stockfish")


async def test_stockfish_finds_mate(stockfish, request_for):
    agent = UciAgent("fish", [stockfish], ["chess"], UciSettings(depth=3, hash=1))
    await agent.start()
    reply = await agent.choose_move(request_for("f2f3 e7e5 g2g4"))
    await agent.close()
    assert reply.move == "d8h4"


async def test_stockfish_does_not_play_janggi(stockfish):
    agent = UciAgent("fish", [stockfish], ["janggi"])
    with pytest.raises(UnusableAgentError, match=r"Stockfish .* does not play janggi; Fairy-Stockfish does"):
        await agent.start()
    await agent.close()
