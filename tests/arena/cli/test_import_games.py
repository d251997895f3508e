"""`arena import`, and what other commands make of imported games."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

CASES = Path(__file__).parents[2] / "cases"
PGN = """[Event "Cup"]
[Date "????.??.??"]
[White "Ann"]
[Black "Bob"]
[Result "1-0"]
[WhiteElo "2000"]

1. e4 {fine} 1-0
"""


@pytest.fixture
def pgn(tmp_path):
    file = tmp_path / "cup.pgn"
    file.write_text(PGN)
    return file


@pytest.fixture
def gib_text():
    return (CASES / "sample.gib").read_text("utf-8")


def test_a_gib_file_becomes_a_run_that_can_be_listed_and_shown(arena):
    code, out, err = arena("import", CASES / "sample-cp949.gib", "--name", "cup")
    assert (code, err) == (0, "")
    assert out.startswith("2 games with 92 plies from sample-cp949.gib recorded as run 1 (cup).")
    games = json.loads(arena("games", "--json", "--run", "cup")[1])
    assert [(game["white"], game["plies"], game["termination"]) for game in games] == [
        ("초 견본", 30, "resignation"),
        ("초 견본", 62, "resignation"),
    ]
    shown = arena("show", 1)[1]
    assert "초 견본 (Cho) - 한 견본 (Han)" in shown
    assert "janggi, imported, 대회명 견본 대회" in shown
    assert "15. Rxd10+ Kxd10 16. Rc10+" in shown


def test_export_writes_the_gib_file_that_was_imported(arena, gib_text):
    arena("import", CASES / "sample.gib")
    code, out, err = arena("export", "--gib")
    assert (code, err) == (0, "")
    by_tags = [sorted(game.splitlines()) for game in out.split("\n\n[대회명")]
    assert by_tags == [sorted(game.splitlines()) for game in gib_text.split("\n\n[대회명")]


def test_export_writes_what_a_pgn_file_said(arena, pgn):
    arena("import", pgn)
    out = arena("export", "--pgn", 1)[1]
    for line in (
        '[Event "Cup"]',
        '[Date "????.??.??"]',
        '[White "Ann"]',
        '[WhiteElo "2000"]',
        '[ArenaGame "1"]',
        "1. e4 1-0",
    ):
        assert line in out.splitlines()
    assert "UTCDate" not in out
    assert "WhiteType" not in out


def test_json_names_the_run_and_its_games(arena, pgn):
    assert json.loads(arena("import", pgn, "--name", "cup", "--json")[1]) == {"run_id": 1, "name": "cup", "games": [1]}


def test_rules_can_be_chosen_for_gib(arena):
    assert arena("import", CASES / "sample.gib", "--game", "janggicasual")[0] == 0
    assert {game["game"] for game in json.loads(arena("games", "--json")[1])} == {"janggicasual"}


def test_a_damaged_file_leaves_nothing_behind(arena, db_path, tmp_path, gib_text):
    file = tmp_path / "cut.gib"
    file.write_text(gib_text[:-40], "utf-8")
    code, out, err = arena("import", file)
    assert (code, out) == (2, "")
    assert err.startswith("arena: cut.gib, game 2, line 25: 총수 is '30', but there are 26 moves")
    assert not db_path.exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("nowhere.pgn",), "cannot read nowhere.pgn: No such file or directory"),
        (("/",), "cannot read /: Is a directory"),
        (
            (CASES / "janggi_results.tsv",),
            "cannot tell the format of janggi_results.tsv: its name should end in .pgn or .gib",
        ),
        ((CASES / "sample.gib", "--name", "7"), "a run cannot be named '7'"),
    ],
)
def test_what_cannot_be_imported_is_said(arena, args, message):
    code, out, err = arena("import", *args)
    assert (code, out) == (2, "")
    assert err.startswith(f"arena: {message}")


def test_rules_of_janggi_are_not_for_pgn(arena, pgn):
    assert (
        arena("import", pgn, "--game", "janggi")[2] == "arena: --game janggi is for .gib files; cup.pgn holds chess\n"
    )


def test_the_same_file_twice_is_refused(arena, pgn):
    arena("import", pgn, "--name", "cup")
    assert arena("import", pgn)[::2] == (2, "arena: cup.pgn is in the record already, as run 1 (cup)\n")


def test_an_imported_run_cannot_be_resumed(arena, pgn):
    arena("import", pgn, "--name", "cup")
    code, _, err = arena("play", "--resume", "cup", "--plain")
    assert code == 2
    assert "cup" in err
