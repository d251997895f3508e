"""Streams of what happens, and a record that changes, vanishes or is replaced while it is served."""

import os
import sqlite3
import threading

import pytest

from arena.errors import NoSuchDatabaseError, StoreError
from arena.store.database import Database
from arena.store.migrate import VERSION_TABLE
from arena.store.runs import create_run
from arena.web.record import Record
from arena.web.serve import serving


def test_a_stream_begins_with_the_whole_state_and_goes_on_with_what_changed(web, scribe):
    run = scribe(games=2)
    run.start(1, ["e2e4"])
    run.start(2)
    events = web.events("/runs/1/live/events")
    first = next(events)
    assert [(board["id"], board["plies"]) for board in first["boards"]] == [(1, 1), (2, 0)]
    run.write(run.played(1, "e7e5"))
    second = next(events)
    assert [(board["id"], board["last"]) for board in second["boards"]] == [(1, "ply 2: e5")]
    assert second["order"] == [1, 2]
    assert second["boards"][0]["picture"] == "/games/1/board.svg?ply=2"
    events.close()


def test_boards_have_what_both_clocks_show(web, scribe):
    run = scribe(games=2, config={"time_control": "60+1"})
    run.start(1)
    seen = []
    for move, left in ((None, 0), ("e2e4", 60_500.0), ("e7e5", 12_340.0), ("g1f3", 59_999.0)):
        if move:
            run.write(run.played(1, move, clock_ms=left))
        seen.append(next(web.events("/games/1/events"))["boards"][0]["clocks"])
    assert seen == [["1:00", "1:00"], ["1:00", "1:00"], ["1:00", "0:12.3"], ["0:59", "0:12.3"]]
    page = web.get("/runs/1/live").text
    assert "<time>0:59</time>" in page
    assert "<time>0:12.3</time>" in page


def test_boards_of_games_without_a_time_control_have_no_clocks(web, scribe):
    scribe(games=1).start(1, ["e2e4"])
    assert next(web.events("/games/1/events"))["boards"][0]["clocks"] == []
    assert "<time>" not in web.get("/runs/1/live").text


def test_a_stream_tells_how_a_game_ended_and_that_the_run_did(web, scribe):
    run = scribe(games=1)
    run.start(1, ["e2e4"])
    events = web.events("/runs/1/live/events")
    assert next(events)["run"] == {"status": "running", "games": 1, "finished": 0}
    run.write(run.ended(1, "0-1", "forfeit-illegal"))
    state = next(events)
    assert state["run"]["finished"] == 1
    assert state["boards"][0]["ending"] == "Black wins: White answered with an illegal move"
    assert not state["boards"][0]["playing"]
    events.close()


def test_a_stream_of_one_game_tells_of_that_game_only(web, scribe):
    run = scribe(games=2)
    run.start(1)
    run.start(2)
    events = web.events("/games/2/events")
    assert next(events)["boards"][0]["plies"] == 0
    run.write(run.played(1, "e2e4"), run.played(2, "d2d4"))
    assert [(board["id"], board["last"]) for board in next(events)["boards"]] == [(2, "ply 1: d4")]
    events.close()


def test_open_streams_do_not_keep_the_server_from_stopping(database, db_path, scribe, web):
    scribe().start(1)
    events = web.events("/games/1/events")
    next(events)
    with serving(db_path) as url:
        other = type(web)(url).events("/games/1/events")
        next(other)
    assert list(other) == []
    events.close()


def test_reading_never_keeps_a_writer_waiting(web, scribe):
    run = scribe(games=1)
    run.start(1)
    stop = threading.Event()

    def read():
        while not stop.is_set():
            assert web.get("/runs/1").status == 200

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for number in range(12):
            run.write(run.played(1, ("g1f3", "g8f6", "f3g1", "f6g8")[number % 4]))
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert web.get("/games/1/data.json").json["replay"]["last"] == 12


def test_the_connection_of_the_server_cannot_write(db_path, scribe):
    scribe()
    record = Record(db_path)
    with pytest.raises(StoreError, match="write-protected"), record.reading() as db, db.writing() as session:
        session.connection().exec_driver_sql("DELETE FROM runs")
    record.close()


def test_a_database_that_takes_the_place_of_another_is_seen(web, db_path, scribe, tmp_path, new_run):
    scribe()
    assert "/runs/2" not in web.get("/").text
    other = tmp_path / "other.db"
    with Database.open(other, create=True) as db:
        for _ in range(3):
            create_run(db, new_run())
        db.checkpoint()
    for suffix in ("-wal", "-shm"):
        db_path.with_name(db_path.name + suffix).unlink(missing_ok=True)
    os.replace(other, db_path)
    assert 'href="/runs/3"' in web.get("/").text


def test_a_database_that_vanishes_is_said_and_found_again(web, db_path, scribe, tmp_path):
    scribe()
    assert web.get("/runs/1").status == 200
    aside = tmp_path / "aside.db"
    os.replace(db_path, aside)
    answer = web.get("/runs/1")
    assert answer.status == 404 or answer.status == 503
    assert "no database" in answer.text.lower()
    os.replace(aside, db_path)
    assert web.get("/runs/1").status == 200


def test_a_game_that_cannot_be_replayed_is_a_message(web, db_path, scribe):
    scribe().play_out(1)
    with sqlite3.connect(db_path) as connection:
        connection.execute("UPDATE moves SET move = 'e2e5' WHERE ply = 1")
        connection.execute("UPDATE moves SET fen = 'nonsense' WHERE ply = 2")
    answer = web.get("/games/1")
    assert answer.status == 503
    assert "cannot be replayed from the record" in answer.text
    assert web.get("/games/1/board.svg?ply=2").status == 503
    assert web.get("/games/1/board.svg?ply=4").status == 200


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: path.unlink(), "there is no database"),
        (lambda path: path.write_bytes(b"not a database, not even nearly" * 100), "not an SQLite database"),
        (lambda path: path.write_bytes(b""), "it is empty"),
        (lambda path: _set_version(path, "9999"), "newer version"),
        (lambda path: _set_version(path, "0000"), "older version"),
    ],
)
def test_what_cannot_be_served_is_one_sentence_and_exit_code_2(arena, db_path, damage, said):
    Database.open(db_path, create=True).close()
    damage(db_path)
    code, out, err = arena("web", "--port", 0)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_a_port_that_is_taken_is_one_sentence(arena, database, web):
    port = web.netloc.split(":")[1]
    code, _, err = arena("web", "--port", port)
    assert code == 2
    assert f"port {port}" in err
    assert "--port 0" in err


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1", "a" * 70, "::bad::"])
def test_an_address_that_is_not_ours_is_one_sentence(arena, database, host):
    code, _, err = arena("web", "--host", host, "--port", 0)
    assert code == 2
    assert "cannot listen on" in err


def test_opening_to_read_makes_no_file(tmp_path):
    with pytest.raises(NoSuchDatabaseError):
        Database.view(tmp_path / "none.db")
    assert list(tmp_path.iterdir()) == []


def _set_version(path, version):
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = ?", (version,))
