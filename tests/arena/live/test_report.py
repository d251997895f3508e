"""What is said when a run is over."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from arena.live import report
from arena.runner import RunResult
from arena.store.first_tries import FirstTries
from arena.store.records import NewGame, StoredGame
from arena.store.summary import AgentResult, Percentiles, RunSummary


def agent(name, wins=0, draws=0, losses=0, forfeits=0, void=0, unfinished=0):
    return AgentResult(name, wins + draws + losses, wins, draws, losses, forfeits, void, unfinished)


def summary(agents=(), **fields):
    defaults = {
        "run_id": 1,
        "name": "calm-rook-12",
        "status": "finished",
        "agents": tuple(agents),
        "moves": 1234,
        "prompt_tokens": 1_000_000,
        "cached_tokens": 974_100,
        "forwarded_tokens": 30_000,
        "generated_tokens": 5_000,
        "queue": Percentiles(1234, 1.0, 20.0, 30.5),
        "ttft": Percentiles(1234, 110.0, 250.0, 1300.25),
        "total": Percentiles(1234, 400.0, 900.0, 2000.0),
    }
    return RunSummary(**{**defaults, **fields})


def result(status="finished", results=("1-0", None)):
    games = tuple(
        StoredGame(
            5 + index, NewGame(index, "w", "b", "chess", 1, 9, "r"), end, "checkmate" if end else None, False, ("e2e4",)
        )
        for index, end in enumerate(results)
    )
    return RunResult(1, "calm-rook-12", status, 7, games)


def shown(*pieces):
    console = Console(file=io.StringIO(), width=100)
    for piece in pieces:
        console.print(piece)
    return console.file.getvalue()


def test_results_are_a_table_with_the_best_first():
    text = shown(report.results_table((agent("a", losses=2, forfeits=1), agent("b", wins=1, draws=1))))
    rows = [line.split() for line in text.splitlines() if line.split()[:1] in (["a"], ["b"], ["agent"])]
    assert rows == [
        ["agent", "points", "games", "W", "D", "L", "forfeits"],
        ["b", "1.5", "2", "1", "1", "0", "0"],
        ["a", "0", "2", "0", "0", "2", "1"],
    ]


@pytest.mark.parametrize("column", ["forfeits", "void", "unfinished"])
def test_a_column_of_zeros_is_left_out(column):
    assert column not in shown(report.results_table((agent("a", wins=1),)))
    assert column in shown(report.results_table((agent("a", wins=1, **{column: 1}),)))


def test_legality_at_first_try_is_told_of_those_who_answer_in_free_text():
    free = AgentResult("free", 1, 1, 0, 0, 0, 0, 0, FirstTries(answers=40, legal=37))
    lines = shown(report.results_table((free, agent("held", losses=1)))).splitlines()
    assert next(line for line in lines if "agent" in line).rstrip().endswith("legal at first try")
    assert next(line for line in lines if "free" in line).rstrip().endswith("37/40 (92%)")
    assert next(line for line in lines if "held" in line).split() == ["held", "0", "1", "0", "0", "1"]
    assert "first try" not in shown(report.results_table((agent("held"),)))


def test_a_name_is_never_read_as_markup():
    assert "[bold]x" in shown(report.results_table((agent("[bold]x"),)))


def test_latency_is_a_table_of_percentiles():
    rows = [line.split() for line in shown(report.latency_table(summary())).splitlines()]
    assert ["queue", "1.0", "20.0", "30.5", "1,234"] in rows
    assert ["TTFT", "110.0", "250.0", "1,300.2", "1,234"] in rows
    assert ["total", "400.0", "900.0", "2,000.0", "1,234"] in rows


def test_without_a_model_there_is_no_queue_and_no_ttft():
    text = shown(report.latency_table(summary(queue=None, ttft=None)))
    assert "total" in text
    assert "queue" not in text
    assert "TTFT" not in text


def test_tokens_are_told_where_there_are_any():
    assert report.tokens_line(summary()) == (
        "1,234 moves; 1,000,000 prompt tokens, 97.4% of them from the cache; 30,000 tokens forwarded, 5,000 generated"
    )
    assert report.tokens_line(summary(prompt_tokens=0)) == "1,234 moves"


def test_the_report_says_where_the_record_is_and_what_to_try_next():
    text = shown(*report.report(result(), summary(), "my games.db", name_db=True))
    assert "Recorded in my games.db as run calm-rook-12 (seed 7), finished" in text
    assert "arena show 5 --db 'my games.db'" in text
    assert "arena games --run calm-rook-12 --db 'my games.db'" in text
    assert "--resume" not in text


def test_a_run_that_was_interrupted_can_be_resumed_by_the_command_shown():
    text = shown(*report.report(result("interrupted"), summary(), "arena.db", name_db=False))
    assert "interrupted; 1 of its games is unfinished" in text
    assert "arena play --resume calm-rook-12" in text
    assert "--db" not in text


def test_the_report_for_a_program_has_the_same_figures():
    found = report.as_json(result(), summary([agent("a", wins=1, draws=1)]), "arena.db")
    assert (found["run"], found["seed"], found["status"], found["db"]) == ("calm-rook-12", 7, "finished", "arena.db")
    assert found["games"][0] == {
        "game_id": 5,
        "index": 0,
        "replay": 0,
        "white": "w",
        "black": "b",
        "result": "1-0",
        "termination": "checkmate",
        "void": False,
        "plies": 1,
    }
    assert found["agents"][0]["points"] == 1.5
    assert found["latency_ms"]["ttft"] == {"count": 1234, "p50": 110.0, "p95": 250.0, "p99": 1300.25}
    assert found["tokens"]["hit_rate"] == pytest.approx(0.9741)
