"""How long the table of a large tournament takes, from a record that is made for the purpose."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from sqlalchemy import Select, select, update

from arena.store.database import Database
from arena.store.models import GameRow, RunRow
from arena.store.records import NewAgent, NewRun
from arena.store.runs import create_run
from arena.store.stages import add_games
from arena.tournament.elo import elo_to_score
from arena.tournament.plan import Plan, make_plan
from arena.tournament.record import new_games, stored_plan
from arena.tournament.spec import AgentEntry, OpeningsChoice, TournamentSpec
from arena.tournament.standings import standings

FEN = "r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3"
"""Something of the length that a record has."""


@dataclass(frozen=True, slots=True)
class StandingsTiming:
    """`games` between `agents`; seconds of writing them, and the median of those of asking for the table."""

    games: int
    agents: int
    written_s: float
    table_s: float


def measure(games: int, agents: int, seed: int, folder: Path, times: int = 3) -> StandingsTiming:
    """Fills a record in `folder` with `games` finished games, and asks `times` times for the table."""
    plan = _plan(games, agents, seed)
    with Database.open(folder / "standings.db", create=True) as database:
        begun = time.perf_counter()
        run_id = _fill(database, plan, games, seed)
        written_s = time.perf_counter() - begun
        taken = []
        for _ in range(times):
            begun = time.perf_counter()
            table = standings(database, run_id)
            taken.append(time.perf_counter() - begun)
    return StandingsTiming(table.games, agents, written_s, median(taken))


def _plan(games: int, agents: int, seed: int) -> Plan:
    pairings = agents * (agents - 1) // 2
    return make_plan(
        TournamentSpec(
            name="standings",
            format="round-robin",
            agents=tuple(AgentEntry(name=f"agent-{number}", spec="random") for number in range(agents)),
            games_per_pair=-(-games // pairings),
            openings=OpeningsChoice(list="start"),
            seed=seed,
        )
    )


def _fill(database: Database, plan: Plan, games: int, seed: int) -> int:
    """Records the first `games` games of the plan with results of players who are 30 Elo apart each; the run's id."""
    draw = random.Random(seed)
    strength = {player: 30.0 * place for place, player in enumerate(plan.spec.players)}
    agents = tuple(NewAgent(agent.name, agent.spec) for agent in plan.spec.agents)
    run = NewRun(stored_plan(plan), seed, agents, (), content_hash=plan.content_hash)
    run_id = create_run(database, run).run_id
    schedule = plan.schedule({}).games[:games]
    add_games(database, run_id, new_games(plan, schedule))
    with database.writing() as session:
        session.execute(update(RunRow).where(RunRow.id == run_id).values(status="finished"))
        ids = {row.schedule_index: row.id for row in session.execute(_ids(run_id))}
        session.execute(
            update(GameRow),
            [
                {
                    "id": ids[game.index],
                    "status": "finished",
                    "result": _result(elo_to_score(strength[game.white] - strength[game.black]), draw),
                    "termination": "checkmate",
                    "initial_fen": FEN,
                    "plies": 80,
                    "line_hash": f"{draw.getrandbits(128):032x}",
                }
                for game in schedule
            ],
        )
    return run_id


def _ids(run_id: int) -> Select[int, int]:
    return select(GameRow.schedule_index, GameRow.id).where(GameRow.run_id == run_id)


def _result(expected: float, draw: random.Random) -> str:
    """A win, draw or loss with `expected` points on average, a third of them draws where that is possible."""
    draws = min(1 / 3, 2 * expected, 2 * (1 - expected))
    lot = draw.random()
    if lot < draws:
        return "1/2-1/2"
    return "1-0" if lot < draws + expected - draws / 2 else "0-1"
