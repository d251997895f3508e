"""The table on a page and the table of the command have one source."""

from pathlib import Path

import yaml

from arena.tournament.plan import make_plan
from arena.tournament.runner import play_tournament
from arena.tournament.spec import parse_tournament
from arena.tournament.standings import standings
from arena.web.standings import table

SPEC = {
    "name": "cup",
    "format": "round-robin",
    "max_plies": 6,
    "openings": "start",
    "anchor": {"name": "bob", "elo": 1500},
    "agents": [
        {"name": "ann", "spec": "random"},
        {"name": "bob", "spec": "random"},
        {"name": "bad", "spec": "python:agents.scripted:IllegalAgent"},
    ],
}


async def play(db_path, **changes):
    await play_tournament(make_plan(parse_tournament(yaml.safe_dump(SPEC | changes), Path())), db=db_path)


async def test_a_tournament_has_the_numbers_of_its_own_table(database, db_path):
    await play(db_path, format="swiss", rounds=2)
    command = standings(database)
    page = table(database, command.run_id, with_forfeits=True)
    rows = [row for pool in page.pools for row in pool]
    assert [(row.player, row.points, row.games) for row in rows] == [
        (line.player, line.points, line.tally.games) for line in command.table
    ]
    assert sum(line.byes for line in command.table) == 2
    elo = {row.player: row.elo for row in rows}
    assert elo["bob"] == "+1500.0, by definition"
    assert all(elo[line.player] == str(line.elo) for line in command.table if line.player != "bob")
    assert page.scale == "bob being 1500 by definition"


async def test_without_forfeits_a_player_who_only_forfeited_has_no_rating(database, db_path):
    await play(db_path)
    with_them, without = (table(database, 1, with_forfeits=forfeits) for forfeits in (True, False))
    assert (with_them.counted, without.counted, without.forfeits) == (6, 2, 4)
    rows = {row.player: row for pool in without.pools for row in pool}
    assert [len(pool) for pool in without.pools] == [2, 1]
    assert (rows["bad"].elo, rows["bad"].games, rows["bad"].losses, rows["bad"].forfeited) == ("not rated", 0, 0, 0)
    assert (rows["ann"].games, rows["ann"].draws, rows["ann"].wins) == (2, 2, 0)
