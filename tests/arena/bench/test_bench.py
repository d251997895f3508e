"""The benchmark's load and figures, on random games and a tiny engine's worth of work."""

import itertools
import json
from collections import Counter

import chess
import pytest
import torch

from agents.prompt_files import PromptLibrary
from arena.bench.ablation import variants
from arena.bench.observer import Observer
from arena.bench.workload import make_workload
from arena.resources import data_path
from inference.engine import EngineConfig
from inference.kv_pool import PagePool
from inference.radix import PrefixCache
from inference.scheduler import Scheduler, SchedulerConfig, SequenceState


@pytest.fixture(scope="module")
def prompts():
    return PromptLibrary(data_path("prompts"))


def test_a_workload_is_a_function_of_its_arguments_and_its_games_are_legal(prompts):
    one, two = (make_workload(prompts, in_flight=3, plies=12, seed=5) for _ in range(2))
    assert one == two
    assert one.requests == 36
    assert len({turns[-1].prompt[-1] for turns in one.games}) == 3
    other = make_workload(prompts, in_flight=3, plies=12, seed=6)
    assert other.games[0][-1].prompt != one.games[0][-1].prompt
    for turns in one.games:
        board = chess.Board()
        for turn in turns:
            told = turn.prompt[-1].content.partition("Game so far:")[2].split("\n")[0].split()
            if turn.ply:
                assert told[:-1] == [move.uci() for move in board.move_stack]
                board.push_uci(told[-1])
            assert list(turn.choices) == sorted(move.uci() for move in board.legal_moves)
        assert len(board.move_stack) == 11


def test_history_prompts_only_grow_and_fen_prompts_show_the_board(prompts):
    history = make_workload(prompts, in_flight=1, plies=6).games[0]
    for before, after in itertools.pairwise(history[1:]):
        grown = before.prompt[-1].content.split("\n")[0]
        assert after.prompt[-1].content.startswith(grown)
    fen = make_workload(prompts, prompt="fen", in_flight=1, plies=6).games[0]
    assert all(f"Legal moves: {' '.join(turn.choices)}" in turn.prompt[-1].content for turn in fen)
    assert len({turn.prompt[-1].content for turn in fen}) == 6


class Nothing:
    """A StepRunner that computes nothing."""

    def run(self, operations, plan):
        return [torch.zeros(1) for rows in plan if rows.decides]


def test_the_observer_counts_tokens_forwarded_twice_and_places_left_empty():
    def forward(prompts, *, cached):
        cache = PrefixCache(PagePool(40), 4)
        scheduler = Scheduler(SchedulerConfig(share_cold_prefixes=cached), cache)
        observer = Observer(Nothing(), page_size=4, context_length=20)
        for number, prompt in enumerate(prompts):
            scheduler.add(SequenceState(arrival=number, tokens=list(prompt), prompt_length=len(prompt)))
        while scheduler.waiting or any(sequence.pending for sequence in scheduler.running):
            plan = scheduler.schedule()
            observer.run(cache.take_operations(), plan)
            scheduler.commit(plan)
            for rows in plan:
                if rows.decides:
                    scheduler.remove(rows.sequence)
        return observer

    prompts = [(1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 9)]
    together = forward(prompts, cached=False)
    assert together.duplicates == 4
    assert together.contiguous_waste == pytest.approx(1 - 11 / 40)
    assert together.paged_waste == pytest.approx(1 - 11 / 16)
    assert forward(prompts, cached=True).duplicates == 0


def test_the_ablation_changes_switches_only_and_ends_with_everything_on():
    rows = variants(EngineConfig())
    assert rows[-1].config == EngineConfig()
    assert rows[0].config.max_batch == 1
    assert not any((rows[0].config.prefix_cache, rows[0].config.continuous_batching, rows[0].config.jump_forward))
    assert Counter(row.name for row in rows).most_common(1)[0][1] == 1


def test_serving_measures_the_real_engine_and_tells_it_as_json(arena):
    code, out, _ = arena("bench", "serving", "--in-flight", "2", "--plies", "2", "--json")
    assert code == 0
    cell = json.loads(out)
    assert cell["requests"] == 4
    assert cell["moves_per_s"] > 0
    assert cell["latency_ms"]["p50"] <= cell["latency_ms"]["p95"] <= cell["latency_ms"]["p99"]
    assert 0.9 < cell["hit_rate"] < 1
    assert 1 <= cell["passes_per_move"] < 5
    assert cell["forwarded_tokens_per_move"] < 60
    assert cell["load"] == {"prompt": "history", "answer": "choose", "in_flight": 2, "plies": 2, "seed": 0}
