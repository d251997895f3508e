"""The pages as a person uses them, in a real Chromium, at a desk and on a phone."""

import re
import threading
import time

import pytest

DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
PAGES = ("/", "/games", "/runs/1", "/runs/1/live", "/runs/1/standings", "/runs/1/engine", "/games/1", "/games/2")

NAMELESS = """
[...document.querySelectorAll("button, select, input, svg[role=img], main img")].filter((node) =>
  !(node.getAttribute("aria-label") || node.getAttribute("alt") || node.textContent.trim() || node.labels?.length)
).map((node) => node.outerHTML.slice(0, 80))
"""
"""What a screen reader would have no words for."""

BRIGHTNESS = """
[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor].map((colour) =>
  colour.match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0))
"""
"""Of ink and ground, from 0 to 765."""


@pytest.fixture(scope="module")
def chromium():
    pytest.importorskip("playwright", reason="playwright is not installed")
    from arena.errors import ArenaError
    from arena.web.screenshots import browser

    try:
        with browser() as running:
            yield running
    except ArenaError as error:
        pytest.skip(str(error))


@pytest.fixture
def page(chromium):
    """A page at a desk. A script that fails, or something that the policy blocks, fails the test."""
    page = chromium.new_page(viewport=DESK)
    page.set_default_timeout(120_000)
    troubles = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: troubles.append(message.text) if "Content Security" in message.text else None)
    yield page
    page.close()
    assert troubles == []


def ply(page):
    return int(page.locator("input[type=range]").input_value())


def wait_for_ply(page, wanted):
    from playwright.sync_api import expect

    expect(page.locator("input[type=range]")).to_have_value(str(wanted), timeout=120_000)


def sideways(page):
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def test_from_the_list_of_games_to_a_replay_by_keyboard(page, sample):
    page.goto(f"{sample.url}/games?termination=forfeit-unparsable")
    page.get_by_role("link", name="Game 1: gentle against bold").focus()
    page.keyboard.press("Enter")
    wait_for_ply(page, 0)
    for key, wanted in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 33), ("Home", 0)):
        page.keyboard.press(key)
        assert ply(page) == wanted
    page.keyboard.press("ArrowRight")
    assert page.locator(".moves [aria-current]").inner_text() == "e4"
    assert "White moves pawn e2 to e4" in page.locator("[aria-live]").inner_text()


def test_a_forfeit_shows_every_answer_that_was_no_move(page, sample):
    page.goto(f"{sample.url}/games/1#33")
    wait_for_ply(page, 33)
    said = page.locator(".detail .attempt.bad pre").all_inner_texts()
    assert said[-1] == "The position is <b>winning</b> for me"
    assert len(said) >= 3


def test_autoplay_goes_on_by_itself_until_it_is_stopped(page, sample):
    page.clock.install()
    page.goto(f"{sample.url}/games/1#0")
    wait_for_ply(page, 0)
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 1)
    page.keyboard.press("Space")
    page.clock.run_for(3100)  # one ply a second
    assert ply(page) == 3
    page.keyboard.press("+")
    page.clock.run_for(1100)  # two of them
    assert ply(page) == 5
    page.keyboard.press("Space")
    page.clock.run_for(5000)
    assert ply(page) == 5


def test_the_board_turns(page, sample):
    page.goto(f"{sample.url}/games/2")
    wait_for_ply(page, 0)
    names = ".board .player .name"
    before = page.locator(names).all_inner_texts()
    picture = page.locator(".board svg").first.inner_html()
    page.keyboard.press("f")
    assert page.locator(names).all_inner_texts() == before[::-1]
    assert page.locator(".board svg").first.inner_html() != picture


def test_the_next_game_is_a_key_away(page, sample):
    page.goto(f"{sample.url}/games/1")
    wait_for_ply(page, 0)
    page.keyboard.press("n")
    page.wait_for_url("**/games/2")
    page.wait_for_selector(".replay .links")
    page.keyboard.press("p")
    page.wait_for_url("**/games/1")


def test_a_replay_follows_a_game_that_is_played_and_says_each_move(page, web, scribe):
    run = scribe()
    run.start(1, ["e2e4"])
    page.goto(f"{web.url}/games/1")
    wait_for_ply(page, 1)
    run.write(run.played(1, "e7e5"))
    wait_for_ply(page, 2)
    assert "Black moves pawn e7 to e5" in page.locator("[aria-live]").inner_text()
    page.keyboard.press("Home")
    run.write(run.played(1, "g1f3"))
    page.locator(".moves [data-ply='3']").wait_for()
    assert ply(page) == 0  # who looks at an earlier move stays there
    run.write(run.ended(1, "1-0", "time"))
    page.get_by_text("White wins on time").wait_for()


def test_live_boards_move_while_games_are_played(page, web, scribe):
    run = scribe(games=3)
    run.start(1, ["e2e4"])
    page.goto(f"{web.url}/runs/1/live")
    assert page.locator(".board").count() == 1
    run.write(run.played(1, "e7e5"))
    page.locator("[data-game='1']").get_by_text("ply 2: e5").wait_for()  # the page hears of what happens from here on

    def play():
        run.start(2)
        for move in ("d2d4", "d7d5"):
            time.sleep(0.5)
            run.write(run.played(2, move))
        run.write(run.ended(1, "1-0", "forfeit-illegal"))

    playing = threading.Thread(target=play)
    playing.start()
    page.locator("[data-game='2']").get_by_text("ply 2: d5").wait_for()
    page.locator("[data-game='1'].over").get_by_text("White wins: Black answered with an illegal move").wait_for()
    playing.join()
    assert page.locator("#progress").inner_text() == "1 of 3 games finished"
    assert page.locator("[data-game='2'] img").get_attribute("alt") == "chess board after ply 2: alice played d5"
    assert "Game 1: White wins" in page.locator("[role=status]").inner_text()
    assert [item.get_attribute("data-game") for item in page.locator(".board").all()] == ["2", "1"]
    page.evaluate("Promise.all([...document.images].map((image) => image.decode()))")


def test_names_and_answers_that_try_to_be_markup_stay_text(page, web, hostile):
    for path in ("/games", "/runs/2", "/runs/2/live", "/games/2"):
        page.goto(web.url + path)
        if path == "/games/2":
            wait_for_ply(page, 0)
            page.keyboard.press("End")
            assert page.locator(".detail .attempt.bad pre").last.inner_text().startswith("<script>document")
        assert page.title() != "taken"
        assert page.locator("main b, main u, main i").filter(has_text=re.compile("^(bob|no move|o)$")).count() == 0
        assert sideways(page) <= 0, path


def test_every_page_fits_a_desk_and_a_phone_and_names_what_can_be_used(page, sample):
    for path in PAGES:
        page.goto(sample.url + path)
        if path.startswith("/games/"):
            page.locator(".replay .board svg").first.wait_for()
        for size in (DESK, PHONE):
            page.set_viewport_size(size)
            assert sideways(page) <= 0, (path, size)
        assert page.locator("main").count() == page.locator("h1").count() == 1, path
        assert page.evaluate(NAMELESS) == [], path


def test_dark_and_light_differ_and_both_can_be_read(page, sample):
    seen = {}
    page.goto(f"{sample.url}/games")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        seen[scheme] = page.evaluate(BRIGHTNESS)
    ink, ground = zip(seen["light"], seen["dark"], strict=True)
    assert ink[0] + 300 < ground[0]
    assert ground[1] + 300 < ink[1]
