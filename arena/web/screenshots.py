"""The pictures of the README: pages of a sample record in a real browser, and the terminal's replay.

python -m arena.web.screenshots     writes data/screenshots/*.png
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

import click

from arena.errors import ArenaError
from arena.store.database import Database
from arena.web.sample import write_sample
from arena.web.serve import serving
from games import get_game
from games.pictures import board_svg

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FOLDER = Path("data/screenshots")
MAX_BYTES = 100_000
"""Pictures live in the repository: a larger one is an error."""

TERMINAL, TERMINAL_WIDTH = (132, 46), 1180
"""Columns and lines of the terminal, and the width of its picture."""

JANGGI_MOVES = ("71졸72", "49병48")
BOARD_WIDTH = 420
"""Of the picture of a board that stands alone."""

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
    Shot("web-replay", "/games/1#20", 1180, 1040),
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


def take(running: Browser, url: str, shot: Shot) -> Path:
    """Writes the picture of a page. Raises ArenaError for one that is too large to keep."""
    page = running.new_page(viewport={"width": shot.width, "height": shot.height}, color_scheme=shot.scheme)
    page.goto(url.rstrip("/") + shot.path)
    page.wait_for_selector(LOADED)
    page.evaluate("Promise.all([...document.images].map((image) => image.decode()))")
    picture = page.screenshot()
    page.close()
    return keep(picture, shot.name)


async def terminal(record: Path, game: int, keys: Sequence[str]) -> str:
    """What `arena replay` shows of a game after some keys, as SVG."""
    from arena.replay.terminal.app import ReplayApp
    from arena.replay.terminal.record import Filters
    from arena.replay.terminal.record import Record as Viewed

    with Database.open(record, create=False) as database:
        app = ReplayApp(Viewed(database, Filters()), first_game=game)
        async with app.run_test(size=TERMINAL) as pilot:
            await pilot.pause()
            await pilot.press(*keys)
            await pilot.pause()
            return app.export_screenshot(title=f"arena replay {game}")


def take_drawn(running: Browser, drawn: str, name: str, width: int) -> Path:
    """Writes an SVG as a picture of this width. Raises ArenaError for one that is too large to keep."""
    page = running.new_page(viewport={"width": width, "height": 400})
    page.set_content(f"<style>body {{ margin: 0 }} svg {{ display: block; width: 100% }}</style>{drawn}")
    picture = page.locator("svg").first.screenshot()
    page.close()
    return keep(picture, name)


def janggi_board() -> str:
    """A janggi board as SVG, as `arena position --game janggi --svg` draws it."""
    position = get_game("janggi").position()
    for written in JANGGI_MOVES:
        position = position.play(position.parse(written))
    return board_svg(position, last_move=position.moves[-1])


def keep(picture: bytes, name: str) -> Path:
    """Writes a picture in fewer colours. Raises ArenaError for one that is too large to keep."""
    from PIL import Image

    target = FOLDER / f"{name}.png"
    drawn = Image.open(BytesIO(picture))
    coloured = drawn.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE)
    coloured.save(target, optimize=True)
    if (size := target.stat().st_size) > MAX_BYTES:
        raise ArenaError(f"{target} has {size:,} bytes, more than {MAX_BYTES:,}: show less in it")
    return target


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as work:
        record = Path(work) / "sample.db"
        write_sample(record)
        drawn = asyncio.run(terminal(record, 1, ["home", *["right"] * 20]))
        with serving(record) as url, browser() as running:
            for shot in SHOTS:
                _tell(take(running, url, shot))
            _tell(take_drawn(running, drawn, "terminal-replay", TERMINAL_WIDTH))
            _tell(take_drawn(running, janggi_board(), "janggi", BOARD_WIDTH))


def _tell(target: Path) -> None:
    click.echo(f"{target}  {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    try:
        main()
    except ArenaError as error:
        sys.exit(f"screenshots: {error}")
