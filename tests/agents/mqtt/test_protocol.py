"""Requests and replies on their way through JSON."""

from __future__ import annotations

import json

import pytest

from agents.base import Accounting, Attempt, Clock, Failure, MoveReply, MoveRequest
from agents.mqtt.codec import MAX_PAYLOAD, BadPayloadError, Rejected, decode
from agents.mqtt.protocol import Answer, Ask, Offer, check_name
from games import get_game
from inference.types import Decision, Option


@pytest.mark.parametrize(("game", "moves"), [("chess", ("e2e4", "e7e5")), ("janggi", ("a4b4",))])
def test_a_request_arrives_as_it_was_sent(game, moves):
    position = get_game(game).position(None, moves)
    sent = MoveRequest(position, 7, len(moves) + 1, 2**62 + 1, 9.5, Clock(1000.0, 2000.0, 5.0))
    got = decode(Ask, Ask.of(sent, sent.deadline_s).encoded()).request()
    assert (got.position.moves, got.position.fen) == (moves, position.fen)
    assert (got.game_id, got.ply, got.seed, got.deadline_s) == (7, len(moves) + 1, 2**62 + 1, 9.5)
    assert got.clock == sent.clock


def test_a_reply_arrives_as_it_was_sent():
    costs = Accounting(prompt_tokens=3, queue_ms=1.5, batch_size=2)
    attempts = (Attempt("Zf9", Failure.UNPARSABLE, "no move", 5, costs), Attempt("e4\n</s>", accounting=costs))
    decisions = (Decision((Option("e2…", 0.75), Option("d2…", 0.25)), 0),)
    sent = MoveReply("e2e4", attempts, "retry:2", 0.25, decisions=decisions)
    assert decode(Answer, Answer.of(sent).encoded()).reply() == sent
    assert decode(Answer, Answer.of(MoveReply.resignation()).encoded()).reply() == MoveReply.resignation()


def test_half_a_surrogate_pair_travels_as_an_escape():
    sent = MoveReply(None, (Attempt("\ud83d", Failure.EMPTY),), "free")
    assert decode(Answer, Answer.of(sent).encoded()).reply().attempts[0].text == "\\ud83d"


@pytest.mark.parametrize(
    "reply", [MoveReply(5, (), "p"), MoveReply("e2e4", (), "p", 2.0), MoveReply("e2e4", ("x",), "p")]
)
def test_a_reply_that_is_none_is_not_sent(reply):
    with pytest.raises(ValueError, match=r"move|probability|attempts"):
        Answer.of(reply)


OFFER = {"v": 1, "spec": "random", "games": ["chess"]}


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "json_invalid"),
        (b"\xff\xfe", "json_invalid"),
        (b"[" * 10_000, "json_invalid"),
        (b"[]", "payload"),
        (b"{}", "spec: missing"),
        (json.dumps({**OFFER, "v": 2}).encode(), "another version than 1"),
        (json.dumps({**OFFER, "spec": 5}).encode(), "spec: string_type"),
        (json.dumps({**OFFER, "spec": "\x1b[2J"}).encode(), "spec: value_error"),
        (json.dumps({**OFFER, "games": ["x" * 2000]}).encode(), "games.0: string_too_long"),
        (b" " * (MAX_PAYLOAD + 1), "bytes, more than"),
        (None, "no bytes"),
    ],
)
def test_a_payload_that_cannot_be_used_is_refused_with_a_reason(payload, reason):
    with pytest.raises(BadPayloadError) as error:
        decode(Offer, payload)
    assert reason in str(error.value)


def test_keys_of_later_editions_are_passed_over():
    assert decode(Offer, json.dumps({**OFFER, "colour": "red"}).encode()) == Offer(spec="random", games=("chess",))


def test_refused_messages_are_counted_and_told_ever_more_rarely(caplog):
    rejected = Rejected()
    for _ in range(25):
        rejected.add("arena/\x1b/state", "another version")
    assert rejected.count == 25
    assert [record.args[0] for record in caplog.records] == [1, 10]
    assert "\x1b" not in caplog.text


@pytest.mark.parametrize("name", ["", "a/b", "+", "#", "a b", "-a", "x" * 65])
def test_a_name_that_is_no_level_of_a_topic_is_refused(name):
    with pytest.raises(ValueError, match="no name of a remote agent"):
        check_name(name)
