"""Agents without a model: random and scripted."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from agents.base import AgentCrashed, Failure, MoveReply
from agents.random import RandomAgent
from agents.scripted import (
    CrashingAgent,
    DishonestAgent,
    FixedLineAgent,
    IllegalAgent,
    SilentAgent,
    SlowAgent,
)


async def test_random_moves_are_legal_and_depend_on_the_seed_alone(ask) -> None:
    agent = RandomAgent("Dice")
    replies = [await agent.choose_move(ask("e2e4", seed=seed)) for seed in range(30)]
    again = [await RandomAgent("Other").choose_move(ask("e2e4", seed=seed)) for seed in range(30)]
    assert [reply.move for reply in replies] == [reply.move for reply in again]
    assert {reply.move for reply in replies} <= set(ask("e2e4").position.legal_moves())
    assert {(reply.policy, reply.failure) for reply in replies} == {("constrained", None)}


async def test_random_moves_are_uniform(ask) -> None:
    agent = RandomAgent()
    counts = Counter([(await agent.choose_move(ask(seed=seed))).move for seed in range(4000)])
    assert len(counts) == 20
    expected = 4000 / 20
    chi_square = sum((count - expected) ** 2 / expected for count in counts.values())
    assert chi_square < 45  # 19 degrees of freedom: exceeded once in a thousand, and the seeds are fixed


async def test_fixed_line_plays_its_plies_and_crashes_where_it_ends(ask) -> None:
    agent = FixedLineAgent("e2e4 e7e5 g1f3")
    assert (await agent.choose_move(ask())).move == "e2e4"
    assert (await agent.choose_move(ask("e2e4", "e7e5"))).move == "g1f3"
    with pytest.raises(AgentCrashed, match="the line has 3 plies"):
        await agent.choose_move(ask("e2e4", "e7e5", "g1f3"))


async def test_illegal_agent_fails_every_try(ask) -> None:
    reply = await IllegalAgent(tries=3).choose_move(ask())
    assert (reply.move, reply.failure, reply.policy) == (None, Failure.ILLEGAL, "retry:3")
    assert [attempt.text for attempt in reply.attempts] == ["a1a1"] * 3


async def test_dishonest_agent_claims_a_move_that_is_not_legal(ask) -> None:
    request = ask()
    reply = await DishonestAgent().choose_move(request)
    assert reply.failure is None
    assert reply.move not in request.position.legal_moves()


async def test_slow_agent_answers_after_its_delay_and_not_before(ask) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(SlowAgent(delay_s=600).choose_move(ask()), timeout=0.01)
    assert (await SlowAgent(delay_s=0.01).choose_move(ask())).move in ask().position.legal_moves()


async def test_crashing_agent_plays_until_its_ply(ask) -> None:
    agent = CrashingAgent(plies=2)
    assert (await agent.choose_move(ask("e2e4"))).move is not None
    with pytest.raises(ZeroDivisionError, match="crashing crashes"):
        await agent.choose_move(ask("e2e4", "e7e5"))


async def test_silent_agent_knows_that_it_was_given_up(ask) -> None:
    agent = SilentAgent()
    calls = [asyncio.create_task(agent.choose_move(ask())) for _ in range(3)]
    await asyncio.sleep(0)
    assert (agent.waiting, agent.cancelled) == (3, 0)
    calls[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await calls[0]
    assert (agent.waiting, agent.cancelled) == (2, 1)
    for call in calls[1:]:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    assert (agent.waiting, agent.cancelled) == (0, 3)


def test_a_reply_that_is_just_a_move_has_one_attempt_without_cost() -> None:
    reply = MoveReply.of("e2e4")
    assert (reply.move, reply.policy, reply.failure) == ("e2e4", "custom", None)
    assert [attempt.text for attempt in reply.attempts] == ["e2e4"]
    assert reply.accounting.prompt_tokens == 0
