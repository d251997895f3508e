"""Lines from a terminal, in an event loop."""

import asyncio
import os

import pytest

from agents.terminal import Terminal


@pytest.fixture
def typed():
    """A terminal, a function that types, and one that ends the input."""
    read, write = os.pipe()
    fds = [read, write]
    yield Terminal(read), lambda text: os.write(write, text.encode()), lambda: os.close(fds.pop())
    for fd in fds:
        os.close(fd)


async def test_an_answer_is_a_line_and_what_was_typed_ahead_is_kept(typed, capsys):
    terminal, write, _ = typed
    write(" e4 \nd4\nc")
    assert [await terminal.ask("first? "), await terminal.ask("second? ")] == ["e4", "d4"]
    write("4\n")
    assert await terminal.ask("third? ") == "c4"
    assert capsys.readouterr() == ("", "first? second? third? ")


async def test_a_last_line_without_its_end_is_an_answer_and_then_comes_the_end(typed):
    terminal, write, end = typed
    write("e4")
    end()
    assert await terminal.ask("") == "e4"
    with pytest.raises(EOFError):
        await terminal.ask("")


async def test_the_loop_goes_on_while_a_question_waits_and_a_cancelled_one_takes_no_line(typed):
    terminal, write, _ = typed
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await terminal.ask("")
    write("e4\n")
    assert await terminal.ask("") == "e4"


async def test_nothing_at_all_is_the_end_of_the_input():
    with open(os.devnull) as nothing, pytest.raises(EOFError):  # noqa: ASYNC230
        await Terminal(nothing.fileno()).ask("")


async def test_a_file_is_read_like_a_terminal(tmp_path):
    (tmp_path / "moves.txt").write_text("한수쉼\ne4\n")
    with (tmp_path / "moves.txt").open() as file:
        terminal = Terminal(file.fileno())
        assert [await terminal.ask(""), await terminal.ask("")] == ["한수쉼", "e4"]
        with pytest.raises(EOFError):
            await terminal.ask("")
