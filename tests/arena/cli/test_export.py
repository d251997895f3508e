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
