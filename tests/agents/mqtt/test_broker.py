"""URLs of brokers."""

from __future__ import annotations

import sys

import pytest

from agents.mqtt.broker import Broker, BrokerError


def test_everything_in_a_url_is_read():
    broker = Broker.parse("mqtt://ann:p%40ss@broker.example:1884/club/room")
    assert (broker.host, broker.port, broker.prefix) == ("broker.example", 1884, "club/room")
    assert (broker.user, broker.password, broker.tls) == ("ann", "p@ss", None)
    assert broker.topic("run", 3, "state") == "club/room/run/3/state"


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [("mqtt://h", "h", 1883), ("mqtts://h", "h", 8883), ("mqtt://[::1]:99/", "::1", 99)],
)
def test_ports_and_prefix_have_defaults(url, host, port):
    broker = Broker.parse(url)
    assert (broker.host, broker.port, broker.prefix) == (host, port, "arena")
    assert (broker.tls is not None) == url.startswith("mqtts")


def test_a_password_from_elsewhere_is_for_a_url_without_one():
    assert Broker.parse("mqtt://ann@h", password="other").password == "other"
    assert Broker.parse("mqtt://ann:own@h", password="other").password == "own"


def test_the_password_is_in_nothing_that_is_shown():
    broker = Broker.parse("mqtt://ann:secret@h")
    assert "secret" not in repr(broker)
    assert broker.address == "mqtt://h:1883/arena"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("h:1883", "mqtt://"),
        ("http://ann:secret@h", "http://h"),
        ("mqtt://", "mqtt://"),
        ("mqtt://ann:secret@h:99999", "port"),
        ("mqtt://ann:sec/secret@h", "the port"),
        ("mqtt://ann:12/secret@h", "%2F"),
        ("mqtt://ann:secret@h:0", "mqtt://h:0"),
        ("mqtt://ann:secret@h/a/#", "mqtt://h/a/#"),
        ("mqtt://ann:secret@h/a+b", "'a+b'"),
        ("mqtt://ann:secret@h/a//b", "'a//b'"),
        ("mqtt://:secret@h", "without a user"),
        ("mqtt://a b", "'a b'"),
    ],
)
def test_what_is_no_broker_is_named_without_its_password(url, words):
    with pytest.raises(BrokerError) as error:
        Broker.parse(url)
    assert words in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "files", "words"),
    [
        ("mqtt://h", {"ca_file": "ca.pem"}, "mqtts://"),
        ("mqtts://h", {"ca_file": "/nowhere/ca.pem"}, "/nowhere/ca.pem"),
        ("mqtts://h", {"cert_file": "/nowhere/me.pem"}, "/nowhere/me.pem"),
        ("mqtts://h", {"key_file": "me.key"}, "me.key"),
    ],
)
def test_certificates_that_cannot_be_used_are_named(url, files, words):
    with pytest.raises(BrokerError, match=words):
        Broker.parse(url, **files)


def test_a_missing_library_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "aiomqtt", None)
    with pytest.raises(BrokerError, match=r"arena-llm\[mqtt\]"):
        Broker.parse("mqtt://h")
