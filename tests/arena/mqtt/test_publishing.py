"""Runs published on a real broker, which is not always there."""

from __future__ import annotations

import asyncio
import socket
import threading
from functools import partial
from types import SimpleNamespace

import pytest

from agents.mqtt.broker import Broker
from arena.mqtt.messages import GameState, Move


@pytest.fixture(scope="module")
def alone(play_run_in, tmp_path_factory):
    """The games as they are played without a broker."""
    return play_run_in(tmp_path_factory.mktemp("alone") / "games.db")


def final(watcher, game_id):
    run = next(iter(watcher.boards._runs))
    return watcher.boards.game(run, game_id)


def said(watcher, kind):
    """The last ply of each game that a message of this kind told."""
    return {update.game_id: update.ply for update in list(watcher.heard) if isinstance(update, kind)}


def test_a_watcher_sees_every_ply_once_and_in_order(mosquitto, watch, publisher_at, play_run, alone, wait_until):
    watcher = watch(mosquitto)
    assert play_run(publisher_at(mosquitto)) == alone
    wait_until(lambda: watcher.boards.all_ended)
    plies = list(range(1, 17))
    assert watcher.moves() == {1: plies, 2: plies}
    assert (watcher.boards.missed, watcher.boards.duplicates) == (0, 0)
    game = final(watcher, 1)
    assert (game.ply, game.last_move, game.result, game.termination) == (16, alone[0][0][-1], "1/2-1/2", "ply-limit")


def test_one_who_joins_in_the_middle_begins_with_the_whole_position(
    mosquitto, watch, publisher_at, play_run, alone, wait_until
):
    early, late = watch(mosquitto), []

    def join(plies):
        wait_until(lambda: said(early, Move) == said(early, GameState) == plies)
        late.append(watch(mosquitto))
        wait_until(lambda: len(late[0].boards.view().slots) == 2)

    assert play_run(publisher_at(mosquitto), at_ply={6: join}) == alone
    watcher = late[0]
    wait_until(lambda: watcher.boards.all_ended)
    for plies in watcher.moves().values():
        assert 16 - len(plies) + 1 == plies[0] > 1
        assert plies == list(range(plies[0], 17))
    assert (early.boards.missed, watcher.boards.missed) == (0, 0)


def test_a_broker_that_is_down_at_the_start_gets_everything_later(
    new_broker, watch, publisher_at, play_run, alone, wait_until
):
    broker = new_broker()
    watcher = watch(broker)
    assert play_run(publisher_at(broker), at_ply={5: lambda _: broker.start()}) == alone
    wait_until(lambda: watcher.boards.all_ended)
    assert [final(watcher, game_id).ply for game_id in (1, 2)] == [16, 16]
    for plies in watcher.moves().values():  # from the move on at which the watcher was back, too
        assert plies == list(range(plies[0], 17))


def test_a_broker_that_is_restarted_has_the_retained_states_again(
    mosquitto, watch, publisher_at, play_run, alone, wait_until
):
    early = watch(mosquitto)

    def restart(_):
        mosquitto.kill()
        mosquitto.start()

    assert play_run(publisher_at(mosquitto), at_ply={1: lambda _: wait_until(lambda: early.news), 7: restart}) == alone
    wait_until(lambda: early.boards.all_ended)
    for plies in early.moves().values():
        assert plies == sorted(set(plies))
        assert plies[-1] == 16
    afterwards = watch(mosquitto)
    wait_until(lambda: len(afterwards.boards.view().slots) == 2)
    assert [final(afterwards, game_id).result for game_id in (1, 2)] == ["1/2-1/2"] * 2
    assert afterwards.moves() == {}


def test_a_broker_that_is_gone_for_good_costs_the_run_nothing_but_its_moves(
    mosquitto, publisher_at, play_run, alone, caplog
):
    publisher = publisher_at(mosquitto)
    assert play_run(publisher, at_ply={5: lambda _: mosquitto.kill()}) == alone
    assert "No connection to the broker" in caplog.text
    assert "Not everything was published" in caplog.text
    assert publisher.outbox.waiting > 0


def test_a_broker_that_takes_connections_and_says_nothing_costs_nothing_either(publisher_at, play_run, alone, caplog):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        publisher = publisher_at(SimpleNamespace(url=f"mqtt://127.0.0.1:{listener.getsockname()[1]}"), flush_s=0.1)
        assert play_run(publisher) == alone
    assert "Not everything was published" in caplog.text


def test_retained_messages_are_removed_if_asked(mosquitto, watch, publisher_at, play_run, wait_until):
    early = watch(mosquitto)
    play_run(publisher_at(mosquitto, clear=True))
    wait_until(lambda: not early.boards._runs and early.news)
    kept = publisher_at(mosquitto)
    play_run(kept, name="kept.db")
    late = watch(mosquitto)
    wait_until(lambda: len(late.boards.view().slots) == 2)
    assert len(late.boards._runs) == 1


def test_publishing_leaves_no_thread(mosquitto, publisher_at, play_run):
    before = set(threading.enumerate())
    play_run(publisher_at(mosquitto))
    assert set(threading.enumerate()) <= before


RUBBISH = {
    "arena/calm-rook-1-abc123/1/state": b"{",
    "arena/calm-rook-1-abc123/2/move": b"\xff" * 20_000,
    "arena/calm-rook-1-abc123/status": b'{"v": 9}',
}


async def publish(url, messages):
    async with Broker.parse(url).client("someone") as client:
        for topic, payload in messages.items():
            await client.publish(topic, payload, qos=1)


def test_rubbish_on_our_topics_is_counted_and_does_no_harm(
    mosquitto, watch, publisher_at, play_run, alone, wait_until, caplog
):
    watcher = watch(mosquitto)
    spoil = partial(asyncio.run, publish(mosquitto.url, RUBBISH))
    spoiling = threading.Thread(target=spoil)
    assert play_run(publisher_at(mosquitto), at_ply={5: lambda _: spoiling.start()}) == alone
    spoiling.join()
    wait_until(lambda: watcher.boards.all_ended and watcher.rejected == 3)
    assert watcher.moves() == {1: list(range(1, 17)), 2: list(range(1, 17))}
    assert "Ignored 1 unusable message(s)" in caplog.text


def test_a_broker_that_lets_nobody_in_is_told_once_and_the_run_goes_on(
    new_broker, publisher_at, play_run, alone, tmp_path, caplog
):
    (tmp_path / "nobody").write_text("")
    closed = new_broker(options=["allow_anonymous false", f"password_file {tmp_path / 'nobody'}"]).start()
    assert play_run(publisher_at(closed)) == alone
    assert caplog.text.count("does not let us in") == 1
