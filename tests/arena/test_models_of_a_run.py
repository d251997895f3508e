"""Engines of a run: one a model, shared by the agents that ask it; what does not fit in memory is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

import arena.engines
from arena.config import RunConfig, build_config
from arena.engines import check_memory, memory_bytes
from arena.errors import UsageError
from arena.figures import together
from arena.lineup import Lineup
from arena.store.database import Database
from arena.store.runs import create_run
from arena.tournament.lineup import TournamentLineup
from arena.tournament.plan import make_plan
from arena.tournament.record import plan_from
from arena.tournament.spec import read_spec
from inference.types import EngineStats

MIB = 2**20


@dataclass
class FakeEngine:
    """An engine that only knows its model and whether it was started."""

    model_name: str
    log: list[str] = field(default_factory=list)

    @property
    def model_checksum(self) -> str:
        return f"sum of {self.model_name}"

    alive = True
    model = SimpleNamespace(weights="int8")

    def environment(self) -> dict[str, int]:
        return {"threads": 1}

    def start(self, progress=None) -> None:
        self.log.append(f"start {self.model_name}")

    def close(self) -> None:
        self.log.append(f"close {self.model_name}")

    def stats(self) -> EngineStats:
        return EngineStats(running=2, prompt_tokens=100, cached_tokens=50, ttft_p50_ms=len(self.model_name))


@pytest.fixture
def log(monkeypatch) -> list[str]:
    """Puts fake engines in the place of real ones; what happens to them."""
    log: list[str] = []
    monkeypatch.setattr(arena.engines, "make_engine", lambda config, model: FakeEngine(model, log))
    monkeypatch.setattr("inference.catalogue.is_installed", lambda name: True)
    monkeypatch.setattr("inference.loader.weight_bytes", lambda name: 500 * MIB)
    monkeypatch.setattr(arena.engines, "memory_bytes", lambda: 8000 * MIB)
    return log


def lineup(*specs: str, **fields) -> Lineup:
    return Lineup(RunConfig(agent=specs, **{"agents": 2 * -(-len(specs) // 2), "seed": 1, **fields}))


def test_agents_of_one_model_share_its_engine(log) -> None:
    agents = lineup("llm:big", "llm", "llm:big?temperature=0", "llm:smollm2-135m")
    engines = [agent._engine.model_name for agent in agents.agents.values()]
    assert engines == ["big", "smollm2-135m", "big", "smollm2-135m"]
    assert len({id(agent._engine) for agent in agents.agents.values()}) == 2
    agents.start_engines()
    agents.start_engines()
    agents.close_engines()
    assert log == ["start big", "start smollm2-135m", "close big", "close smollm2-135m"]


def test_a_tournament_goes_on_with_the_weights_that_it_began_with(log, arena, db_path, tmp_path, monkeypatch) -> None:
    path = tmp_path / "cup.yaml"
    path.write_text("name: cup\nformat: round-robin\nopenings: start\nconcurrency: 3\nagents: [llm, random]\n")
    plan = make_plan(read_spec(path))
    run = TournamentLineup(plan).new_run()
    assert (plan.spec.engine.weights, plan_from(run.config).spec.engine.weights) == ("auto", "int8")
    with Database.open(db_path, create=True) as database:
        create_run(database, run)
    played = []
    for command in ("run", "resume"):
        module = f"arena.cli.tournament.{command}.play_on_screen"
        monkeypatch.setattr(module, lambda plan, db, run_id, *args, **kwargs: played.append((plan.spec, run_id)))
    assert arena("tournament", "run", path)[0] == 0
    assert arena("tournament", "resume", "--concurrency", "1")[0] == 0
    assert [(spec.engine.weights, spec.concurrency, run_id) for spec, run_id in played] == [
        ("int8", 3, 1),
        ("int8", 1, 1),
    ]


def test_every_model_and_its_checksum_are_recorded(log) -> None:
    agents = lineup("llm:big", "llm")
    run = agents.new_run()
    assert run.model == "big + smollm2-135m"
    assert run.model_checksum == "sum of big + sum of smollm2-135m"
    assert [agent.settings["model"] for agent in run.agents] == ["big", "smollm2-135m"]


def test_models_that_do_not_fit_are_refused_with_the_numbers_before_one_is_loaded(log, monkeypatch) -> None:
    monkeypatch.setattr(arena.engines, "memory_bytes", lambda: 2600 * MIB)
    agents = lineup("llm:big", "llm")
    with pytest.raises(UsageError) as caught:
        agents.start_engines()
    for part in (
        "2 models need 2,700 MiB",
        "has 2,600 MiB",
        "big 500 MiB of weights and 850 MiB of KV",
        "--kv-memory",
    ):
        assert part in str(caught.value)
    assert log == []


def test_memory_is_enough_to_the_last_byte() -> None:
    check_memory({"a": 10, "b": 20}, kv_bytes=5, total=40)
    with pytest.raises(UsageError, match="2 models"):
        check_memory({"a": 10, "b": 20}, kv_bytes=5, total=39)


def test_a_control_group_bounds_the_memory(monkeypatch, tmp_path) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(arena.engines, "CGROUP_LIMIT", limit)
    physical = memory_bytes()
    assert physical > 100 * MIB
    limit.write_text("max\n")
    assert memory_bytes() == physical
    limit.write_text(f"{50 * MIB}\n")
    assert memory_bytes() == 50 * MIB


def test_figures_of_several_engines_add_up() -> None:
    one = EngineStats(running=2, prompt_tokens=100, cached_tokens=50, ttft_p50_ms=3.0)
    two = EngineStats(running=1, prompt_tokens=300, cached_tokens=300, ttft_p50_ms=9.0)
    figures = together([one, two])
    assert (figures["running"], figures["hit_rate"], figures["ttft_p50_ms"]) == (3, 350 / 400, 9.0)
    assert together([one])["hit_rate"] == one.hit_rate
    assert together([]) == {}


def test_the_size_of_a_model_is_that_of_its_tensors(real_model) -> None:
    from inference.loader import weight_bytes

    assert weight_bytes("smollm2-135m") == 4 * 134_515_008


# --- mixed games ---------------------------------------------------------------------------------------------------


def test_a_mixed_run_is_half_chess_and_half_janggi_with_both_colours_of_each(log) -> None:
    games = lineup("random", agents=8, games=16, game="mixed").schedule()
    assert [game.game for game in games[:8]] == ["chess", "janggi"] * 2 + ["chess", "janggi"] * 2
    assert sum(game.game == "chess" for game in games) == 8
    by_pair = {}
    for game in games:
        by_pair.setdefault(game.pair, set()).add((game.game, frozenset((game.white, game.black))))
    assert all(len(found) == 1 for found in by_pair.values())
    assert {game.rule_policy for game in games if game.game == "janggi"} != {games[0].rule_policy}


@pytest.mark.parametrize("agents", [2, 4, 6, 8, 16])
def test_every_agent_plays_both_games_of_a_long_mixed_run(log, agents) -> None:
    games = lineup("random", agents=agents, games=2 * max(2, agents - 1) * agents, game="mixed").schedule()
    for name in {game.white for game in games}:
        assert {game.game for game in games if name in (game.white, game.black)} == {"chess", "janggi"}
    assert abs(2 * sum(game.game == "chess" for game in games) - len(games)) <= agents


def test_a_position_does_not_go_with_mixed_games() -> None:
    with pytest.raises(UsageError, match="--fen goes with one game, not with --game mixed"):
        build_config({"game": "mixed", "fen": "8/8/4k3/8/8/3RK3/8/8 w - - 0 1"})


def test_specs_in_a_file_may_be_mappings() -> None:
    config = build_config({"agent": ({"kind": "llm", "temperature": 0.7, "name": "A&B"}, "random")})
    assert config.agent == ("llm?temperature=0.7&name=A%26B", "random")
