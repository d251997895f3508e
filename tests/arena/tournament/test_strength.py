"""A difference in strength that is known beforehand comes out of a real tournament."""

import shutil
from pathlib import Path

import pytest
import yaml

from agents.uci.process import EXTRA_PLACES
from arena.store.database import Database
from arena.tournament.plan import make_plan
from arena.tournament.runner import play_tournament
from arena.tournament.spec import parse_tournament
from arena.tournament.standings import standings

STOCKFISH = shutil.which("stockfish") or shutil.which("stockfish", path=":".join(EXTRA_PLACES))


@pytest.mark.skipif(STOCKFISH is None, reason="Stockfish is not installed")
async def test_stockfish_at_skill_5_beats_itself_at_skill_0(db_path):
    agents = [{"name": f"skill-{level}", "spec": f"uci:stockfish?skill={level}&nodes=100"} for level in (0, 5)]
    spec = {"name": "skills", "format": "round-robin", "agents": agents, "games_per_pair": 8, "max_plies": 100}
    plan = make_plan(parse_tournament(yaml.safe_dump(spec), Path()))
    assert (await play_tournament(plan, db=db_path)).status == "finished"
    with Database.open(db_path, create=False) as database:
        table = {line.player: line for line in standings(database).table}
    assert table["skill-0"].tally.games == table["skill-5"].tally.games == 8
    assert table["skill-5"].points > table["skill-0"].points
