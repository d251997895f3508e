"""A difference in strength that is known beforehand comes out of a real tournament, and of its PGN by other means."""

import io
import math
import shutil
from collections import Counter
from pathlib import Path

import chess.pgn
import pytest
import yaml

from agents.uci.process import EXTRA_PLACES
from arena.store.database import Database
from arena.tournament.plan import make_plan
from arena.tournament.runner import play_tournament
from arena.tournament.spec import parse_tournament
from arena.tournament.standings import standings

STOCKFISH = shutil.which("stockfish") or shutil.which("stockfish", path=":".join(EXTRA_PLACES))
needs_stockfish = pytest.mark.skipif(STOCKFISH is None, reason="Stockfish is not installed")
POINTS = {"1-0": (1, 0), "1/2-1/2": (0.5, 0.5), "0-1": (0, 1)}


def counted(pgn):
    """Each player's (wins, draws, losses), by nothing but the headers."""
    counts = {}
    file = io.StringIO(pgn)
    while (headers := chess.pgn.read_headers(file)) is not None:
        for player, points in zip((headers["White"], headers["Black"]), POINTS[headers["Result"]], strict=True):
            counts.setdefault(player, Counter())[points] += 1
    return {player: (found[1], found[0.5], found[0]) for player, found in counts.items()}


async def match(db_path, levels, nodes, games):
    """The lines of the table by player, the weaker one's Elo being 0, after paired games of Stockfish with itself."""
    agents = [{"name": f"skill-{level}", "spec": f"uci:stockfish?skill={level}&nodes={nodes}"} for level in levels]
    spec = {"name": "skills", "format": "round-robin", "agents": agents, "games_per_pair": games, "max_plies": 100}
    plan = make_plan(parse_tournament(yaml.safe_dump(spec | {"anchor": {"name": agents[0]["name"]}}), Path()))
    assert (await play_tournament(plan, db=db_path)).status == "finished"
    with Database.open(db_path, create=False) as database:
        return {line.player: line for line in standings(database).table}


def tallied(table):
    return {player: (line.tally.wins, line.tally.draws, line.tally.losses) for player, line in table.items()}


@needs_stockfish
async def test_stockfish_beats_itself_at_skill_0_and_the_pgn_says_the_same(db_path, arena):
    table = await match(db_path, (0, 20), 100, 6)
    assert table["skill-20"].tally.games == 6
    assert table["skill-20"].points > table["skill-0"].points
    code, pgn, _ = arena("export", "--pgn")
    assert code == 0
    assert counted(pgn) == tallied(table)


@pytest.mark.slow
@needs_stockfish
async def test_skill_5_is_some_hundred_elo_better_than_skill_0_in_forty_games(db_path, arena):
    table = await match(db_path, (0, 5), 1000, 40)
    counts = counted(arena("export", "--pgn")[1])
    assert counts == tallied(table)
    wins, draws, losses = counts["skill-5"]
    assert wins + draws + losses == 40
    score = (wins + draws / 2) / 40
    elo = table["skill-5"].elo
    assert elo.value == pytest.approx(400 * math.log10(score / (1 - score)), abs=0.1)
    assert 30 < elo.value < 600
    assert elo.low < elo.value < elo.high
