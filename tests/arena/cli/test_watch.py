"""`arena watch`, and `arena play --mqtt`, as a person calls them."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SLOW = "python:agents.scripted:SlowAgent?delay_s=0.05"


@pytest.fixture(autouse=True)
def no_settings_of_the_user(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("ARENA_MQTT", raising=False)


@pytest.fixture(autouse=True)
def no_haste(monkeypatch):
    """What is left of a run is published, however long it takes."""
    monkeypatch.setattr("arena.mqtt.publisher.FLUSH_S", 60.0)


def events(text):
    return [json.loads(line) for line in text.splitlines()]


def test_a_finished_run_can_be_watched_from_the_database_and_from_the_broker(arena, mosquitto):
    password = "hush-hush"
    url = mosquitto.url.replace("//", f"//ann:{password}@")
    code, out, err = arena("play", "--agent", "random", "--max-plies", "6", "--seed", "1", "--mqtt", url)
    assert (code, err) == (0, "")
    code, there, err = arena("watch", "--until-end", "--json", "--mqtt", url)
    assert (code, err) == (0, "")
    code, here, err = arena("watch", "--until-end", "--json", "--run", "1")
    assert (code, err) == (0, "")
    kept = [next(event for event in events(text) if event["type"] == "state") for text in (there, here)]
    assert kept[0]["run"].startswith(kept[1]["run"])
    told = [{key: each[key] for key in set(each) - {"at", "run", "session"}} for each in kept]
    assert told[0] == told[1]
    assert (told[0]["ply"], told[0]["result"]) == (6, "1/2-1/2")
    assert password not in out + there + here


def test_a_tournament_is_watched_like_any_run(arena, mosquitto, tmp_path):
    spec = tmp_path / "cup.yaml"
    spec.write_text(
        "name: cup\nformat: round-robin\nmax_plies: 6\nopenings: start\nagents: [random, 'random?name=b']\n"
    )
    code, _, err = arena("tournament", "run", spec, "--mqtt", mosquitto.url)
    assert (code, err) == (0, "")
    told = events(arena("watch", "--until-end", "--json", "--mqtt", mosquitto.url)[1])
    assert {(each["game_id"], each["ply"], each["result"]) for each in told if each["type"] == "state"} == {
        (1, 6, "1/2-1/2"),
        (2, 6, "1/2-1/2"),
    }
    status = next(each for each in told if each["type"] == "status")
    assert (status["status"], status["games"], status["done"]) == ("finished", 2, 2)
    code, _, err = arena("tournament", "run", spec, "--new", "--mqtt", mosquitto.url, "--mqtt-clear")
    assert (code, err) == (0, "")


def test_the_password_is_not_recorded(arena, mosquitto, db_path):
    arena("play", "--agent", "random", "--max-plies", "2", "--mqtt", mosquitto.url.replace("//", "//ann:hush-hush@"))
    assert b"hush" not in db_path.read_bytes()


def test_the_will_of_a_killed_publisher_says_that_the_run_is_lost(arena_process, mosquitto):
    watching = arena_process("watch", "--mqtt", mosquitto.url, "--until-end", "--json")
    without_end = ["--games", "200", "--concurrency", "1", "--max-plies", "200"]
    play = arena_process("play", "--agent", SLOW, "--mqtt", mosquitto.url, *without_end)
    seen = []
    for line in watching.stdout:
        seen.append(json.loads(line))
        if len(seen) == 8:
            play.send_signal(signal.SIGKILL)
    assert seen[-1]["type"] == "status"
    assert seen[-1]["status"] == "lost"
    for game in {event["game_id"] for event in seen if event["type"] == "move"}:
        plies = [event["ply"] for event in seen if event["type"] == "move" and event["game_id"] == game]
        assert plies == list(range(plies[0], plies[0] + len(plies)))
    assert watching.communicate()[1] == ""
    assert watching.returncode == 0


def test_a_run_is_followed_from_the_database_while_it_is_played(arena_process, gate, wait_for_moves, recorded):
    play = arena_process("play", "--agent", gate.at(6), "--max-plies", "40", "--seed", "2")
    play.stdout.readline()
    wait_for_moves(5)
    watching = arena_process("watch", "--until-end", "--plain")
    lines = [watching.stdout.readline().rstrip("\n")]
    gate.open()
    lines += watching.stdout.read().splitlines()
    assert (watching.wait(), watching.stderr.read()) == (0, "")
    play.communicate()
    run = recorded(1).name
    assert any(line.startswith(f"{run} game 1: ") and " by Patient-" in line for line in lines)
    assert f"{run} game 1: Patient-1 1/2-1/2 Patient-2, ply-limit, 40 plies" in lines
    moves = [line for line in lines if " by Patient-" in line]
    assert len(moves) == len(set(moves))
    assert moves[-1].startswith(f"{run} game 1: 20… ")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["watch", "--mqtt", "http://h"], ["--mqtt", "http://h", "mqtt://"]),
        (["watch", "--mqtt-ca", "ca.pem"], ["--mqtt-ca", "--mqtt"]),
        (["watch"], ["arena.db"]),
        (["play", "--mqtt-clear"], ["--mqtt-clear", "--mqtt"]),
        (["tournament", "run", "x.yaml", "--mqtt-clear"], ["--mqtt-clear", "--mqtt"]),
        (["tournament", "resume", "--mqtt", "http://h"], ["--mqtt", "http://h", "mqtt://"]),
        (["play", "--agent", "mqtt:far"], ["mqtt:far", "--mqtt mqtt://host:1883"]),
        (["play", "--agent", "mqtt:a/b", "--mqtt", "mqtt://h"], ["'a/b'", "letters"]),
        (["agents", "serve", "random", "--name", "far"], ["--mqtt"]),
        (["agents", "serve", "random", "--mqtt", "mqtt://h", "--name", "a/b"], ["--name", "'a/b'"]),
        (["agents", "serve", "rnadom", "--mqtt", "mqtt://h", "--name", "far"], ["rnadom", "did you mean random"]),
        (["agents", "serve", "random", "--mqtt", "mqtt://h", "--name", "far", "--game", "go"], ["go", "chess"]),
    ],
)
def test_bad_input_is_named(arena, db_path, args, words):
    code, out, err = arena(*args)
    assert (code, out) == (2, "")
    for word in words:
        assert word in err
    assert not db_path.exists()


def test_an_agent_that_nobody_serves_is_named_before_a_game(arena, mosquitto, db_path, monkeypatch):
    monkeypatch.setattr("agents.mqtt.agent.START_LIMIT_S", 0.2)
    code, out, err = arena("play", "--agent", "mqtt:far", "--agent", "random", "--mqtt", mosquitto.url)
    assert (code, out) == (2, "")
    assert "nobody serves an agent far" in err
    assert "arena agents serve" in err
    assert not db_path.exists()
