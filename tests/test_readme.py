"""The README's Python runs as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)


def run(arguments, folder):
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def block(text):
    (found,) = [code for code in BLOCKS if text in code]
    return found


def test_the_engine_answers_as_the_readme_says(tmp_path, real_model):
    out = run(["-c", block("engine.generate")], tmp_path)
    assert "Paris" in out


def test_a_run_is_played_as_the_readme_says(tmp_path):
    out = run(["-c", block("RunConfig")], tmp_path)
    assert len(out.splitlines()) == 2
    assert (tmp_path / "games.db").exists()


@pytest.mark.parametrize(
    "command", re.findall(r"^    (arena play .*my_agent.*)$", (ROOT / "README.md").read_text(), re.M)
)
def test_the_example_agent_plays(tmp_path, command):
    (tmp_path / "my_agent.py").write_text(block("class Greedy"))
    arguments = command.replace("--agent llm", "--agent random").split()[1:]
    out = run(["-m", "arena", *arguments, "--max-plies", "6", "--json"], tmp_path)
    assert '"termination": "ply-limit"' in out
