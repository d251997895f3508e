"""The page of a game in a real browser."""

from __future__ import annotations

import shutil

import pytest

from arena.replay.pages import replay_page
from arena.replay.viewmodel import replay_of

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")


@pytest.fixture(scope="module")
def tab():
    """A tab of a browser, and what went wrong in it."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    faults = []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(120_000)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: message.type == "error" and faults.append(message.text))
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        page.on("request", lambda request: request.url.startswith("http") and faults.append(request.url))
        yield page, faults
        browser.close()


@pytest.fixture
def visit(tab, tmp_path):
    """Opens the page of a game from a file. Fails the test if the page reports an error or loads anything else."""
    page, faults = tab

    def opened(detail, width=1200):
        file = tmp_path / "game.html"
        file.write_text(replay_page(replay_of(detail), saved={"game-7.pgn": "1. e4"}), encoding="utf-8")
        page.set_viewport_size({"width": width, "height": 850})
        page.goto(file.as_uri())
        return page

    yield opened
    assert faults == []


def words(page):
    return page.locator(".replay > .hidden-words").inner_text()


def test_keys_step_through_the_game(visit, scholars_mate):
    page = visit(scholars_mate)
    seen = []
    for key in ("End", "ArrowLeft", "Home", "ArrowRight", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
        seen.append(words(page).split(".")[0])
    assert seen == [
        "Ply 7: White moves queen h5 to f7, takes pawn, check",
        "Ply 6: Black moves knight g8 to f6",
        "Start",
        "Ply 1: White moves pawn e2 to e4",
        "Ply 2: Black moves pawn e7 to e5",
        "Ply 3: White moves bishop f1 to c4",
    ]
    assert page.locator(".attempt.bad").count() == 2
    assert page.locator("[aria-current]").inner_text() == "Bc4"


def test_a_move_is_shown_with_what_it_could_have_been(visit, scholars_mate):
    page = visit(scholars_mate)
    page.evaluate("location.hash = '#5'")
    page.locator("[data-ply='5'][aria-current]").wait_for()
    shown = page.locator(".ways ol").all()
    assert [way.locator("li").all_text_contents() for way in shown] == [
        ["Q…50.0%, taken", "N…30.0%", "d4<0.1%"],
        ["Qf360.0%", "Qh540.0%, taken"],
    ]
    assert page.locator(".ways .taken").count() == 2


def test_space_plays_to_the_end_and_plus_makes_it_faster(visit, scholars_mate):
    page = visit(scholars_mate)
    for key in ("+", "+", "+", "+", "Space"):
        page.keyboard.press(key)
    assert page.locator(".speed").inner_text() == "fixed × 16"
    page.locator("[data-ply='7'][aria-current]").wait_for()


def test_f_turns_the_board(visit, scholars_mate):
    page = visit(scholars_mate)
    below = page.locator(".player").last
    assert below.inner_text().startswith("White")
    page.keyboard.press("f")
    assert below.inner_text().startswith("Black")
    assert page.locator(".board svg[role=img] text").first.inner_html() == "h"


def test_what_agents_wrote_is_text(visit, scholars_mate):
    page = visit(scholars_mate)
    page.evaluate("location.hash = '#4'")
    page.locator("[data-ply='4'][aria-current]").wait_for()
    said = page.locator(".attempt pre").inner_text()
    assert said.startswith("</script><script>alert(1)</script>")
    assert said.endswith("x" * 10_000)
    assert page.locator("h1").inner_text() == "<img src=x onerror=alert(1)> – bob"
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_sticks_out_at_the_side(visit, scholars_mate, width):
    page = visit(scholars_mate, width=width)
    page.evaluate("location.hash = '#4'")
    page.locator("[data-ply='4'][aria-current]").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_janggi_shows_all_pieces_and_other_faces(visit, game):
    page = visit(game(("a4b4",), "janggi"))
    board = page.locator(".board svg[role=img]")
    assert board.locator("text", has_text="楚").count() == 1
    page.keyboard.press("t")
    assert board.locator("text", has_text="초").count() == 1
    assert board.evaluate("(svg) => svg.children.length") == 1 + 2 + 32  # the board, two marks, the pieces


def test_more_moves_are_followed_only_from_the_end(visit, game):
    page = visit(game(("e4", "e5")))
    longer = replay_page(replay_of(game(("e4", "e5", "Nf3"))))
    newer = longer.split('id="game">')[1].split("</script>")[0]
    page.evaluate(
        "(text) => { const first = JSON.parse(document.getElementById('game').textContent);"
        " document.body.innerHTML = '<main></main>';"
        " window.viewer = ArenaReplay.mount(document.querySelector('main'), first);"
        " viewer.update(JSON.parse(text).replay); }",
        newer,
    )
    assert words(page).startswith("Ply 3: White moves knight g1 to f3")


def test_help_names_the_keys(visit, scholars_mate):
    page = visit(scholars_mate)
    page.keyboard.press("?")
    assert "turn the board" in page.locator("dialog[open]").inner_text()
    page.keyboard.press("?")
    assert page.locator("dialog[open]").count() == 0


def test_e_saves_the_game(visit, scholars_mate):
    page = visit(scholars_mate)
    with page.expect_download() as download:
        page.keyboard.press("e")
    assert download.value.suggested_filename == "game-7.pgn"


def test_dark_and_light(visit, scholars_mate):
    page = visit(scholars_mate)
    page.emulate_media(color_scheme="dark")
    colour = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(colour)
    page.keyboard.press("m")
    assert page.evaluate(colour) != dark
