"""`--verbose` and `--log-file`, on every command and before it."""

import logging

import pytest

from arena.cli.logs import NoticeHandler

COMMANDS = [("games",), ("show", "1"), ("export", "--pgn"), ("models", "list"), ("play", "--agent", "random")]


@pytest.fixture(autouse=True)
def record(scribe):
    scribe().play_out(1)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_the_log_options_before_and_after_its_name(arena, tmp_path, command):
    for number, args in enumerate([("--verbose", *command), (*command, "--verbose")]):
        log = tmp_path / f"{number}.log"
        code, _, err = arena("--log-file", log, *args) if number == 0 else arena(*args, "--log-file", log)
        assert code == 0
        if command[0] != "models":
            assert "opened the record" in err
            assert "INFO arena.store.database: opened the record" in log.read_text()


def test_handlers_and_level_are_put_back(arena, tmp_path):
    root = logging.getLogger()
    before = (root.level, list(root.handlers))
    arena("games", "--verbose", "--log-file", tmp_path / "log")
    assert (root.level, list(root.handlers)) == before


def test_log_file_holds_the_cause_of_an_error(arena, tmp_path):
    log = tmp_path / "log"
    code, _, err = arena("show", "99", "--log-file", log)
    assert code == 2
    assert "Traceback" not in err
    assert "UsageError: there is no game 99" in log.read_text()


@pytest.mark.parametrize("path", ["", "/", "/nowhere/at/all"])
def test_log_file_that_cannot_be_written_is_a_usage_error(arena, path):
    code, out, err = arena("games", "--log-file", path)
    assert (code, out) == (2, "")
    assert "--log-file" in err
    assert "give the path of a file" in err


def test_log_messages_become_notices_of_one_line():
    shown = []
    log = logging.getLogger("arena.test_logs")
    handler = NoticeHandler(shown.append)
    log.addHandler(handler)
    try:
        log.warning("%s stopped", "llm-1")
        log.warning("cannot draw", exc_info=ValueError("x"))
    finally:
        log.removeHandler(handler)
    assert shown == ["llm-1 stopped", "cannot draw: ValueError('x')"]
