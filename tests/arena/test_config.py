"""The run's configuration: defaults, precedence, errors, the way into the record and back."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from arena.config import (
    RunConfig,
    build_config,
    config_file,
    contradictions,
    option_name,
    read_config_file,
    stored_config,
)
from arena.errors import UsageError


@pytest.fixture
def user_file(tmp_path):
    def write(text):
        path = tmp_path / "config.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_counts_left_out_follow_from_the_agents():
    config = RunConfig(agents=16)
    assert (config.games, config.concurrency) == (8, 8)


def test_the_number_of_specs_is_the_number_of_agents():
    assert RunConfig(agent=("random", "llm", "llm", "random")).agents == 4


def test_without_anything_two_agents_play_one_game():
    config = RunConfig()
    assert (config.agent, config.agents, config.games, config.concurrency) == (("llm",), 2, 1, 1)


def test_a_count_that_is_given_stays():
    config = RunConfig(agents=16, games=3, concurrency=2)
    assert (config.games, config.concurrency) == (3, 2)


def test_seeds_left_out_are_drawn_anew():
    assert len({RunConfig().seed for _ in range(5)}) > 1


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"agents": 3}, ["--agents", "3", "even", "2 or 4"]),
        ({"agents": 0}, ["--agents", "0", "2"]),
        ({"agent": ["random", "llm", "llm"]}, ["--agents", "3", "even"]),
        ({"agents": 2, "agent": ["llm"] * 4}, ["4 agent specs", "2 agents"]),
        ({"games": 0}, ["--games", "0"]),
        ({"concurrency": -1}, ["--concurrency", "-1"]),
        ({"max_plies": 0}, ["--max-plies 0", "at least 1"]),
        ({"max_plies": 10**20}, ["--max-plies 1000", "at most"]),
        ({"agents": 10**8}, ["--agents 100000000", "at most"]),
        ({"games": 10**21}, ["--games 1000", "at most"]),
        ({"seed": 2**63}, ["--seed 9223372036854775808", "less than"]),
        ({"legality": "strict"}, ["--legality strict: must be constrained", "retry:N"]),
        ({"engine": {"model": ""}}, ["--model ''", "not be empty"]),
        ({"seed": -5}, ["--seed", "-5"]),
        ({"fen": "x", "opening": "y"}, ["--fen or --opening", "not both"]),
        ({"game": "mixed", "opening": "y"}, ["--opening goes with one game"]),
        ({"temperature": -0.5}, ["--temperature", "-0.5"]),
        ({"temperature": float("nan")}, ["--temperature", "nan"]),
        ({"move_timeout": 0}, ["--move-timeout", "0"]),
        ({"move_timeout": float("inf")}, ["--move-timeout", "inf"]),
        ({"engine": {"kv_memory_mb": 0}}, ["--kv-memory", "0"]),
        ({"engine": {"threads": 0}}, ["--threads", "0"]),
    ],
)
def test_a_bad_value_is_named_with_what_would_be_right(flags, words):
    with pytest.raises(UsageError) as caught:
        build_config(flags)
    for word in words:
        assert word in str(caught.value)


def test_a_setting_that_does_not_exist_is_refused():
    with pytest.raises(ValidationError, match="extra"):
        RunConfig(temprature=1.0)


def test_flags_come_before_the_users_file_and_that_before_the_defaults(user_file):
    path = user_file("[play]\ntemperature = 0.25\nmax_plies = 50\n[engine]\nthreads = 2\npage_size = 32\n")
    config = build_config({"temperature": 0.75, "engine": {"threads": 1}}, read_config_file(path))
    assert (config.temperature, config.max_plies, config.move_timeout) == (0.75, 50, 60.0)
    assert (config.engine.threads, config.engine.page_size, config.engine.max_batch) == (1, 32, 256)


def test_counts_are_filled_in_after_the_users_file(user_file):
    config = build_config({"agents": 8}, read_config_file(user_file("[play]\nagents = 4\n")))
    assert (config.agents, config.games) == (8, 4)


def test_a_file_that_is_not_there_changes_nothing(tmp_path):
    assert read_config_file(tmp_path / "none.toml") == {}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[play\n", "config.toml"),
        ("[plya]\ngames = 1\n", "'plya'"),
        ("play = 3\n", "[play]"),
        ("[play]\ngmaes = 1\n", "'gmaes'"),
        ("[play]\ngames = 0\n", "games 0"),
        ("[play]\nengine = {threads = 2}\n", "[engine]"),
        ("[engine]\nthreads = 'many'\n", "threads many"),
    ],
)
def test_a_faulty_users_file_is_named_with_the_fault(user_file, text, word):
    with pytest.raises(UsageError) as caught:
        read_config_file(user_file(text))
    assert "config.toml" in str(caught.value)
    assert word in str(caught.value)


def test_the_users_file_is_where_xdg_says(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert config_file() == tmp_path / "arena" / "config.toml"
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert config_file() == tmp_path / ".config" / "arena" / "config.toml"


def test_a_configuration_comes_back_from_the_record_whole():
    config = RunConfig(agents=6, agent=("random", "llm"), seed=9, engine={"jump_forward": False, "model": "x"})
    assert stored_config(json.loads(json.dumps(config.model_dump(mode="json")))) == config


def test_a_stored_configuration_that_does_not_fit_is_an_error():
    with pytest.raises(UsageError, match="invented"):
        stored_config({"invented": 1})


def test_flags_that_differ_from_the_stored_run_contradict_it():
    stored = RunConfig(agents=4, seed=7, engine={"page_size": 32})
    found = contradictions({"agents": 6, "seed": 7, "engine": {"page_size": 64}}, stored)
    assert found == ["--agents 6 (the run has 4)", "--page-size 64 (the run has 32)"]


def test_how_many_games_play_at_once_never_contradicts():
    assert contradictions({"concurrency": 1}, RunConfig(agents=8)) == []


def test_options_are_named_as_on_the_command_line():
    assert [option_name(name) for name in ("kv_memory_mb", "max_plies", "prefix_cache")] == [
        "--kv-memory",
        "--max-plies",
        "--no-prefix-cache",
    ]
