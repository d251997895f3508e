"""What a spec of a UCI engine says, and what the engine is told."""

import pytest

from agents.base import Clock
from agents.kind import AgentSpecError
from agents.registry import settings_in_force
from agents.spec import parse_spec
from agents.uci.process import SearchLimits
from agents.uci.settings import DEFAULT_NODES, UciSettings


def test_limits_are_those_given():
    assert UciSettings(nodes=200, depth=3).limits(None) == SearchLimits(nodes=200, depth=3)
    assert UciSettings(movetime=50).limits(None) == SearchLimits(movetime=50)


def test_without_limit_or_clock_the_search_is_short():
    assert UciSettings().limits(None) == SearchLimits(nodes=DEFAULT_NODES)


def test_an_engine_sees_both_clocks_and_keeps_its_own_limits():
    clock = Clock(first_ms=59_999.6, second_ms=-3, increment_ms=1000)
    assert UciSettings().limits(clock) == SearchLimits(wtime=60_000, btime=1, winc=1000, binc=1000)
    assert UciSettings(depth=2).limits(clock).depth == 2


def test_strength_and_size_become_the_engines_options():
    assert UciSettings(skill=3, hash=32, threads=2).engine_options() == (
        ("Threads", "2"),
        ("Hash", "32"),
        ("Skill Level", "3"),
    )
    assert UciSettings(elo=1400, options={"Contempt": "0"}).engine_options() == (
        ("UCI_LimitStrength", "true"),
        ("UCI_Elo", "1400"),
        ("Contempt", "0"),
    )


@pytest.mark.parametrize(
    ("settings", "repeatable"),
    [
        ({"nodes": 100}, True),
        ({"depth": 4, "hash": 8}, True),
        ({}, True),
        ({"movetime": 10}, False),
        ({"threads": 2}, False),
        ({"skill": 0}, False),
        ({"elo": 1400}, False),
        ({"keep_hash": True}, False),
        ({"options": {"Skill Level": "1"}}, False),
    ],
)
def test_what_repeats_its_moves_says_so(settings, repeatable):
    assert UciSettings(**settings).in_force()["repeatable"] is repeatable


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"nodes": 0}, "nodes must be at least 1, not 0"),
        ({"threads": -1}, "threads must be at least 1"),
        ({"skill": 1, "elo": 1400}, "two ways"),
        ({"hash": 8, "options": {"HASH": "9"}}, "'hash' is set twice"),
        ({"options": {"Log": "a\nquit"}}, "printable"),
    ],
)
def test_settings_that_cannot_be_are_named(settings, words):
    with pytest.raises(ValueError, match=words):
        UciSettings(**settings)


def test_a_spec_is_recorded_whole():
    spec = parse_spec("uci:stockfish?skill=0&nodes=200&option.Move%20Overhead=5&args=--quiet")
    assert settings_in_force(spec, {"temperature": 1.0}) == {
        "engine": "stockfish",
        "args": "--quiet",
        "nodes": 200,
        "skill": 0,
        "threads": 1,
        "keep_hash": False,
        "options": {"Move Overhead": "5"},
        "repeatable": False,
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("uci", "needs a program"),
        ("uci:stockfish?skil=0", "did you mean skill"),
        ("uci:stockfish?nodes=many", "nodes: 'many' is not a whole number"),
        ("uci:stockfish?option.=3", "option.NAME"),
    ],
)
def test_a_faulty_spec_names_its_fault(text, words):
    with pytest.raises(AgentSpecError, match=words):
        parse_spec(text)
