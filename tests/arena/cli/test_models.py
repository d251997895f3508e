"""`arena models` from the command line."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from arena.cli.models import command
from arena.errors import ArenaError, UsageError


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture
def installed(tmp_path):
    """A folder that stands for the default model: whole by its manifest, though nothing can run it."""
    from inference.catalogue import FORMAT, catalogue

    folder = tmp_path / "arena" / "models" / "smollm2-135m"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    manifest = {
        "format": FORMAT,
        "gguf_sha256": catalogue()["smollm2-135m"].file_sha256,
        "files": {
            "config.json": {"size": 2, "sha256": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"}
        },
    }
    (folder / "arena.json").write_text(json.dumps(manifest))
    return folder


def run(*arguments):
    return CliRunner().invoke(command, arguments, standalone_mode=False)


def test_list_says_what_is_fetched(installed):
    rows = json.loads(run("list", "--json").stdout)
    row = next(row for row in rows if row["name"] == "smollm2-135m")
    assert (row["installed"], row["path"]) == (True, str(installed))
    assert f"135M parameters, Apache-2.0, in {installed}" in run("list").stdout


def test_list_says_what_a_fetch_would_cost():
    assert json.loads(run("list", "--json").stdout)[0]["installed"] is False
    assert "not fetched (93 MB)" in run("list").stdout


def test_path_prints_the_folder(installed):
    assert run("path", "smollm2-135m").stdout == f"{installed}\n"
    facts = json.loads(run("path", "smollm2-135m", "--json").stdout)
    assert facts["path"] == str(installed)
    assert facts["checksum"].startswith("b179c952")


def test_path_of_a_model_that_is_not_fetched_says_how_to_fetch_it():
    error = run("path", "smollm2-135m").exception
    assert isinstance(error, ArenaError)
    assert "`arena models pull smollm2-135m` fetches it" in str(error)


def test_path_of_a_damaged_model_says_what_is_wrong(installed):
    (installed / "config.json").unlink()
    assert "config.json is missing" in str(run("path", "smollm2-135m").exception)


def test_pull_of_a_whole_model_checks_it(installed):
    result = run("pull", "smollm2-135m")
    assert result.exception is None
    assert result.stderr == f"checking smollm2-135m\nsmollm2-135m is ready in {installed}\n"


def test_rm_removes_the_folder(installed):
    assert run("rm", "smollm2-135m").stdout.startswith("removed smollm2-135m")
    assert not installed.exists()
    assert "is not in" in str(run("rm", "smollm2-135m").exception)


@pytest.mark.parametrize("name", ["path", "pull", "rm"])
def test_an_unknown_model_is_bad_input(name):
    error = run(name, "huge").exception
    assert isinstance(error, UsageError)
    assert "no model is called 'huge'; the catalogue has: smollm2-135m" in str(error)
