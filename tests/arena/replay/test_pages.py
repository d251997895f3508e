"""Pages that need nothing but themselves, as text; what a browser makes of them is in test_browser.py."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

from arena.replay.pages import list_page, replay_page, script_json
from arena.replay.site import site_pages
from arena.replay.viewmodel import replay_json, replay_of

VOID = {"meta", "link", "input", "br", "img"}


class Outline(HTMLParser):
    """Tags in order, checked to be closed, with the addresses that they load and the text of each script."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.loaded, self.scripts = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.loaded += [value for name, value in attrs if name in ("src", "href", "srcset", "data")]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data


def outline(page):
    found = Outline()
    found.feed(page)
    found.close()
    assert found.open == []
    return found


@pytest.fixture
def page(scholars_mate):
    return replay_page(replay_of(scholars_mate), saved={"game-7.pgn": "1. e4"})


def test_page_is_well_formed_and_loads_nothing(page):
    found = outline(page)
    assert found.loaded == ["data:,"]
    assert page.count("http") == page.count("http-equiv") + page.count("http://www.w3.org/2000/svg")


def test_what_agents_wrote_adds_no_elements(page, game):
    plain = replay_page(replay_of(game(("e4",))))
    assert outline(page).tags == outline(plain).tags


def test_page_holds_the_view_model(page, scholars_mate):
    data = json.loads(outline(page).scripts[0])
    assert data["replay"] == json.loads(json.dumps(replay_json(replay_of(scholars_mate))))
    assert data["files"] == {"game-7.pgn": "1. e4"}


def test_json_in_a_script_cannot_end_it():
    text = script_json({"a": "</script><!-- & \u2028"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": "</script><!-- & \u2028"}


def test_site_links_every_game_to_its_neighbours(game):
    names = dict(site_pages("Games", [7, 9], lambda number: game(("e4",), game_id=number)))
    assert list(names) == ["game-7.html", "game-9.html", "index.html"]
    first, second = (json.loads(outline(names[name]).scripts[0])["links"] for name in ("game-7.html", "game-9.html"))
    assert first == {"index": "index.html", "next": "game-9.html"}
    assert second == {"index": "index.html", "previous": "game-7.html"}
    assert outline(names["index.html"]).loaded == ["data:,", "game-7.html", "game-9.html"]


def test_list_escapes_names():
    from arena.replay.pages import Listed

    page = list_page("<b>", "1 game", [Listed("game-1.html", 1, "<script>", "&", "1-0", "by mate", 3)])
    assert outline(page).tags.count("b") == 0
    assert outline(page).tags.count("script") == 1
