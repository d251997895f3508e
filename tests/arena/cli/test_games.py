import json

import pytest

from arena.events import RunEnded
from arena.store.apply import apply


@pytest.fixture
def busy(scribe):
    scribe = scribe(games=4, name="busy")
    scribe.play_out(1)
    scribe.play_out(2, ["e2e4"], "*", "crash", void=True)
    scribe.play_out(3)
    scribe.start(4, ["d2d4"])
    return scribe


def test_table_lists_the_newest_first(busy, arena):
    code, out, err = arena("games")
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["game", "run", "rules", "first", "second", "result", "plies", "ended", "by", "started"]
    assert [line[:6] for line in lines[1:]] == [
        ["4", "busy", "chess", "bob", "alice", "1"],
        ["3", "busy", "chess", "alice", "bob", "0-1"],
        ["2", "busy", "chess", "bob", "alice", "*"],
        ["1", "busy", "chess", "alice", "bob", "0-1"],
    ]
    assert lines[1][6] == "playing"
    assert "checkmate (same as 1)" in out
    assert "crash (void)" in out


def test_filters_and_limit(busy, arena):
    def listed(*args):
        code, out, _ = arena("games", "--json", *args)
        assert code == 0
        return [game["game_id"] for game in json.loads(out)]

    assert listed() == [4, 3, 2, 1]
    assert listed("--limit", 2) == [4, 3]
    assert listed("--termination", "crash") == [2]
    assert listed("--run", "busy", "--agent", "bob", "--result", "0-1") == [3, 1]
    assert listed("--run", 1, "--termination", "time") == []


def test_json_has_every_field(busy, arena):
    game = json.loads(arena("games", "--json", "--result", "*")[1])[0]
    assert game["void"] is True
    assert (game["run"], game["white"], game["termination"], game["plies"]) == ("busy", "bob", "crash", 1)
    assert game["started_at"].endswith("+00:00")


def test_no_match_is_said(busy, arena):
    assert arena("games", "--termination", "time") == (0, "No recorded game matches.\n", "")


def test_limit_is_said(busy, arena):
    assert "Only the newest 2 are listed" in arena("games", "--limit", "2")[1]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--run", "nowhere"), "there is no run nowhere; the latest are 1 (busy)"),
        (("--agent", "carol"), "no agent is named carol; there are alice, bob"),
    ],
)
def test_unknown_names_are_usage_errors(busy, arena, args, message):
    assert arena("games", *args) == (2, "", f"arena: {message}\n")


@pytest.mark.parametrize("command", [("games",), ("show", "1"), ("export", "--pgn")])
def test_missing_database_is_named_and_not_made(arena, db_path, command):
    code, out, err = arena(*command)
    assert (code, out) == (2, "")
    assert err.startswith(f"arena: there is no database at {db_path}: `arena play` makes one")
    assert not db_path.exists()


def test_db_option_names_another_record(busy, arena, db_path, tmp_path):
    other = tmp_path / "other.db"
    busy.db.close()  # moves the write-ahead log into the file
    db_path.rename(other)
    assert arena("games")[0] == 2
    assert json.loads(arena("games", "--db", other, "--json", "--limit", 1)[1])[0]["game_id"] == 4
    assert json.loads(arena("games", "--db", f"sqlite:///{other}", "--json", "--limit", 1)[1])[0]["run"] == "busy"


def test_recorded_text_cannot_move_the_terminal(scribe, arena):
    scribe = scribe()
    scribe.play_out(1, ["e2e4"], "1-0", "bad\x1b[2J[bold]\u202eend")
    out = arena("games")[1]
    assert "bad\\x1b[2J[bold]\\u202eend" in out
    assert "\x1b" not in out


def test_games_can_be_listed_while_a_run_writes(busy, arena):
    with busy.db.writing() as session:
        apply(session.connection(), RunEnded(run_id=1, status="finished"))
        code, out, _ = arena("games", "--json")
    assert (code, len(json.loads(out))) == (0, 4)
