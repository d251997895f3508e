"""What each page answers, from the sample record and from small ones."""

import re

import pytest

from arena.web import pages


def test_home_lists_the_runs_newest_first_and_links_to_them(web, scribe):
    scribe(), scribe()
    links = re.findall(r'<h2><a href="(/runs/\d+)">', web.get("/").text)
    assert links == ["/runs/2", "/runs/1"]


def test_home_of_a_record_without_runs_says_how_to_make_one(web):
    answer = web.get("/")
    assert answer.status == 200
    assert "arena play" in answer.text


def test_older_runs_are_on_further_pages(web, scribe, monkeypatch):
    monkeypatch.setattr(pages, "RUNS_A_PAGE", 2)
    for _ in range(3):
        scribe()
    assert 'href="/?before=2"' in web.get("/").text
    assert re.findall(r'<h2><a href="(/runs/\d+)">', web.get("/?before=2").text) == ["/runs/1"]


def test_games_are_listed_newest_first(sample):
    assert re.findall(r'href="/games/(\d+)"', sample.get("/games").text) == ["6", "5", "4", "3", "2", "1"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("result=1-0", ["1"]),
        ("termination=ply-limit", ["2"]),
        ("agent=terse", ["6", "3", "2"]),
        ("agent=terse&result=1/2-1/2", ["2"]),
        ("run=sample&before=3", ["2", "1"]),
        ("run=1&agent=&result=&termination=", ["6", "5", "4", "3", "2", "1"]),
        ("result=0-1", []),
    ],
)
def test_games_can_be_filtered(sample, query, expected):
    answer = sample.get(f"/games?{query}")
    assert answer.status == 200
    assert re.findall(r'href="/games/(\d+)"', answer.text) == expected


def test_an_unknown_agent_in_the_filter_is_said_and_not_found(sample):
    answer = sample.get("/games?agent=nobody")
    assert answer.status == 404
    assert "No agent is named nobody" in answer.text


def test_older_games_are_on_further_pages_with_the_same_filter(web, scribe):
    scribe(games=52)
    first = web.get("/games?agent=alice").text
    more = re.search(r'href="(/games\?[^"]*before[^"]*)"', first)[1].replace("&amp;", "&")
    assert re.findall(r'href="/games/(\d+)"', web.get(more).text) == ["2", "1"]


def test_a_run_is_found_by_number_and_by_name(sample):
    assert sample.get("/runs/1").body == sample.get("/runs/sample").body


def test_a_run_shows_how_its_agents_did(sample):
    row = re.search(r">bold</a></th>" + r'<td class="number">(\d)</td>' * 6, sample.get("/runs/1").text)
    games, won, drawn, lost, forfeited, unfinished = map(int, row.groups())
    assert (games, won, drawn, lost, forfeited, unfinished) == (2, 0, 1, 1, 1, 2)


def test_standings_give_every_player_a_row_and_leave_forfeits_out_on_request(sample):
    text = sample.get("/runs/1/standings").text
    assert set(re.findall(r'agent=(\w+)">', text)) == {"gentle", "bold", "terse", "random"}
    assert "2 games count" in text
    assert "1 game counts" in sample.get("/runs/1/standings?forfeits=0").text


def test_a_rating_has_its_error_bar(web, scribe):
    run = scribe(games=6)
    for game_id in range(1, 7):
        run.play_out(game_id, result="0-1" if game_id in (1, 2, 3) else "1-0")
    assert re.search(r"[+-]\d+ ± \d+|[+-]?\d+(\.\d+)? ±", web.get("/runs/1/standings").text)


def test_engine_charts_name_what_they_show(sample):
    text = sample.get("/runs/1/engine").text
    titles = re.findall(r"<figcaption><b>([^<]*)</b>", text)
    assert titles == [
        "Time to first token",
        "Queue depth",
        "Tokens a second",
        "Prefix cache hit rate",
        "KV pages",
        "Moves a second",
    ]
    assert len(re.findall(r'aria-label="[^"]*: last [^"]*, mean ', text)) == 6


def test_engine_page_of_a_run_without_an_engine_says_so(web, scribe):
    scribe()
    assert "No figures of an engine" in web.get("/runs/1/engine").text


def test_live_page_shows_running_boards_first_then_those_that_ended(sample):
    text = sample.get("/runs/1/live").text
    assert re.findall(r'data-game="(\d+)"', text) == ["3", "4", "5", "6", "2", "1"]


def test_live_leads_to_the_newest_run(web, scribe):
    assert web.get("/live").status == 404
    scribe(), scribe()
    answer = web.get("/live")
    assert (answer.status, answer.headers["location"]) == (307, "/runs/2/live")


def test_a_game_without_javascript_is_text(sample):
    text = sample.get("/games/1").text
    assert "1. e4 e5 2. Nf3 Nc6 3. Bc4" in text
    assert "White wins: Black answered with no move" in text


def test_game_data_has_the_replay_its_pieces_and_its_neighbours(sample):
    data = sample.get("/games/2/data.json").json
    assert data["replay"]["board"] == "janggi"
    assert data["replay"]["last"] == 60
    assert data["replay"]["plies"][0]["words"].startswith("Cho: general")
    assert set(data["art"]["pieces"]) == {"hanja", "hangul", "letters"}
    assert data["links"] == {"index": "/games?run=1", "previous": "/games/1", "next": "/games/3"}


def test_game_data_offers_the_game_as_a_file(sample):
    files = sample.get("/games/1/data.json").json["files"]
    (name,) = files
    assert name.endswith(".pgn")
    assert "1. e4" in files[name]


def test_pieces_bring_no_inline_style_which_the_policy_would_drop(sample):
    pieces = sample.get("/games/1/data.json").json["art"]["pieces"]["figures"]
    assert not any("style=" in svg for svg in pieces.values())
    assert 'fill="#ececec" stroke="#ececec"' in pieces["n"]


@pytest.mark.parametrize("query", ["", "?ply=0", "?ply=33", "?ply=5&flip=1"])
def test_a_board_is_a_picture(sample, query):
    answer = sample.get(f"/games/1/board.svg{query}")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("image/svg+xml")
    assert answer.text.startswith("<svg")


def test_a_turned_board_is_another_picture_and_plies_differ(sample):
    pictures = {sample.get(f"/games/1/board.svg?ply={ply}&flip={flip}").body for ply in (0, 1) for flip in (0, 1)}
    assert len(pictures) == 4


def test_what_agents_wrote_is_text_on_every_page(web, hostile):
    paths = ("/", "/games", "/runs/2", "/runs/2/live", "/runs/2/standings", "/runs/2/engine", "/games/2")
    for path in (*paths, "/games?agent=%3Cscript%3E"):
        text = web.get(path).text
        own = re.sub(r'<script src="[^"]*" defer></script>', "", text)
        assert not re.search(r"<(script|img src=x|b>bob|u>|i>o)", own), path
        assert "\x1b" not in text, path
    assert "&lt;script&gt;" in web.get("/games/2").text
    assert web.get("/games/2/data.json").headers["content-type"] == "application/json"


def test_assets_are_served_with_their_types(sample):
    types = {path: sample.get(path).headers["content-type"] for path in ("/static/live.js", "/replay/replay.css")}
    assert types["/static/live.js"].startswith("text/javascript")
    assert types["/replay/replay.css"].startswith("text/css")


def test_pages_use_nothing_inline_and_nothing_from_elsewhere(sample):
    for path in ("/", "/games", "/runs/1", "/runs/1/live", "/runs/1/standings", "/runs/1/engine", "/games/1"):
        text = sample.get(path).text
        assert not re.search(r"<style|<script>|style=| on\w+=\"|https?://", text), path
