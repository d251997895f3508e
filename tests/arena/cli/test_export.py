import io
import json
import os
import threading
from pathlib import Path

import chess.pgn
import pytest

SAMPLE = Path(__file__).parents[2] / "cases" / "sample.gib"


@pytest.fixture
def four(scribe):
    """Games 1 (mate), 2 (unfinished), 3 (void); game 4 has not started."""
    scribe = scribe(games=4, name="mine")
    scribe.play_out(1)
    scribe.start(2, ["e2e4"])
    scribe.play_out(3, [], "*", "infrastructure", void=True)
    return scribe


def read_all(text):
    stream = io.StringIO(text)
    games = list(iter(lambda: chess.pgn.read_game(stream), None))
    assert all(game.errors == [] for game in games)
    return [(game.headers["ArenaGame"], game.headers["Result"], len([*game.mainline_moves()])) for game in games]


def test_all_started_games_go_to_the_screen(four, arena):
    code, out, err = arena("export", "--pgn")
    assert (code, err) == (0, "")
    assert read_all(out) == [("1", "0-1", 4), ("2", "*", 1), ("3", "*", 0)]


def test_named_games_come_in_the_order_named(four, arena):
    assert read_all(arena("export", "--pgn", 4, 1)[1]) == [("4", "*", 0), ("1", "0-1", 4)]


def test_games_of_a_run(four, scribe, arena):
    other = scribe()
    other.play_out(5)
    assert read_all(arena("export", "--pgn", "--run", other.run.name)[1]) == [("5", "0-1", 4)]
    assert len(read_all(arena("export", "--pgn", "--run", "mine")[1])) == 3


def test_file_is_written_whole(four, arena, tmp_path):
    target = tmp_path / "games.pgn"
    target.write_text("old")
    code, out, err = arena("export", "--pgn", "-o", target)
    assert (code, out, err) == (0, "", f"3 games written to {target}\n")
    assert len(read_all(target.read_text("utf-8"))) == 3
    assert sorted(path.name for path in tmp_path.glob("*games*")) == ["games.pgn"]


def test_failed_export_leaves_the_old_file(four, arena, tmp_path):
    target = tmp_path / "games.pgn"
    target.write_text("old")
    code, _, err = arena("export", "--pgn", "-o", target, 1, 99)
    assert (code, err) == (2, "arena: there is no game 99; the record holds games 1 to 4\n")
    assert target.read_text() == "old"
    assert sorted(path.name for path in tmp_path.glob("*games*")) == ["games.pgn"]


def test_pipe_is_written_as_it_comes(four, arena, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    said = []
    reader = threading.Thread(target=lambda: said.append(pipe.read_text()))
    reader.start()
    assert arena("export", "--pgn", "-o", pipe, 1)[0] == 0
    reader.join()
    assert read_all(said[0]) == [("1", "0-1", 4)]


def test_link_keeps_pointing_at_the_file(four, arena, tmp_path):
    target, link = tmp_path / "real.pgn", tmp_path / "link.pgn"
    link.symlink_to(target)
    assert arena("export", "--pgn", "-o", link, 1)[0] == 0
    assert link.is_symlink()
    assert len(read_all(target.read_text())) == 1


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ((), 2, "say which format to write: --pgn, --gib, --jsonl, --text, --html, --svg, --gif or --site DIR"),
        (("--pgn", "--run", "mine", 1), 2, "name games or a run, not both"),
        (("--pgn", "--run", "yours"), 2, "there is no run yours; the latest are 1 (mine)"),
        (("--pgn", "-o", "/nowhere/at/all.pgn"), 1, "cannot write /nowhere/at/all.pgn: No such file or directory"),
    ],
)
def test_what_cannot_be_done_is_said(four, arena, args, code, message):
    assert arena("export", *args) == (code, "", f"arena: {message}\n")


def test_record_without_started_games_has_nothing_to_export(scribe, arena):
    scribe(name="mine")
    assert arena("export", "--pgn")[::2] == (2, "arena: no game has started: there is nothing to export\n")


def test_jsonl_has_one_object_a_game_with_moves_and_figures(four, arena):
    games = [json.loads(line) for line in arena("export", "--jsonl")[1].splitlines()]
    assert [(game["game_id"], game["result"], len(game["moves"])) for game in games] == [
        (1, "0-1", 4),
        (2, None, 1),
        (3, "*", 0),
    ]
    move = games[0]["moves"][0]
    assert (move["move"], move["san"], move["cached_tokens"], move["ttft_ms"]) == ("f2f3", "f3", 30, 120.0)
    assert games[0]["source_tags"] is None


def test_games_that_do_not_fit_are_left_out_with_a_note_or_refused_by_name(four, arena):
    arena("import", SAMPLE)
    code, out, err = arena("export", "--gib")
    assert (code, out.count("[초대국자 "), err) == (
        0,
        2,
        "3 games left out, for instance: game 1 is chess: .gib can be written for janggi only\n",
    )
    assert arena("export", "--gib", 1)[::2] == (2, "arena: game 1 is chess: .gib can be written for janggi only\n")
    assert arena("export", "--pgn", 5)[::2] == (2, "arena: game 5 is janggi: PGN can be written for chess only\n")
    assert "2 games left out" in arena("export", "--pgn")[2]


def test_nothing_that_fits_is_an_error(four, arena):
    assert arena("export", "--gib")[::2] == (2, "arena: game 1 is chess: .gib can be written for janggi only\n")


def test_only_one_format_is_taken(four, arena):
    assert arena("export", "--pgn", "--gib", 1)[0] == 2


def test_page_of_one_game_goes_to_a_file(four, arena, tmp_path):
    target = tmp_path / "game.html"
    assert arena("export", 1, "--html", "-o", target) == (0, "", f"1 game written to {target}\n")
    assert target.read_text("utf-8").startswith("<!doctype html>")


def test_board_after_a_ply_is_a_picture(four, arena):
    code, out, _ = arena("export", 1, "--svg", "--ply", 1)
    assert (code, out[:4]) == (0, "<svg")
    assert out != arena("export", 1, "--svg")[1]


def test_animation_has_a_frame_for_every_ply(four, arena, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="needs the extra gif")
    target = tmp_path / "game.gif"
    assert arena("export", 1, "--gif", "-o", target)[0] == 0
    with image.open(target) as picture:
        assert (picture.n_frames, picture.size) == (5, (480, 540))


def test_text_says_who_won_and_how(four, arena):
    out = arena("export", 1, "--text")[1]
    assert "1. f3 e5 2. g4 Qh4# 0-1" in out
    assert "Black wins by checkmate." in out


def test_site_has_a_page_for_every_game(four, arena, tmp_path):
    folder = tmp_path / "site"
    assert arena("export", "--site", folder)[0] == 0
    assert sorted(path.name for path in folder.iterdir()) == ["game-1.html", "game-2.html", "game-3.html", "index.html"]
    code, _, err = arena("export", "--site", folder)
    assert (code, "not empty" in err) == (2, True)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("1", "--svg", "--ply", "9"), "game 1 has plies 0 to 4, not 9"),
        (("1", "--pgn", "--ply", "2"), "--ply 2 goes with --svg only"),
        (("--html",), "--html writes one game a file, not 3: name one, or use --site DIR for all"),
        (("1", "--gif"), "a GIF is no text for a screen: name a file with -o FILE, or -o - for a pipe"),
        (("--site", "x", "--pgn"), "--site x writes pages into a folder: leave out --pgn"),
    ],
)
def test_pictures_and_pages_say_what_they_need(four, arena, args, message):
    assert arena("export", *args) == (2, "", f"arena: {message}\n")


def test_viewer_needs_a_terminal(four, arena):
    code, _, err = arena("replay", 1)
    assert (code, "needs a terminal" in err) == (2, True)
