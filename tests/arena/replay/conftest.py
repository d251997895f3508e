"""Recorded games as plain values, made up to the last digit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from arena.store.queries import AttemptDetail, GameDetail, MoveDetail
from games import get_game
from inference.types import Decision, Option

START = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def attempt(number=1, text="e2e4", failure=None, detail="", **fields):
    figures = {
        "seed": 5,
        "prompt_tokens": 40,
        "cached_tokens": 30,
        "forwarded_tokens": 14,
        "generated_tokens": 4,
        "total_ms": 900.0,
    }
    return AttemptDetail(number, text, failure, detail, **{**figures, **fields})


def game(moves, rules="chess", *, of_move=None, fen=None, **fields):
    """A game between alice and bob; `of_move` gives for a ply what is not as usual, by name of the field."""
    position = get_game(rules).position(fen)
    played = []
    for ply, text in enumerate(moves, start=1):
        side, move = position.side_to_move, position.parse(text)
        san = position.san(move)
        position = position.play(move)
        usual = {
            "ply": ply,
            "agent": "alice" if side == "first" else "bob",
            "side": side,
            "move": move,
            "san": san,
            "fen": position.fen,
            "policy": "constrained",
            "probability": 0.25,
            "prompt_tokens": 1000 + ply,
            "cached_tokens": 990,
            "forwarded_tokens": 10 + ply,
            "generated_tokens": 4,
            "forward_passes": 3,
            "queue_ms": 10.0,
            "prefill_ms": 100.0 + ply,
            "decode_ms": 200.0,
            "ttft_ms": 110.0 + ply,
            "total_ms": 320.0 + ply,
            "batch_size": 2,
            "clock_ms": None,
            "played_at": START + timedelta(seconds=ply),
            "attempts": (attempt(text=move),),
        }
        played.append(MoveDetail(**{**usual, **(of_move or {}).get(ply, {})}))
    usual = {
        "game_id": 7,
        "run_id": 1,
        "run": "calm-rook-1",
        "game": rules,
        "white": "alice",
        "black": "bob",
        "status": "playing",
        "result": None,
        "termination": None,
        "void": False,
        "detail": "",
        "plies": len(played),
        "index": 0,
        "replay": 0,
        "pair": None,
        "opening": None,
        "duplicate_of": None,
        "started_at": START,
        "ended_at": None,
        "seed": 11,
        "max_plies": 200,
        "rule_policy": "",
        "initial_fen": get_game(rules).position(fen).fen,
        "white_spec": "llm",
        "black_spec": "random",
        "white_template": None,
        "black_template": None,
        "model": "tiny",
        "model_checksum": None,
        "time_control": None,
        "charge": None,
        "moves": tuple(played),
        "open_attempts": (),
        "source_tags": None,
    }
    if "result" in fields:
        usual["status"] = "finished"
    return GameDetail(**{**usual, **fields})


@pytest.fixture(name="game")
def game_fixture():
    return game


@pytest.fixture(name="attempt")
def attempt_fixture():
    return attempt


@pytest.fixture
def scholars_mate(game, attempt):
    """Seven plies; the third needed three tries, the fourth is `<script>` and much more; with clocks."""
    tries = (
        attempt(1, "I like my bishop.", "unparsable", "no move in it"),
        attempt(2, "Bc5", "illegal", "'Bc5' is not legal"),
        attempt(3, "Bc4"),
    )
    decisions = (
        Decision((Option("Q…", 0.5), Option("N…", 0.3), Option("d4", 0.0004)), 0),
        Decision((Option("Qf3", 0.6), Option("Qh5", 0.4)), 1),
    )
    hostile = (attempt(1, "</script><script>alert(1)</script>\x1b[2J" + "x" * 10_000),)
    return game(
        ("e4", "e5", "Bc4", "Nc6", "Qh5", "Nf6", "Qxf7#"),
        of_move={
            1: {"clock_ms": 60_500.0},
            2: {"clock_ms": 59_000.0},
            3: {"attempts": tries, "policy": "retry:3", "probability": None},
            4: {"attempts": hostile},
            5: {"decisions": decisions},
        },
        result="1-0",
        termination="checkmate",
        white="<img src=x onerror=alert(1)>",
        time_control="60+1",
        charge="compute",
    )
