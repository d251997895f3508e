"""The benchmark's figures: what is counted step by step, the ablation and its chart, our engine under load."""

import json
from collections import Counter
from dataclasses import asdict
from xml.etree import ElementTree

import pytest
import torch

from arena.bench.ablation import chart, variants
from arena.bench.observer import Observer
from arena.bench.serving import Measurement
from inference.engine import EngineConfig
from inference.kv_pool import PagePool
from inference.radix import PrefixCache
from inference.scheduler import Scheduler, SchedulerConfig, SequenceState


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


def test_the_ablation_changes_switches_only_and_has_everything_on_and_everything_but_one():
    rows = variants(EngineConfig())
    ladder = [row for row in rows if not row.without]
    assert ladder[-1].config == EngineConfig()
    assert ladder[0].config.max_batch == 1
    first = ladder[0].config
    assert not any((first.prefix_cache, first.continuous_batching, first.jump_forward, first.shared_attention))
    for row in rows:
        if row.without:
            changed = [name for name, value in asdict(row.config).items() if value != asdict(EngineConfig())[name]]
            assert len(changed) == 1, row.name
    assert Counter(row.name for row in rows).most_common(1)[0][1] == 1


def measurement(moves_per_s, p95):
    return Measurement(
        requests=4,
        seconds=4 / moves_per_s,
        moves_per_s=moves_per_s,
        latency_ms={"p50": p95 / 2, "p95": p95, "p99": p95},
        ttft_ms={"p50": 1, "p95": 2},
        prompt_tokens_per_move=1000,
        forwarded_tokens_per_move=12.5,
        passes_per_move=2,
        hit_rate=0.99,
        duplicate_forwarded_tokens=0,
        preemptions=0,
        scheduler_us_per_request=10,
        loop_lag_ms={"p99": 1},
        peak_rss_mb=100,
        kv_waste_percent={"paged": 14.0, "contiguous": 87.0},
    )


def test_the_chart_has_a_bar_for_each_figure_in_proportion_and_names_what_it_shows():
    rows = variants(EngineConfig())
    figures = [measurement(1.0 + index, 1000.0) for index in range(len(rows))]
    drawn = ElementTree.fromstring(chart(list(zip(rows, figures, strict=True)), "a <load>"))
    texts = [element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {row.name for row in rows} <= set(texts)
    assert {"a <load>", "1.00 · 1.0×", "9.00 · 9.0×", "87 %", "14 %"} <= set(texts)
    bars = [
        float(element.get("width"))
        for element in drawn.iter("{http://www.w3.org/2000/svg}rect")
        if element.get("class") in ("bar", "best")
    ]
    assert len(bars) == 3 * len(rows) + 1
    assert bars[3] == pytest.approx(2 * bars[0], abs=0.1)


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
    load = {"prompt": "history", "answer": "choose", "moves": "fixed", "in_flight": 2, "plies": 2, "seed": 0}
    assert cell["load"] == load


def test_a_chart_that_cannot_be_written_is_refused_before_anything_is_measured(arena, tmp_path):
    code, out, err = arena("bench", "ablation", "--plot", tmp_path / "none" / "out.svg")
    assert (code, out) == (2, "")
    assert f"the folder {tmp_path / 'none'} is not there" in err
