"""Terminal, web page, file and text show the same of the same game: one forfeited, one of janggi, one that goes on."""

from __future__ import annotations

import asyncio
import re

import pytest

from arena.clocks import clock_text
from arena.printable import percent
from arena.replay.pages import replay_page
from arena.replay.prompts import recorded_replay
from arena.replay.text import replay_text
from arena.store.database import Database
from arena.store.queries import game_detail

GAMES = {"forfeit": 1, "janggi": 2, "live": 3}
SHOWN = (".head", ".player", ".detail", ".moves")


async def in_terminal(database, game):
    """What the terminal says of the game after its last ply, and its board in letters."""
    from textual.widgets import Static

    from arena.replay.terminal.app import ReplayApp
    from arena.replay.terminal.record import Filters, Record

    app = ReplayApp(Record(database, Filters()), first_game=game, ascii_only=True)
    async with app.run_test(size=(150, 60)) as pilot:
        await pilot.press("end")
        await pilot.pause()
        texts = {part.id: str(part.visual) for part in app.screen.query(Static) if part.id}
        return " ".join(texts.values()), texts["board"]


def on_page(tab, url):
    """What a page says of the game after its last ply: text, the board in words, the width of each latency part."""
    tab.set_default_timeout(120_000)
    tab.goto(url)
    tab.locator(".replay .board svg[role=img]").wait_for()
    tab.keyboard.press("End")
    text = " ".join(part for name in SHOWN for part in tab.locator(f".replay {name}").all_inner_texts())
    bars = tab.evaluate("[...document.querySelectorAll('.bar i')].map((part) => parseFloat(part.style.width))")
    return text, tab.locator(".board svg[role=img]").get_attribute("aria-label"), bars


@pytest.fixture(scope="module")
def faces(sample, sample_path, tmp_path_factory):
    """By game: its replay, and what each face shows of it."""
    pytest.importorskip("playwright", reason="playwright is not installed")
    from arena.errors import ArenaError
    from arena.web.screenshots import browser

    folder = tmp_path_factory.mktemp("faces")
    shown = {}
    with Database.open(sample_path, create=False) as database:
        for game in GAMES.values():
            replay = recorded_replay(game_detail(database, game))
            file = folder / f"{game}.html"
            file.write_text(replay_page(replay), encoding="utf-8")
            shown[game] = (replay, file.as_uri(), *asyncio.run(in_terminal(database, game)))
    try:
        with browser() as running:
            tab = running.new_page()
            return {
                game: {
                    "replay": replay,
                    "terminal": terminal,
                    "board": board,
                    "file": on_page(tab, file),
                    "web": on_page(tab, f"{sample.url}/games/{game}"),
                    "text": replay_text(replay),
                }
                for game, (replay, file, terminal, board) in shown.items()
            }
    except ArenaError as error:
        pytest.skip(str(error))


def plain(text):
    """The words alone: lines are broken elsewhere in each face."""
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("name", GAMES)
def test_web_page_and_file_are_the_same(faces, name):
    of_game = faces[GAMES[name]]
    links = re.compile(r"all games|‹ previous|next ›")
    web, file = (tuple(re.sub(links, "", part) for part in of_game[face][:2]) for face in ("web", "file"))
    assert plain(web[0]) == plain(file[0])
    assert web[1] == file[1]
    assert of_game["web"][2] == of_game["file"][2] != []


@pytest.mark.parametrize("name", GAMES)
def test_terminal_and_pages_tell_the_same_of_the_last_move(faces, name):
    of_game = faces[GAMES[name]]
    replay = of_game["replay"]
    last = replay.plies[-1]
    chosen = last.chosen
    told = [replay.title, replay.ending, f"{last.number} {last.san}", last.move_words, chosen.agent, chosen.policy]
    told += [player.name for player in replay.players] + [clock_text(left) for left in last.clocks_ms]
    told += [percent(chosen.probability)] if chosen.probability is not None else []
    told += [f"{chosen.latency.total_ms:.0f} ms", f"{chosen.latency.prefill_ms:.0f} ms"]
    told += [f"{option.text} {percent(option.probability)}" for way in chosen.decisions for option in way.options]
    told += [words for part in chosen.prompt for words in (part.role, part.text.strip())]
    for attempt in (*chosen.attempts, *replay.open_attempts):
        told += [f"{attempt.number}. {attempt.failure or 'played'}", attempt.detail, attempt.text]
    for face in ("terminal", "web"):
        said = plain(of_game[face] if face == "terminal" else of_game[face][0])
        missing = [words for words in told if plain(words) not in said]
        assert missing == [], face


@pytest.mark.parametrize("name", GAMES)
def test_every_face_has_the_last_position_and_the_ending(faces, name):
    of_game = faces[GAMES[name]]
    replay = of_game["replay"]
    last = replay.plies[-1]
    letters = re.sub(r"[^A-Za-z]", "", last.fen.split()[0])
    body = "".join(re.findall(r"^ ?\d+ (.*)$", of_game["board"], re.M))
    assert re.sub(r"[^A-Za-z]", "", body) == letters
    assert of_game["web"][1] == of_game["file"][1] == last.words
    assert plain(last.words) in plain(of_game["text"])
    assert replay.ending in of_game["text"]
    assert ("LIVE" in of_game["terminal"]) == ("LIVE" in of_game["web"][0]) == (name == "live")


def test_latency_bars_are_in_proportion(faces):
    latency = faces[1]["replay"].plies[-1].chosen.latency
    parts = [latency.queue_ms, latency.prefill_ms, latency.decode_ms, latency.other_ms]
    assert faces[1]["web"][2] == pytest.approx([100 * part / sum(parts) for part in parts], abs=0.01)
