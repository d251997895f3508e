"""A judge among the players of one pool."""

import shlex

from agents.kind import AgentSpec
from agents.uci.agent import UciAgent
from agents.uci.judge import Judge
from agents.uci.pool import EnginePool
from agents.uci.settings import UciSettings


async def test_a_player_that_keeps_its_hash_has_nothing_left_of_what_the_judge_searched(script, request_for):
    scripted, pool = script("plays", "e2e4", "d2d4"), EnginePool(at_once=1)
    program, *arguments = scripted.command
    player = UciAgent("fish", scripted.command, ["chess"], UciSettings(nodes=9, keep_hash=True), pool)
    judge = Judge(AgentSpec("uci", "x", None, {"nodes": 9, "args": shlex.join(arguments)}, program), ["chess"], pool)
    await player.start()
    await judge.start()
    await player.choose_move(request_for())
    assert await judge.assess(request_for().position) == ("d2d4", 13)
    await player.choose_move(request_for())
    await player.close()
    await judge.close()
    assert len(scripted.pids()) == 1
    assert scripted.told().count("ucinewgame") == 3
