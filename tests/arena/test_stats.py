from datetime import UTC, datetime, timedelta

import pytest

from arena.sparkline import means, sparkline
from arena.stats import Spread, engine_figures, flow, per_second, phases, signs_of_saturation, totals
from arena.store.timing import MoveTime
from arena.store.watching import EngineSample

START = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)


def samples(**series):
    """A sample a second; `series` are the values of each figure."""
    count = len(next(iter(series.values())))
    return [
        EngineSample(START + timedelta(seconds=at), {name: values[at] for name, values in series.items()})
        for at in range(count)
    ]


def move(at_s, queue=0.0, prefill=0.0, decode=0.0, total=None):
    """A move that was there `at_s` seconds after the start."""
    total = queue + prefill + decode if total is None else total
    return MoveTime(START + timedelta(seconds=at_s), queue, prefill, decode, queue + prefill, total, 1)


def test_a_spread_is_by_nearest_rank_and_leaves_out_what_is_not_known():
    assert Spread.of([None, 4.0, 1.0, 3.0, 2.0]) == Spread(mean=2.5, least=1.0, p50=2.0, p95=4.0, most=4.0)
    assert Spread.of([None]) is None


def test_figures_are_the_sampled_ones_and_the_pace_of_counters():
    found = {f.name: f for f in engine_figures(samples(waiting=[0, 4, 2], forwarded_tokens=[5, 25, 35]))}
    assert list(found) == ["queue depth", "tokens forwarded"]
    assert (found["queue depth"].last, found["queue depth"].spread.most) == (2, 4)
    assert found["tokens forwarded"].values == (None, 20.0, 10.0)


def test_the_hit_rate_is_in_per_cent():
    (figure,) = engine_figures(samples(hit_rate=[0.5, 0.75]))
    assert (figure.unit, figure.values) == ("%", (50.0, 75.0))


def test_no_samples_no_figures():
    assert engine_figures([]) == []
    assert totals([]) is None


def test_a_counter_that_begins_anew_has_no_pace_there():
    assert per_second([0, 1, 3], [10, 4, 8]) == [None, None, 2.0]


def test_totals_go_on_through_a_restart_of_the_engine():
    counted = totals(samples(finished=[3, 9, 2, 5], prompt_tokens=[10, 40, 5, 60], cached_tokens=[0, 20, 0, 30]))
    assert (counted.finished, counted.prompt_tokens, counted.preemptions) == (9 + 5, 40 + 60, 0)
    assert counted.hit_rate == 0.5


def test_a_run_without_an_engine_has_no_totals():
    assert totals(samples(moves_per_s=[1.0, 2.0])) is None


def test_phases_share_out_the_whole_time():
    found = {phase.name: phase for phase in phases([move(1, 10, 20, 60, 100), move(2, 30, 20, 40, 100)])}
    assert {name: phase.share for name, phase in found.items()} == {
        "queue": 0.2,
        "prefill": 0.2,
        "decode": 0.5,
        "rest": 0.1,
        "all": 1.0,
    }
    assert (found["rest"].ms.most, found["decode"].ms.p50) == (10, 40)


def test_the_pace_leaves_out_the_time_in_which_nothing_was_asked():
    before, after = [move(1, total=1000), move(1, total=500)], [move(3600, total=1000)]
    found = flow(before + after)
    assert found.rate == 3 / 2
    assert found.latency_s == pytest.approx(2.5 / 3)
    assert found.in_flight == pytest.approx(2.5 / 2)


def test_moves_that_took_no_time_have_no_pace():
    assert flow([]) is None
    assert flow([move(1)]) is None


def test_a_calm_run_shows_no_signs_of_saturation():
    figures = {"waiting": [0, 2, 1, 9], "running": [1, 2, 3, 4], "preemptions": [0, 0, 0, 0]}
    assert signs_of_saturation(samples(**figures, ttft_p50_ms=[90, 100, 110, 120])) == []


def test_each_sign_of_saturation_is_told():
    queue, ttft, memory = signs_of_saturation(
        samples(waiting=[3, 0, 5, 2], running=[2, 2, 2, 2], ttft_p50_ms=[100, 120, 400, 900], preemptions=[0, 0, 4, 7])
    )
    assert queue.startswith("In 50% of the samples more requests waited than ran")
    assert "from 100 to 400 ms" in ttft
    assert memory.startswith("7 preemptions")


def test_a_sparkline_goes_from_nought_to_the_highest():
    assert sparkline([0, 50, 100], 10) == "▁▅█"
    assert sparkline([0, 50, 100], 10, ascii_only=True) == "_+@"
    assert sparkline([0, 0], 10) == "▁▁"
    assert sparkline([-1, 1], 10) == "▁█"
    assert sparkline([], 10) == ""


def test_a_sparkline_shows_means_and_gaps():
    assert means([1, 3, None, None, 8, None], 3) == [2, None, 8]
    assert sparkline([1, 3, None, None, 8, None], 3) == "▃ █"
