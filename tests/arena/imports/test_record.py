"""Imported games in the record."""

from __future__ import annotations

import pytest

from arena.endings import Ending
from arena.errors import StoreError, UsageError
from arena.imports.record import ImportedGame, MoveTimes, ending_of, record
from arena.store.queries import game_detail, list_games, list_runs
from games import get_game

MATE = ("f2f3", "e7e5", "g2g4", "d8h4")


def imported(moves=("e2e4",), game="chess", **fields):
    defaults = {"white": "Ann", "black": "Bob", "ending": Ending("1-0", "resignation")}
    return ImportedGame(get_game(game).position(None, moves), **{**defaults, **fields})


def test_games_become_a_finished_run_of_their_players(database):
    games = [imported(kinds=("human", None)), imported(game="janggi", moves=("a4b4", "e9e9"), white="Bob", black="Kim")]
    run = record(database, "games.pgn", "c0ffee", games)
    assert [(line.name, line.status, line.games, line.finished) for line in list_runs(database)] == [
        (run.name, "finished", 2, 2)
    ]
    first, second = (game_detail(database, game) for game in run.games)
    assert (first.white, first.black, first.result, first.termination) == ("Ann", "Bob", "1-0", "resignation")
    assert [(move.agent, move.side, move.move, move.san) for move in second.moves] == [
        ("Bob", "first", "a4b4", "Pab4"),
        ("Kim", "second", "e9e9", "pass"),
    ]
    assert second.moves[-1].fen == games[1].position.fen
    assert second.initial_fen == games[1].position.start_fen
    assert {move.policy for move in (*first.moves, *second.moves)} == {"imported"}


def test_times_and_tags_are_kept(database):
    game = imported(times=(MoveTimes(1500.0, 60_000.0),), tags={"Event": "Cup", "WhiteElo": "2000"})
    run = record(database, "x.pgn", "c0ffee", [game])
    detail = game_detail(database, run.games[0])
    assert (detail.moves[0].total_ms, detail.moves[0].clock_ms) == (1500.0, 60_000.0)
    assert detail.source_tags == {"Event": "Cup", "WhiteElo": "2000"}


def test_unfinished_games_do_not_count(database):
    ending = ending_of(imported().position, "*", "")
    run = record(database, "x.pgn", "c0ffee", [imported(ending=ending)])
    detail = game_detail(database, run.games[0])
    assert (detail.result, detail.void, detail.termination) == ("*", True, "unfinished")


def test_one_player_may_play_himself_under_one_name(database):
    run = record(database, "x.pgn", "c0ffee", [imported(("e2e4", "e7e5"), white="?", black="?")])
    assert [move.agent for move in game_detail(database, run.games[0]).moves] == ["?", "?"]


def test_same_lines_are_duplicates(database):
    run = record(database, "x.pgn", "c0ffee", [imported(), imported(white="Cy")])
    assert game_detail(database, run.games[1]).duplicate_of == run.games[0]


def test_the_same_bytes_are_not_imported_twice(database):
    run = record(database, "x.pgn", "c0ffee", [imported()])
    with pytest.raises(UsageError, match=rf"y\.pgn is in the record already, as run 1 \({run.name}\)"):
        record(database, "y.pgn", "c0ffee", [imported()])
    assert len(list_games(database)) == 1


def test_nothing_is_kept_when_one_game_cannot_be(database):
    damaged = imported(ending=Ending("1-0", "resignation", void=True))  # contradicts itself
    with pytest.raises(StoreError, match="do not agree"):
        record(database, "x.pgn", "c0ffee", [imported(), damaged])
    assert (list_runs(database), list_games(database)) == ([], [])


@pytest.mark.parametrize(
    ("moves", "said", "ending"),
    [
        (MATE, "0-1", Ending("0-1", "checkmate")),
        (MATE, "*", Ending("0-1", "checkmate")),
        (("e2e4",), "0-1", Ending("0-1", "time")),
        (("e2e4",), "*", Ending("*", "unfinished", void=True)),
    ],
)
def test_rules_name_the_end_where_they_made_it(moves, said, ending):
    assert ending_of(imported(moves).position, said, "time") == ending


def test_result_that_the_rules_exclude_is_refused():
    with pytest.raises(ValueError, match="said to be 1-0, but the game ends 0-1 by checkmate"):
        ending_of(imported(MATE).position, "1-0", "win")
