"""The live screen at fixed sizes."""

from __future__ import annotations

import pytest
from rich.console import Console

from arena.events import EngineSampled
from arena.live.board import PLAIN, Palette
from arena.live.screen import fit, render
from arena.live.state import GameView, RunView
from games import get_game

CHESS = (16, 8)


def words(text):
    return text.split()


def lines(view, width, height, **options):
    return [line.plain for line in render(view, width, height, **options)]


def test_eight_boards_fill_a_classic_terminal(full_stage):
    shown = lines(full_stage().reader.view(), 80, 24)
    assert len(shown) == 24
    assert shown[0] == " arena  calm-rook-12  seed 7   2/8 games done, 5 playing, 1 void  8 moves  0:00 "
    assert shown[1].split() == words("llm-1 – llm-16 llm-2 – llm-15 llm-3 – llm-14 llm-4 – llm-13")
    assert shown[2] == "  r n b q k b n r   " * 4
    assert shown[7] == "  · · · · ·>N · ·   " * 4
    assert shown[10].split()[:2] == ["1-0", "forfeit-illegal"]
    assert "½-½ threefold-repe…" in shown[10]
    assert "void crash" in shown[10]
    assert shown[10].endswith("2. Nf3     ply 3   ")
    assert shown[12].split()[:3] == ["llm-5", "–", "llm-12"]
    assert shown[-1] == " 12.3 moves/s · run 8 · queue 2 · TTFT 121/312 ms · hit 97% · KV 64/364"


def test_a_wide_terminal_has_long_labels_and_room_between_the_boards(full_stage):
    shown = lines(full_stage(16).reader.view(), 160, 50)
    assert shown[0].startswith(" arena  calm-rook-12  seed 7  smollm2-135m  ")
    assert shown[0].endswith("  2/16 games done, 13 playing, 1 void  16 moves  0:00 ")
    assert shown[-1] == (
        " 12.3 moves/s  ·  running 8  ·  queue 2  ·  TTFT p50 121 p95 312 ms  ·  cache hit 97.4%  ·  KV pages 64/364"
    )
    assert [index for index, line in enumerate(shown) if " – " in line] == [2, 13]
    assert shown[2].count(" – ") == 8


def test_games_that_have_no_room_for_a_board_are_rows(full_stage):
    shown = lines(full_stage(16).reader.view(), 80, 24)
    assert sum("r n b q" in line for line in shown) == 1
    rows = [line for line in shown if line.count(" – ") == 2]
    assert len(rows) == 6
    assert rows[0].split() == words("llm-5 – llm-28 2. Nf3 ply 3 llm-6 – llm-27 2. Nf3 ply 3")


def test_games_that_have_no_room_at_all_are_counted(full_stage):
    shown = lines(full_stage(60).reader.view(), 80, 24)
    text = "\n".join(shown)
    rows = sum(line.count(" – ") for line in shown)
    assert f"and {60 - rows} more games" in text
    assert rows > 4


@pytest.mark.parametrize("width", [10, 17, 18, 30, 40, 79, 81, 120, 200])
@pytest.mark.parametrize("height", [1, 2, 3, 8, 12, 13, 24, 60])
@pytest.mark.parametrize("games", [3, 8, 40])
def test_nothing_is_ever_wider_or_higher_than_the_terminal(full_stage, width, height, games):
    stage = full_stage(games)
    stage.reader.notify("a notice that is rather long, longer than a narrow terminal is wide")
    for palette in (Palette(), Palette(figures=False)):
        shown = render(stage.reader.view(), width, height, palette)
        assert len(shown) == height
        assert max(line.cell_len for line in shown) <= width


def test_long_names_are_shortened_and_keep_their_number(stage):
    run = stage()
    for game_id in range(1, 5):
        run.start(game_id, white="IllegalAgent-12", black="ContemplativeAgent-3")
    (names,) = [line for line in lines(run.reader.view(), 80, 24) if " – " in line]
    assert words(names) == ["Ille…-12", "–", "Conte…-3"] * 4


def test_names_with_markup_or_wide_characters_are_shown_as_they_are(stage):
    run = stage()
    run.start(1, white="[red]x", black="한글이름")
    shown = render(run.reader.view(), 80, 24)
    assert any("[red]x – 한글이름" in line.plain for line in shown)
    assert all(line.cell_len <= 80 for line in shown)


def test_a_notice_stands_above_the_figures(full_stage):
    stage = full_stage()
    stage.reader.notify("Finishing 5 running games")
    assert lines(stage.reader.view(), 80, 24)[-2] == " Finishing 5 running games"


def test_before_the_first_game_the_screen_says_so():
    shown = lines(RunView(), 80, 24)
    assert any("getting the agents ready" in line for line in shown)


def test_a_run_without_an_engine_shows_its_speed_only(stage):
    run = stage()
    run.start(1)
    run.reader.read(EngineSampled(run_id=1, figures={"moves_per_s": 99.5}))
    assert lines(run.reader.view(), 80, 24)[-1] == " 99.5 moves/s"


def test_the_side_to_move_and_the_winner_stand_out(full_stage):
    shown = render(full_stage().reader.view(), 80, 24)
    console = Console(width=80)
    styles = {part.text.strip(): str(part.style) for part in console.render(shown[1])}
    assert (styles["llm-1"], styles["llm-16"]) == ("bold green", "dim")
    assert (styles["llm-4"], styles["llm-13"]) == ("none", "bold")


def test_without_colour_nothing_but_text_and_weight_is_written(full_stage):
    console = Console(width=80, height=24, force_terminal=True, color_system="256", no_color=True, record=True)
    for line in render(full_stage().reader.view(), 80, 24):
        with console.capture() as written:
            console.print(line, end="")
        codes = {code for part in written.get().split("\x1b[")[1:] for code in part.partition("m")[0].split(";")}
        assert codes <= {"0", "1", "2"}


@pytest.mark.parametrize(
    ("games", "size", "boards", "columns"),
    [
        (8, (80, 21), 8, 4),
        (8, (160, 47), 8, 8),
        (1, (80, 21), 4, 1),
        (16, (80, 21), 4, 4),
        (9, (80, 21), 8, 4),
        (3, (17, 40), 0, 0),
        (3, (80, 9), 0, 0),
    ],
)
def test_the_layout_shows_as_many_boards_as_fit_with_every_game(games, size, boards, columns):
    layout = fit(games, *size, CHESS)
    assert layout.columns == columns
    assert min(layout.boards, games) == min(boards, games)


@pytest.mark.parametrize("palette", [PLAIN, Palette()])
def test_boards_of_two_games_stand_side_by_side(palette):
    fens = {name: get_game(name).position().fen for name in ("janggi", "chess")}
    games = [GameView(n, name, f"llm-{n}", "b", fens[name], 0, "first") for n, name in enumerate(fens, start=1)]
    shown = render(RunView(games=2, slots=tuple(games)), 44, 14, palette)
    assert shown[1].plain.split() == words("llm-1 – b llm-2 – b")
    assert all(line.cell_len <= 44 for line in shown)
    rooks = [line.plain.count("R" if palette is PLAIN else "♜") for line in shown]
    assert sum(rooks) == 4
    status = [index for index, line in enumerate(shown) if "to begin" in line.plain]
    assert status == [10, 12]
