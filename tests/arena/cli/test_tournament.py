"""`arena tournament` as a person uses it."""

import json

import pytest
import yaml

from arena.tournament.spec import read_spec

SPEC = {
    "name": "small",
    "format": "round-robin",
    "max_plies": 10,
    "openings": "start",
    "agents": [{"name": name, "spec": "random"} for name in ("ann", "bob", "cid")],
}


@pytest.fixture
def spec(tmp_path):
    def write(**changes):
        path = tmp_path / "spec.yaml"
        path.write_text(yaml.safe_dump(SPEC | changes))
        return path

    return write


def test_init_writes_a_spec_that_can_be_read_and_replaces_none(arena, tmp_path):
    path = tmp_path / "mine.yaml"
    assert arena("tournament", "init", path)[0] == 0
    assert read_spec(path).format == "round-robin"
    code, _, err = arena("tournament", "init", path)
    assert (code, err) == (2, f"arena: {path} exists already: give another path\n")


def test_run_plays_once_and_again_only_if_asked(arena, spec):
    path = spec()
    code, out, _ = arena("tournament", "run", path, "--plain")
    assert code == 0
    assert "6 of 6 games, finished" in out
    code, _, err = arena("tournament", "run", path)
    assert code == 2
    assert "finished as run 1" in err
    code, out, _ = arena("tournament", "run", path, "--new", "--json")
    assert (code, json.loads(out)["run_id"]) == (0, 2)


def test_standings_are_there_for_people_and_programs(arena, spec):
    arena("tournament", "run", spec(), "--plain")
    code, out, _ = arena("tournament", "standings")
    assert code == 0
    assert all(name in out for name in ("ann", "bob", "cid", "Elo", "points"))
    table = json.loads(arena("tournament", "standings", "1", "--json")[1])
    assert (table["games"], table["planned"], table["status"]) == (6, 6, "finished")
    assert sum(line["points"] for line in table["table"]) == 6
    assert all(line["tally"]["games"] == 4 for line in table["table"])


def test_an_anchor_that_lost_everything_does_not_define_the_scale(arena, spec):
    agents = [*SPEC["agents"], {"name": "bad", "spec": "python:agents.scripted:IllegalAgent"}]
    arena("tournament", "run", spec(agents=agents, anchor={"name": "bad", "elo": 800}), "--plain")
    out = arena("tournament", "standings")[1]
    assert "0 is the mean of the finite ratings, since bad has only a bound and cannot carry the scale at 800" in out
    assert "by definition" not in out
    arena("tournament", "run", spec(agents=agents, anchor={"name": "ann", "elo": 800}), "--plain")
    assert "Elo: ann is 800 by definition." in arena("tournament", "standings")[1]


def test_check_lets_each_agent_play_one_ply_and_names_who_cannot(arena, spec, db_path):
    code, out, _ = arena("tournament", "check", spec())
    assert code == 0
    assert "3 agents, 6 games of chess" in out
    agents = [*SPEC["agents"], {"name": "bad", "spec": "python:agents.scripted:IllegalAgent"}]
    code, out, err = arena("tournament", "check", spec(agents=agents))
    assert code == 1
    assert "forfeit-illegal" in out
    assert err.endswith("arena: bad gave no move: see above\n")
    assert not db_path.exists()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("run", "nowhere.yaml"), "nowhere.yaml: No such file or directory"),
        (("standings",), "there is no tournament in the record"),
        (("standings", "nope"), "there is no run nope"),
        (("standings", "1"), "run fair-pawn-1 is no tournament"),
        (("resume",), "there is no unfinished tournament in the record"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arena, command, message):
    arena("play", "--agent", "random", "--max-plies", "2", "--plain")
    code, _, err = arena("tournament", *command)
    assert code == 2
    assert err.startswith("arena: ")
    assert message in err


def test_a_tournament_is_not_resumed_by_play(arena, spec, monkeypatch):
    arena("tournament", "run", spec(), "--plain")
    monkeypatch.setattr("arena.runner.unfinished_run", lambda database, run: _load(database))
    code, _, err = arena("play", "--resume", "1")
    assert code == 2
    assert "`arena tournament resume` goes on with it" in err


def _load(database):
    from arena.store.runs import load_run

    return load_run(database, 1)
