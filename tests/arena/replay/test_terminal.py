"""The viewer of the terminal, driven by its keys and the mouse."""

from __future__ import annotations

import asyncio

import pytest
from rich.text import Text
from sqlalchemy import text as sql
from textual.widgets import DataTable, Input, OptionList, Static

from arena.events import AttemptRecord
from arena.replay.terminal.app import ReplayApp
from arena.replay.terminal.board import ply_board
from arena.replay.terminal.export import ExportScreen
from arena.replay.terminal.game import SPEEDS, GameScreen
from arena.replay.terminal.games import GamesScreen
from arena.replay.terminal.help import HelpScreen
from arena.replay.terminal.latency import LatencyStrip
from arena.replay.terminal.moves import MoveList
from arena.replay.terminal.record import Filters, Record
from arena.replay.terminal.strip import strip, window
from arena.replay.viewmodel import Latency, replay_of

SIZE = (140, 45)


async def until(pilot, condition):
    """Returns once it holds: what reads the record does so in a thread, in its own time."""
    async with asyncio.timeout(120):
        while not condition():
            await pilot.pause(0.02)


@pytest.fixture
def three(scribe):
    """Game 1 is a fool's mate, 2 has a retry and goes on, 3 was void."""
    scribe = scribe(games=3, name="mine")
    scribe.play_out(1)
    scribe.write(
        scribe.started(2),
        scribe.played(
            2,
            "e2e4",
            attempts=(
                AttemptRecord(text="\x1b[2J[bold]no[/]", failure="unparsable", detail="no move"),
                AttemptRecord(text="e2e4"),
            ),
        ),
    )
    scribe.play_out(3, [], "*", "infrastructure", void=True, detail="the engine stopped")
    return scribe


@pytest.fixture
def viewer(three, database):
    """Makes the viewer of the three games."""
    return lambda game=None, **filters: ReplayApp(Record(database, Filters(**filters)), first_game=game)


async def test_list_is_newest_first_and_enter_opens(viewer):
    app = viewer()
    async with app.run_test(size=SIZE) as pilot:
        table = app.screen.query_one(DataTable)
        assert [str(table.get_row_at(row)[0]) for row in range(3)] == ["3", "2", "1"]
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.screen, GameScreen))
        assert app.screen.replay.game_id == 2


async def test_slash_searches_for_every_word(viewer):
    app = viewer()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("slash", *"mate", "space", *"al")
        await until(pilot, lambda: app.screen.query_one(DataTable).row_count == 1)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, GameScreen))
        assert app.screen.replay.game_id == 1
        await pilot.press("slash")
        await until(pilot, lambda: isinstance(app.screen, GamesScreen) and app.screen.query_one(Input).has_focus)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen.query_one(DataTable).row_count == 3)


async def test_filters_narrow_the_list(viewer):
    app = viewer(termination="checkmate")
    async with app.run_test(size=SIZE):
        assert app.screen.query_one(DataTable).row_count == 1


async def test_arrows_home_and_end_step(viewer):
    app = viewer(1)
    async with app.run_test(size=SIZE) as pilot:
        plies = []
        for key in ("right", "right", "left", "end", "right", "home", "left"):
            await pilot.press(key)
            plies.append(app.screen.ply)
        assert plies == [1, 2, 1, 4, 4, 0, 0]


async def test_last_move_is_marked_and_told(viewer):
    app = viewer(1)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("end")
        assert app.screen.query_one(MoveList).cursor_coordinate == (1, 2)
        facts = str(app.screen.query_one("#facts", Static).visual)
        assert "2… Qh4#" in facts
        assert "Black wins by checkmate" in facts
        assert "40 tokens, 10 of them new" in facts
        assert "check" in str(app.screen.query_one("#status", Static).visual)


async def test_arrows_up_and_down_go_through_what_is_told_about_the_move(viewer):
    app = viewer(2)
    async with app.run_test(size=(100, 18)) as pilot:
        detail = app.screen.query_one("#detail")
        await pilot.press("down")
        assert detail.scroll_y > 0
        await pilot.press("up")
        assert detail.scroll_y == 0


async def test_space_plays_to_the_end_and_pauses(viewer):
    app = viewer(1)
    async with app.run_test(size=SIZE) as pilot:
        screen = app.screen
        await pilot.press("minus", "minus", "space")
        assert screen.playing
        await pilot.press("space")
        assert not screen.playing
        await pilot.press("plus", "plus", "plus", "plus", "plus", "plus", "space")
        await until(pilot, lambda: (screen.ply, screen.playing) == (4, False))


async def test_speed_stays_within_its_bounds_and_r_takes_the_recorded_times(viewer):
    app = viewer(1)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("minus", "minus", "minus", "minus")
        assert (SPEEDS[app.screen.speed], app.screen.wait_s()) == (0.25, 4.0)
        await pilot.press("plus", "plus", "r")
        assert (SPEEDS[app.screen.speed], app.screen.wait_s()) == (1.0, 0.9)


async def test_f_turns_the_board_and_a_makes_it_ascii(viewer):
    app = viewer(1)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("f", "a")
        board = str(app.screen.query_one("#board", Static).visual)
        assert board.isascii()
        assert board.splitlines()[0] == "1 R N B K Q B N R"
        assert "White" in str(app.screen.query_one("#above", Static).visual)


async def test_n_and_p_go_through_the_list(viewer):
    app = viewer(3)
    async with app.run_test(size=SIZE) as pilot:
        for key, game in (("n", 2), ("n", 1), ("n", 1), ("p", 2), ("p", 3), ("p", 3)):
            await pilot.press(key)
            await until(pilot, lambda game=game: app.screen.replay.game_id == game)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, GamesScreen))


async def test_e_exports_under_a_name_that_is_free(viewer, tmp_path, monkeypatch):
    def written():
        return sorted(path.name for path in tmp_path.glob("*.html") if path.read_text("utf-8").endswith("</html>\n"))

    monkeypatch.chdir(tmp_path)
    app = viewer(1)
    async with app.run_test(size=SIZE) as pilot:
        for number in (1, 2):
            await pilot.press("e")
            await until(pilot, lambda: isinstance(app.screen, ExportScreen) and isinstance(app.focused, OptionList))
            await pilot.press("enter")
            await until(pilot, lambda number=number: len(written()) == number)
    assert written() == ["game-1-2.html", "game-1.html"]
    assert (tmp_path / "game-1.html").read_text("utf-8").startswith("<!doctype html>")


async def test_question_mark_shows_the_keys_and_q_quits(viewer):
    app = viewer(1)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape")
        assert isinstance(app.screen, GameScreen)
        await pilot.press("q")
        await pilot.pause()
    assert app.return_code == 0


async def test_mouse_goes_to_a_move_and_to_a_bar(viewer):
    app = viewer(1)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.click(MoveList, offset=(18, 1))
        await until(pilot, lambda: app.screen.ply == 2)
        await pilot.click(LatencyStrip, offset=(10, 4))
        await until(pilot, lambda: app.screen.ply == 3)


async def test_game_that_is_played_is_followed_at_its_end_only(viewer, three):
    app = viewer(2)
    async with app.run_test(size=SIZE) as pilot:
        screen = app.screen
        assert (screen.ply, screen.replay.live) == (1, True)
        three.write(three.played(2, "e7e5"))
        await screen._follow()
        assert screen.ply == 2
        await pilot.press("home")
        three.write(three.played(2, "g1f3"), three.ended(2, "1/2-1/2", "ply-limit"))
        await screen._follow()
        assert (screen.ply, screen.replay.last, screen.replay.live) == (0, 3, False)


async def test_what_an_agent_said_is_neither_markup_nor_an_escape(viewer):
    app = viewer(2)
    async with app.run_test(size=SIZE):
        facts = str(app.screen.query_one("#facts", Static).visual)
        assert "\\x1b[2J[bold]no[/]" in facts
        assert "unparsable: no move" in facts


async def test_damaged_game_gives_a_message_and_the_list_stays(viewer, database):
    with database.writing() as session:
        session.execute(sql("UPDATE moves SET move = 'a1a8' WHERE game_id = 1 AND ply = 2"))
    app = viewer()
    async with app.run_test(size=SIZE) as pilot:
        await app.open_game(1)
        await pilot.pause()
        assert isinstance(app.screen, GamesScreen)
        assert ["game 1 cannot be replayed" in note.message for note in app._notifications] == [True]


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (200, 60)])
async def test_every_size_of_terminal_will_do(viewer, size):
    app = viewer(1)
    async with app.run_test(size=size) as pilot:
        await pilot.press("end", "f", "a", "home")
        assert app.screen.ply == 0


def test_janggi_board_keeps_its_columns_and_marks_the_move(game):
    ply = replay_of(game(("a4b4",), "janggi")).plies[1]
    board = ply_board("janggi", "janggi", ply, flip=False, ascii_only=False, large=True)
    lines = board.split("\n")
    assert {line.cell_len for line in lines} == {40}
    row = lines[2 * (10 - 4)]
    marked = [row.plain[span.start : span.end] for span in row.spans if "ffe066" in str(span.style)]
    assert "卒" in "".join(marked)


def test_bars_stack_their_parts_from_below():
    times = [Latency(25, 25, 50, 0, 0, 100), Latency(50, 0, 0, 0, 0, 50), None]
    drawn = strip(times, 0, window(3, 0, 12), 4, ascii_only=True)
    assert drawn.plain.splitlines() == ["ddd         ", "ddd         ", "ppp qqq     ", "qqq qqq     ", "^^^^        "]


def test_long_game_scrolls_its_strip_with_the_current_move():
    assert window(400, 200, 100) == (150, 250, 1)
    assert (window(400, 0, 100).first, window(400, 399, 100).end) == (0, 400)
    assert window(10, 0, 100).bar_at(41) is None
    assert isinstance(strip([None] * 10, 0, window(10, 0, 40), 3, ascii_only=False), Text)
