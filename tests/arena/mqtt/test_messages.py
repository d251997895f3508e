"""What is published: topics, payloads, and what is refused of them."""

from __future__ import annotations

import json

import pytest

from agents.mqtt.broker import Broker
from agents.mqtt.codec import BadPayloadError
from arena.mqtt.messages import GameState, Move, RunStatus, read_update
from games import game_names, get_game

BROKER = Broker.parse("mqtt://h/club")
HEAD = {"v": 1, "session": 5, "run": "calm-rook-1-abc123", "at": "2026-01-02T03:04:05Z"}


def state(**changes):
    fen = get_game("chess").position().fen
    mine = {"game_id": 7, "game": "chess", "white": "a", "black": "b", "ply": 0, "fen": fen, "to_move": "first"}
    return {**HEAD, **mine, **changes}


def move(**changes):
    fen = get_game("chess").position(None, ["e2e4"]).fen
    mine = {
        "game_id": 7,
        "game": "chess",
        "ply": 1,
        "side": "first",
        "agent": "a",
        "move": "e2e4",
        "san": "e4",
        "fen": fen,
    }
    return {**HEAD, **mine, **changes}


def read(topic, content):
    payload = content if isinstance(content, bytes) else json.dumps(content).encode()
    return read_update(BROKER, f"club/calm-rook-1-abc123/{topic}", payload)


def test_each_topic_has_its_payload():
    assert read("status", {**HEAD, "status": "running"}) == RunStatus(**HEAD | {"status": "running"})
    assert isinstance(read("7/state", state()), GameState)
    assert isinstance(read("7/move", move()), Move)


@pytest.mark.parametrize("game", game_names())
def test_positions_of_every_game_can_be_read(game):
    position = get_game(game).position()
    for played in (position, position.play(position.legal_moves()[0])):
        assert read("7/state", state(game=game, fen=played.fen)).fen == played.fen


@pytest.mark.parametrize(
    ("topic", "content", "reason"),
    [
        ("7/state", state(v=2), "another version"),
        ("7/state", state(game_id=8), "another run or game"),
        ("7/state", state(run="other"), "another run or game"),
        ("7/state", state(game="go"), "value_error"),
        ("7/state", state(fen="rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNX w - - 0 1"), "value_error"),
        ("7/state", state(fen="8/8 w - - 0 1"), "value_error"),
        ("7/state", state(fen="9" * 150), "value_error"),
        ("7/state", state(fen="\x1b[2J"), "fen"),
        ("7/state", state(ply=-1), "ply"),
        ("7/state", state(ply="3"), "ply"),
        ("7/state", state(white="x" * 5000), "white"),
        ("7/state", state(clock_ms={"first": -1.0}), "clock_ms"),
        ("7/state", state(result="2-0"), "result"),
        ("7/state", b" " * 20_000, "bytes, more than"),
        ("7/state", b"{", "json_invalid"),
        ("7/move", move(ply=0), "ply"),
        ("7/move", move(move="e2 e4"), "move"),
        ("7/move", state(ply=1), "side"),
        ("status", {**HEAD, "status": "happy"}, "status"),
        ("7/8/state", state(), "no topic of ours"),
        ("7/prize", state(), "no topic of ours"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_reason(topic, content, reason):
    with pytest.raises(BadPayloadError) as error:
        read(topic, content)
    assert reason in str(error.value)


def test_text_of_others_cannot_move_the_cursor():
    shown = read("7/state", state(white="\x1b[2Jeve", detail="line\nline"))
    assert (shown.white, shown.detail) == ("\\x1b[2Jeve", "line\\nline")
