"""Recorded games as .gib."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from arena.endings import Ending
from arena.errors import StoreError, UnfitError
from arena.gib import to_gib
from arena.imports.gib import gib_games
from arena.imports.record import ImportedGame, record
from arena.store.queries import game_detail
from games import get_game
from games.janggi.setups import OPENINGS

SAMPLE = (Path(__file__).parents[1] / "cases" / "sample.gib").read_bytes()


@pytest.fixture
def detail(database):
    """A function: a game of janggi as the record has it, as if it had been played here."""

    def make(moves="a4b4 i7h7", opening="masangsangma-masangsangma", ending=("1-0", "checkmate")):
        position = get_game("janggi").position(OPENINGS[opening], moves.split())
        game = ImportedGame(position, "llm-1", "llm-2", Ending(*ending, void=ending[0] == "*"))
        run = record(database, "x", f"{moves} {opening} {ending}", [game], "mine")
        return replace(game_detail(database, run.games[0]), source_tags=None)

    return make


def test_game_has_its_tags_and_moves(detail):
    detail = detail(opening="sangmamasang-masangmasang")
    text = to_gib(detail)
    assert text.splitlines() == [
        '[대회명 "Arena run mine"]',
        '[회전 "1"]',
        f'[대국일자 "{detail.started_at:%Y-%m-%d}"]',
        '[대국장소 "미상"]',
        '[초대국자 "llm-1"]',
        '[한대국자 "llm-2"]',
        '[제한시간 "미상"]',
        '[초차림 "상마마상"]',
        '[한차림 "마상마상"]',
        '[총수 "2"]',
        '[대국결과 "초 완승"]',
        "",
        "1. 71졸72 2. 49병48",
    ]


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (("0-1", "double-pass-points"), '[대국결과 "한 점수승"]'),
        (("0-1", "time"), '[대국결과 "한 시간승"]'),
        (("1-0", "forfeit-unparsable"), '[대국결과 "초 승"]'),
        (("1/2-1/2", "ply-limit"), '[대국결과 "무승부"]'),
    ],
)
def test_every_counted_ending_is_written(detail, ending, said):
    assert said in to_gib(detail(ending=ending)).splitlines()


def test_void_game_has_no_result(detail):
    assert "대국결과" not in to_gib(detail(ending=("*", "crash")))


def test_what_is_written_can_be_imported_again(detail):
    before = detail(moves="", ending=("1-0", "time"))
    (again,) = gib_games(to_gib(before).encode(), "x.gib")
    assert (again.white, again.black, again.ending) == ("llm-1", "llm-2", Ending("1-0", "time"))


def test_names_that_need_care_stay_in_their_tags(detail):
    text = to_gib(replace(detail(), white='the "quick"\none'))
    assert "[초대국자 \"the 'quick'\\none\"]" in text.splitlines()


def test_imported_game_keeps_what_its_file_said_of_the_event(database):
    run = record(database, "sample.gib", "c0ffee", gib_games(SAMPLE, "sample.gib"))
    text = to_gib(game_detail(database, run.games[0]))
    assert '[대회명 "견본 대회"]' in text
    assert '[제한시간 "10분"]' in text


def test_what_the_format_cannot_hold_is_refused(detail):
    game = detail()
    with pytest.raises(UnfitError, match=r"game 1 is chess: \.gib can be written for janggi only"):
        to_gib(replace(game, game="chess"))
    with pytest.raises(UnfitError, match="game 1: unknown game 'go'"):
        to_gib(replace(game, game="go"))
    with pytest.raises(UnfitError, match=r"game 1 begins with 3k5/.*sixteen setups only"):
        to_gib(replace(game, initial_fen="3k5/9/9/9/9/9/9/9/9/4K4 w - - 0 1", moves=()))


def test_record_that_cannot_be_replayed_is_an_error(detail):
    game = detail()
    damaged = replace(game, moves=(replace(game.moves[0], move="a4a9"),))
    with pytest.raises(StoreError, match=r"game 1 cannot be replayed .*a4a9"):
        to_gib(damaged)
