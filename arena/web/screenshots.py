"""The pictures of the README: pages of a sample record in a real browser, and the terminal's replay.

python -m arena.web.screenshots     writes data/screenshots/*.png
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

import click

from arena.errors import ArenaError
from arena.web.sample import write_sample
from arena.web.serve import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FOLDER = Path("data/screenshots")
MAX_BYTES = 100_000
"""Pictures live in the repository: a larger one is an error."""

COLOURS = 255
"""Enough for flat pages, and a third of the bytes of full colour."""

LOADED = ".boards img, .chart svg, .replay .board svg, table"


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture of the page at `path`, in a window of `width` by `height`."""

    name: str
    path: str
    width: int
    height: int
    scheme: Literal["light", "dark"] = "light"


SHOTS = (
    Shot("web-replay", "/games/1#20", 1180, 860),
    Shot("web-replay-phone", "/games/2#32", 390, 844, "dark"),
    Shot("web-live", "/runs/1/live", 1180, 980),
    Shot("web-engine", "/runs/1/engine", 1180, 760, "dark"),
)


def chromium() -> str:
    """Path of a Chromium or Chrome of this system: `CHROMIUM`, or the first on the PATH. Raises ArenaError."""
    names = (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome", "chrome")
    found = next((path for name in names if name and (path := shutil.which(name))), None)
    if found is None:
        raise ArenaError("no Chromium is on the PATH: install one, or name it in CHROMIUM")
    return found


@contextmanager
def browser() -> Iterator[Browser]:
    """A Chromium without a window. Raises ArenaError where there is none."""
    from playwright.sync_api import sync_playwright

    path = chromium()
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield running
        finally:
            running.close()


def take(running: Browser, url: str, shot: Shot, folder: Path) -> Path:
    """Writes the picture into `folder`. Raises ArenaError for one that is too large to keep."""
    from PIL import Image

    page = running.new_page(viewport={"width": shot.width, "height": shot.height}, color_scheme=shot.scheme)
    page.goto(url.rstrip("/") + shot.path)
    page.wait_for_selector(LOADED)
    page.evaluate("Promise.all([...document.images].map((image) => image.decode()))")
    target = folder / f"{shot.name}.png"
    drawn = Image.open(BytesIO(page.screenshot()))
    page.close()
    coloured = drawn.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    coloured.save(target, optimize=True)
    if (size := target.stat().st_size) > MAX_BYTES:
        raise ArenaError(f"{target} has {size:,} bytes, more than {MAX_BYTES:,}: show less in it")
    return target


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as work:
        record = Path(work) / "sample.db"
        write_sample(record)
        with serving(record) as url, browser() as running:
            for shot in SHOTS:
                target = take(running, url, shot, FOLDER)
                click.echo(f"{target}  {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    try:
        main()
    except ArenaError as error:
        sys.exit(f"screenshots: {error}")
