"""A run to look at, made of events."""

from __future__ import annotations

import pytest

from arena.events import EngineSampled, GameEnded, GameStarted, MovePlayed
from arena.live.state import RunState
from arena.store.records import NewGame, NewRun, StoredGame, StoredRun
from games import get_game

FIGURES = {
    "moves_per_s": 12.34,
    "running": 8.0,
    "waiting": 2.0,
    "ttft_p50_ms": 121.4,
    "ttft_p95_ms": 312.0,
    "hit_rate": 0.9741,
    "pages_total": 364.0,
    "pages_free": 300.0,
}


class Stage:
    """Says to a reader what happens in a run; the clock stands still."""

    def __init__(self, games=8, reader=None, results=None):
        self.reader = reader or RunState(clock=lambda: 0.0)
        self.positions = {}
        results = results or {}
        stored = []
        for index in range(games):
            new = NewGame(index, f"llm-{index + 1}", f"llm-{2 * games - index}", "chess", 1, 200, "r")
            result = results.get(index)
            stored.append(StoredGame(index + 1, new, result, None, result == "*", ()))
        new_run = NewRun({}, 7, (), tuple(game.new for game in stored), model="smollm2-135m")
        self.run = StoredRun(1, "calm-rook-12", "running", new_run, tuple(stored))
        self.reader.begin(self.run)

    def start(self, game_id, moves="", white=None, black=None):
        new = self.run.games[game_id - 1].new if game_id <= len(self.run.games) else self.run.games[0].new
        self.positions[game_id] = get_game("chess").position(None, moves.split())
        self.reader.read(
            GameStarted(
                run_id=1,
                game_id=game_id,
                game="chess",
                white=white or new.white,
                black=black or new.black,
                start_fen=self.positions[game_id].start_fen,
                moves=tuple(moves.split()),
            )
        )

    def move(self, game_id, move):
        before = self.positions[game_id]
        after = self.positions[game_id] = before.play(move)
        self.reader.read(
            MovePlayed(
                run_id=1,
                game_id=game_id,
                ply=len(after.moves),
                agent="a",
                side=before.side_to_move,
                move=move,
                san=before.san(move),
                fen=after.fen,
                policy="constrained",
            )
        )

    def end(self, game_id, result="1-0", termination="checkmate", **fields):
        plies = len(self.positions[game_id].moves)
        self.reader.read(
            GameEnded(run_id=1, game_id=game_id, result=result, termination=termination, plies=plies, **fields)
        )

    def sample(self, **figures):
        self.reader.read(EngineSampled(run_id=1, figures={**FIGURES, **figures}))


@pytest.fixture
def stage():
    return Stage


@pytest.fixture
def full_stage():
    """A function: a run with so many games under way, one of them won, one drawn, one void."""

    def make(games=8):
        stage = Stage(games)
        for game_id in range(1, games + 1):
            stage.start(game_id, "e2e4 e7e5")
            stage.move(game_id, "g1f3")
        stage.end(1, "1-0", "forfeit-illegal")
        stage.end(2, "1/2-1/2", "threefold-repetition")
        stage.end(3, "*", "crash", void=True)
        stage.sample()
        return stage

    return make
