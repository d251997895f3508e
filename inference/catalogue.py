"""The models that are known by name, and where they lie once fetched."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from inference.errors import ModelError

FORMAT = 1
"""Version of the converted folders. A folder of another version is fetched again."""

MANIFEST = "arena.json"
"""Lists the files of a converted folder with size and sha256, and what they were made from."""


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A model that comes as a GGUF file inside a wheel of a package index."""

    name: str
    description: str
    license: str
    parameters: int
    distribution: str
    version: str
    wheel_sha256: str
    wheel_size: int  # bytes
    file: str  # path inside the wheel
    file_sha256: str


@cache
def catalogue() -> dict[str, CatalogueEntry]:
    """All known models by name, as `data/models.toml` lists them."""
    raw = tomllib.loads(_catalogue_file().read_text(encoding="utf-8"))
    return {name: CatalogueEntry(name=name, **entry) for name, entry in raw.items()}


def _catalogue_file() -> Path:
    """`data/` of a checkout, `arena/_data` beside an installed package. Raises FileNotFoundError."""
    root = Path(__file__).resolve().parent.parent
    for folder in (root / "arena" / "_data", root / "data"):
        if (folder / "models.toml").is_file():
            return folder / "models.toml"
    raise FileNotFoundError(f"data file models.toml is not installed beside {root / 'inference'}")


def entry(name: str) -> CatalogueEntry:
    """Raises ModelError that lists the names there are."""
    try:
        return catalogue()[name]
    except KeyError:
        raise ModelError(f"no model is called {name!r}; the catalogue has: {', '.join(catalogue())}") from None


def models_folder() -> Path:
    """Where converted models live: `$XDG_CACHE_HOME/arena/models`, by default under `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "arena" / "models"


def model_folder(name: str) -> Path:
    """The folder of one model, whether it is there or not."""
    return models_folder() / name


def int8_folder() -> Path:
    """Where models are kept in 8 bits, as inference/int8_store.py makes them."""
    return models_folder().parent / "int8"


def is_installed(name: str) -> bool:
    """Whether the model was fetched. A damaged folder counts: `read_manifest` says what is wrong with it."""
    return model_folder(name).is_dir()


def read_manifest(name: str) -> dict[str, Any]:
    """The manifest of a fetched model, after a look at every file's size.

    Raises ModelError that names the file if the folder is damaged.
    """
    folder = model_folder(name)
    cure = f"`arena models rm {name}` removes it, `arena models pull {name}` fetches it again"
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        sizes = {file: facts["size"] for file, facts in manifest["files"].items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{folder / MANIFEST} is missing or damaged; {cure}") from error
    if manifest.get("format") != FORMAT or manifest.get("gguf_sha256") != entry(name).file_sha256:
        raise ModelError(f"{folder} was made from another version of {name}; {cure}")
    for file, size in sizes.items():
        path = folder / file
        found = path.stat().st_size if path.is_file() else None
        if found != size:
            state = "is missing" if found is None else f"has {found} bytes instead of {size}"
            raise ModelError(f"{path} {state}; {cure}")
    return manifest


def remove(name: str) -> int:
    """Delete a fetched model, in 8 bits too; returns the bytes freed. Raises ModelError if there is none.

    The folder is renamed first, so that a removal that is cut short leaves nothing that looks like a model.
    """
    folder = model_folder(name)
    if not folder.is_dir():
        raise ModelError(f"model {name!r} is not in {models_folder()}")
    freed = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    doomed = folder.with_name(f".{name}.removed-{os.getpid()}")
    folder.rename(doomed)
    shutil.rmtree(doomed)
    for kept in int8_folder().glob(f"{entry(name).file_sha256}-*"):
        freed += kept.stat().st_size
        kept.unlink()
    return freed
