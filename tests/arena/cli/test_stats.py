import json
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from arena.cli import stats as arena_stats
from arena.events import EngineSampled
from arena.store.models import RunRow

START = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)


@pytest.fixture
def sampled(scribe):
    """A function that makes a run with two moves, and a sample a second of the given figures."""

    def make(name="calm", **series):
        run = scribe(name=name)
        game = run.run.games[0].game_id
        run.start(game)
        run.write(
            run.played(game, "e2e4", total_ms=900.0, at=START + timedelta(seconds=1)),
            run.played(game, "e7e5", total_ms=900.0, at=START + timedelta(seconds=2)),
        )
        for at in range(len(next(iter(series.values()), ()))):
            figures = {figure: float(values[at]) for figure, values in series.items()}
            run.write(EngineSampled(run_id=run.run.run_id, figures=figures, at=START + timedelta(seconds=at)))
        return run

    return make


FIGURES = {
    "waiting": [0, 9, 3],
    "running": [2, 8, 2],
    "prompt_tokens": [100, 400, 1000],
    "cached_tokens": [0, 200, 750],
    "forwarded_tokens": [100, 180, 200],
    "preemptions": [0, 1, 2],
    "finished": [1, 2, 12],
}


def row(out, name):
    (found,) = [line.split() for line in out.splitlines() if line.startswith(name)]
    return found


def test_figures_of_a_run_are_shown_with_their_course(sampled, arena):
    sampled(**FIGURES)
    code, out, err = arena("stats", "calm")
    assert (code, err) == (0, "")
    assert out.startswith("Run calm (1), running, tiny\n3 samples over 0:02\n")
    assert row(out, "queue depth")[2:] == ["3", "0", "3", "9", "9", "requests", "▁█▃"]
    assert row(out, "tokens forwarded")[2:7] == ["20", "20", "20", "80", "80"]
    assert "12 requests answered, 0 failed, 0 cancelled; 2 preemptions" in out
    assert "1,000 prompt tokens, 75.0% of them from the cache; 200 tokens forwarded" in out


def test_time_of_a_move_is_told_by_phase_and_by_littles_law(sampled, arena):
    sampled(**FIGURES)
    out = arena("stats")[1]
    assert row(out, "decode") == ["decode", "78%", "700", "700", "700", "700"]
    assert row(out, "rest") == ["rest", "9%", "80", "80", "80", "80"]
    assert "1.1 moves/s x 0.90 s a move: 1.0 in flight (Little's law); at most 3 in one step." in out


def test_signs_of_saturation_are_named(sampled, arena):
    sampled(**FIGURES)
    out = arena("stats")[1]
    assert "Signs of saturation:" in out
    assert "In 67% of the samples more requests waited than ran" in out
    assert "2 preemptions: KV memory was short" in out


def test_curves_can_be_ascii(sampled, arena):
    sampled(**FIGURES)
    out = arena("stats", "--ascii")[1]
    assert row(out, "queue depth")[-1] == "_@-"
    assert out.isascii()


def test_the_newest_run_is_the_default(sampled, arena):
    sampled("old", **FIGURES)
    sampled("new", waiting=[0, 0])
    assert arena("stats")[1].startswith("Run new (2)")
    assert arena("stats", 1)[1].startswith("Run old (1)")


def test_json_has_the_same(sampled, arena):
    sampled(**FIGURES)
    found = json.loads(arena("stats", "--json")[1])
    queue = found["figures"][0]
    assert (queue["name"], queue["spread"]["most"], queue["curve"]) == ("queue depth", 9.0, [0.0, 9.0, 3.0])
    assert (found["run"]["name"], found["samples"], found["seconds"]) == ("calm", 3, 2.0)
    assert found["totals"]["hit_rate"] == 0.75
    assert found["flow"]["in_flight"] == pytest.approx(1.0)
    assert {phase["name"] for phase in found["phases"]} == {"queue", "prefill", "decode", "rest", "all"}


def test_a_run_without_an_engine_says_so(scribe, arena):
    run = scribe(name="dull")
    run.write(EngineSampled(run_id=1, figures={"moves_per_s": 3.0}, at=START))
    code, out, _ = arena("stats", "dull")
    assert code == 0
    assert "No engine answered in this run: no agent asks one." in out
    assert row(out, "moves")[1:3] == ["3", "3"]


def test_a_run_too_short_to_be_sampled_still_has_its_times(sampled, arena):
    sampled()
    out = arena("stats")[1]
    assert "No figures were sampled" in out
    assert row(out, "prefill")[1] == "12%"


def test_following_ends_when_the_run_does(sampled, database, arena, monkeypatch):
    sampled(**FIGURES)
    waited = []

    def finish(seconds):
        waited.append(seconds)
        with database.writing() as session:
            session.execute(update(RunRow).values(status="finished"))

    monkeypatch.setattr(arena_stats.time, "sleep", finish)
    code, out, _ = arena("stats", "--follow")
    assert code == 0
    assert waited == [arena_stats.EVERY_S]
    assert [line for line in out.splitlines() if line.startswith("Run ")] == [
        "Run calm (1), running, tiny",
        "Run calm (1), finished, tiny",
    ]


def test_an_unknown_run_is_named(sampled, arena):
    sampled(**FIGURES)
    code, out, err = arena("stats", "wild")
    assert (code, out) == (2, "")
    assert err == "arena: there is no run wild; the latest are 1 (calm)\n"


def test_an_empty_record_has_no_newest_run(database, arena):
    code, _, err = arena("stats")
    assert (code, err) == (2, "arena: no run is recorded yet; `arena play` plays one\n")
