"""The two ways to follow a run, and who gets which board."""

from __future__ import annotations

import io
import logging
import time

import pytest
from rich.console import Console

from arena.live import terminal
from arena.live.board import PLAIN, Palette
from arena.live.terminal import LiveScreen, PlainProgress, palette_for


def console(**options):
    return Console(
        **{"file": io.StringIO(), "force_terminal": True, "width": 80, "height": 24, "legacy_windows": False, **options}
    )


@pytest.fixture
def plain():
    """Plain progress with its lines and a clock that is set by hand."""

    class Plain(PlainProgress):
        def __init__(self):
            self.now = 0.0
            self.lines = []
            super().__init__(self.lines.append, clock=lambda: self.now)

    return Plain()


def test_plain_progress_tells_the_run_and_each_end(stage, plain):
    run = stage(games=2, reader=plain)
    run.start(1, "f2f3 e7e5 g2g4")
    run.move(1, "d8h4")
    run.end(1, "0-1", "checkmate")
    run.start(2)
    run.end(2, "*", "crash", void=True, detail="llm-2 raised ValueError: no")
    assert plain.lines == [
        "run calm-rook-12: 2 games, seed 7, smollm2-135m",
        "game 1 goes on at ply 3",
        "game 1: llm-1 0-1 llm-4, checkmate, 4 plies",
        "game 2: llm-2 void llm-3, crash, 0 plies (llm-2 raised ValueError: no)",
    ]


def test_plain_progress_tells_the_figures_now_and_then(stage, plain):
    run = stage(games=2, reader=plain)
    run.start(1)
    run.sample()
    plain.now = 5.5
    run.sample()
    plain.now = 6.5
    run.sample()
    assert plain.lines[1:] == [
        "0/2 games done, 1 playing, 0 moves; 12.3 moves/s  ·  running 8  ·  queue 2  ·  "
        "TTFT p50 121 p95 312 ms  ·  cache hit 97.4%  ·  KV pages 64/364"
    ]


def test_what_an_agent_said_cannot_steer_the_terminal(stage, plain):
    run = stage(games=1, reader=plain)
    run.start(1)
    run.end(1, "0-1", "forfeit-unparsable", detail="it said \x1b[2J")
    plain.notify("a notice \x1b]0;title\x07")
    assert "\\x1b[2J" in plain.lines[-1]
    assert "\x1b" not in plain.lines[-1]
    assert "\x1b" not in plain.notices[-1]


def test_notices_of_plain_progress_go_to_stderr(plain, capsys):
    plain.notify("stopping")
    assert capsys.readouterr().err == "stopping\n"


def test_the_live_screen_draws_boards_and_gives_the_terminal_back(stage, capsys):
    out = console(color_system="256")
    with LiveScreen(out) as screen:
        run = stage(reader=screen)
        run.start(1, "e2e4")
        screen.notify("a notice")
        screen._live.refresh()
    drawn = out.file.getvalue()
    assert drawn.startswith("\x1b[?1049h")  # the alternate screen
    assert "calm-rook-12" in drawn
    assert "♜ " in drawn
    assert "\x1b[?1049l" in drawn
    assert capsys.readouterr().err == "a notice\n"


def test_the_live_screen_redraws_at_most_five_times_a_second():
    assert 1 <= terminal.REFRESH_PER_S <= 5


def test_a_drawing_fault_is_logged_once_and_the_screen_lives_on(stage, monkeypatch, caplog):
    def broken(*args):
        raise ZeroDivisionError("no width")

    monkeypatch.setattr(terminal, "render", broken)
    out = console()
    with LiveScreen(out) as screen, caplog.at_level(logging.ERROR):
        stage(reader=screen)
        screen._live.refresh()
        screen._live.refresh()
    assert "cannot draw the screen" in out.file.getvalue()
    assert [record.message for record in caplog.records] == ["cannot draw the screen; the games go on"]


class Named(io.StringIO):
    """A stream with an encoding."""

    def __init__(self, encoding):
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self):
        return self._encoding


@pytest.mark.parametrize(
    ("options", "palette"),
    [
        ({"color_system": "truecolor"}, Palette()),
        ({"color_system": "256"}, Palette()),
        ({"color_system": "standard"}, PLAIN),
        ({"color_system": None}, PLAIN),
        ({"color_system": "truecolor", "no_color": True}, PLAIN),
        ({"color_system": "truecolor", "file": Named("latin-1")}, PLAIN),
    ],
)
def test_figures_need_colours_and_characters(options, palette):
    assert palette_for(console(**{"file": Named("utf-8"), **options})) == palette


def test_no_color_is_respected(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert palette_for(console(file=Named("utf-8"), color_system="truecolor")) == PLAIN


def test_drawing_is_far_from_filling_the_time_between_two_redraws(full_stage):
    """A guard against a screen that starves the games, with a generous bound."""
    screen = LiveScreen(console(color_system="256", width=160, height=50))
    screen._view = full_stage(32).reader.view()
    costs_s = []
    for _ in range(10):
        begun = time.thread_time()  # of this thread alone, whatever else the machine does
        screen._console.print(screen)
        costs_s.append(time.thread_time() - begun)
    assert min(costs_s) < 1 / terminal.REFRESH_PER_S
