"""`arena bench start`: a real start of a small model, and what is made of the times that processes report."""

import json
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from arena.bench import start
from arena.bench.start import PHASES, start_of
from inference.catalogue import model_folder
from inference.models.config import ModelConfig
from inference.models.weights import tensor_shapes


@pytest.fixture
def small_folder(tmp_path, real_model):
    """A model folder: the default model's tokenizer, and next to no weights."""
    folder = tmp_path / "small"
    folder.mkdir()
    source = model_folder("smollm2-135m")
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        shutil.copy(source / name, folder)
    shape = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
    }
    raw = json.loads((source / "config.json").read_text()) | shape | {"head_dim": 8}
    (folder / "config.json").write_text(json.dumps(raw))
    weights = {name: torch.full(size, 0.1) for name, size in tensor_shapes(ModelConfig.from_hf(raw)).items()}
    save_file(weights, folder / "model.safetensors")
    return folder


def test_a_process_tells_when_each_phase_ended(small_folder):
    seconds = start_of(
        ["bench", "start", "--once", "--model", str(small_folder), "--weights", "float32", "--kv-memory", "16"]
    )
    assert tuple(seconds) == PHASES
    assert all(second > 0 for second in seconds.values())


@pytest.fixture
def processes(monkeypatch):
    """Stands in for processes: start number n, of which `--help` is none, has phases of n, n, ... seconds. A list of
    (arguments behind `arena`, whether it was given an empty folder for compiled code)."""
    asked = []

    def run(arguments, *, env, **_):
        folder = env.get("NUMBA_CACHE_DIR")
        asked.append((arguments[3:], folder is not None and not list(Path(folder).iterdir())))
        if arguments[-1] == "--help":
            return subprocess.CompletedProcess(arguments, 0, "usage", "")
        number = len(asked)
        ends = {phase: 1000 + number * (index + 1) for index, phase in enumerate(PHASES)}
        return subprocess.CompletedProcess(arguments, 0, json.dumps(ends), "")

    monkeypatch.setattr(start.subprocess, "run", run)
    monkeypatch.setattr(start.time, "monotonic", lambda: 1000.0)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    return asked


def test_the_first_start_does_not_count_and_a_cold_one_is_told_apart(arena, processes):
    code, out, _ = arena("bench", "start", "--times", "2", "--kv", "int8", "--cold", "--json")
    assert code == 0
    told = json.loads(out)
    assert (told["model"], told["times"]) == ("smollm2-135m", 2)
    assert list(told["seconds"]) == [*PHASES, "total"]
    assert all(told["seconds"][phase] == {"best": 2, "median": 2.5} for phase in PHASES)
    assert told["seconds"]["total"] == {"best": 2 * len(PHASES), "median": 2.5 * len(PHASES)}
    assert told["cold_seconds"] == 4 * len(PHASES)
    assert [empty for _, empty in processes] == [False, False, False, True, False, False]
    for arguments, _ in processes[:4]:
        assert arguments[:3] == ["bench", "start", "--once"]
        assert arguments[arguments.index("--kv") + 1] == "int8"
        assert "--threads" not in arguments
    assert [arguments for arguments, _ in processes[4:]] == [["--help"]] * 2


def test_the_table_names_every_phase(arena, processes):
    code, out, _ = arena("bench", "start", "--times", "1")
    assert code == 0
    assert out.splitlines()[6].split() == ["all", "10.00", "10.00"]
    assert "Starts of smollm2-135m: 1. `arena --help` takes 0.00 s." in out
    assert "compile" not in out


def test_a_process_that_fails_fails_the_command_in_its_own_words(arena):
    code, out, err = arena("bench", "start", "--model", "nobody-knows-it")
    assert (code, out) == (2, "")
    assert err.startswith("arena: 'nobody-knows-it' names no model")


def test_a_phase_over_several_starts_has_its_best_and_median():
    starts = [dict.fromkeys(PHASES, seconds) for seconds in (3.0, 1.0, 8.0)]
    assert asdict(start.summary(starts)["model"]) == {"best": 1.0, "median": 3.0}
