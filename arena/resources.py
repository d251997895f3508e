"""Where the installed data files are: `data/` of a checkout, `arena/_data` of an installed wheel."""

from __future__ import annotations

from pathlib import Path


def data_path(*parts: str) -> Path:
    """Path of a data file or folder, such as `data_path("prompts", "chess.toml")`. Raises FileNotFoundError."""
    here = Path(__file__).resolve().parent
    for root in (here / "_data", here.parent / "data"):
        path = root.joinpath(*parts)
        if path.exists():
            return path
    raise FileNotFoundError(f"data file {'/'.join(parts)} is not installed with arena")
