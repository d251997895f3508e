"""A small record to show the pages with: two games that ended, four that are being played, a minute of an engine.

Openings are real, the moves after them and all figures are drawn at random from a fixed seed: pictures of it show
what the pages look like, not how fast anything is.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from math import prod
from pathlib import Path

from sqlalchemy import update

from agents.prompt_files import PromptLibrary
from arena.events import (
    AttemptFailed,
    AttemptRecord,
    DecisionRecord,
    EngineSampled,
    Event,
    GameEnded,
    GameStarted,
    MovePlayed,
)
from arena.match import decision_record
from arena.resources import data_path
from arena.store.apply import apply
from arena.store.database import Database
from arena.store.models import RunRow
from arena.store.records import NewAgent, NewGame, NewRun
from arena.store.runs import create_run
from games import get_game
from games.base import Position
from inference.types import Decision

SEED = 7
PROMPT = "uci-history"
SECONDS = 90
START = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
ITALIAN = "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 c2c3 g8f6 d2d4 e5d4 c3d4 c5b4 b1c3 f6e4 e1g1 b4c3 b2c3 d7d5 c4d3 e8g8"
SICILIAN = "e2e4 c7c5 g1f3 d7d6 d2d4 c5d4 f3d4 g8f6 b1c3 a7a6 c1e3 e7e5 d4b3 c8e6 f2f3 b8d7"
QUEENS = "d2d4 d7d5 c2c4 e7e6 b1c3 g8f6 c1g5 f8e7 e2e3 e8g8 g1f3 b8d7 a1c1 c7c6"

AGENTS = ("gentle", "bold", "terse", "random")
GAMES = (
    ("chess", ITALIAN, 33),
    ("janggi", "", 60),
    ("chess", SICILIAN, 22),
    ("janggi", "", 31),
    ("chess", QUEENS, 17),
    ("chess", ITALIAN, 26),
)
"""Rules, opening, plies; the first ends by a forfeit, the second at its ply limit, the others go on."""


def write_sample(path: Path) -> None:
    """Write the sample to a new database at `path`. Raises StoreError."""
    with Database.open(path, create=True) as db:
        run = create_run(db, _new_run())
        with db.writing() as session:
            session.execute(update(RunRow).values(created_at=START))
            for stored in run.games:
                for event in _events(run.run_id, stored.game_id, stored.new):
                    apply(session.connection(), event)
            for event in _samples(run.run_id):
                apply(session.connection(), event)


def _new_run() -> NewRun:
    specs = ("llm?temperature=0.2", "llm?temperature=0.9", "llm?legality=retry:3", "random")
    agents = tuple(
        NewAgent(name, spec, {"prompt": PROMPT} if spec != "random" else {})
        for name, spec in zip(AGENTS, specs, strict=True)
    )
    games = tuple(
        NewGame(index, AGENTS[index % 4], AGENTS[(index + 1) % 4], rules, SEED + index, 60, get_game(rules).rule_policy)
        for index, (rules, _, _) in enumerate(GAMES)
    )
    config = {"kind": "sample", "time_control": "120+1", "charge": "compute"}
    return NewRun(config=config, seed=SEED, agents=agents, games=games, model="smollm2-135m", name="sample")


def _events(run_id: int, game_id: int, new: NewGame) -> Iterator[Event]:
    draw = random.Random(SEED + new.index)
    rules, opening, plies = GAMES[new.index]
    position = get_game(rules).position()
    at = START
    template = PromptLibrary(data_path("prompts")).load(PROMPT, rules).hash
    yield GameStarted(
        run_id=run_id,
        game_id=game_id,
        game=rules,
        white=new.white,
        black=new.black,
        start_fen=position.fen,
        white_template=template if new.white != "random" else None,
        black_template=template if new.black != "random" else None,
        at=at,
    )
    clocks = {"first": 120_000.0, "second": 120_000.0}
    book = opening.split()
    for ply in range(1, plies + 1):
        move = book[ply - 1] if ply <= len(book) else draw.choice(position.legal_moves())
        agent = new.white if position.side_to_move == "first" else new.black
        played = _move(draw, position, move, agent, clocks, run_id=run_id, game_id=game_id, ply=ply, at=at)
        at = played.at
        yield played
        position = position.play(move)
    ends = {"run_id": run_id, "game_id": game_id, "plies": plies, "at": at}
    if new.index == 0:
        said = ("I think the best move here is to castle, because", "Qxf9", "The position is <b>winning</b> for me")
        for text in said:
            failed = AttemptRecord(text=text, failure="unparsable", detail="not a move in UCI or SAN", total_ms=310)
            agent = new.white if position.side_to_move == "first" else new.black
            yield AttemptFailed(run_id=run_id, game_id=game_id, ply=plies + 1, agent=agent, attempt=failed, at=at)
        result = "0-1" if position.side_to_move == "first" else "1-0"
        yield GameEnded.model_validate({**ends, "result": result, "termination": "forfeit-unparsable"})
    elif new.index == 1:
        yield GameEnded.model_validate({**ends, "result": "1/2-1/2", "termination": "ply-limit"})


def _move(
    draw: random.Random,
    position: Position,
    move: str,
    agent: str,
    clocks: dict[str, float],
    *,
    run_id: int,
    game_id: int,
    ply: int,
    at: datetime,
) -> MovePlayed:
    queue, prefill, decode = draw.expovariate(1 / 90), draw.gauss(120, 20), draw.gauss(420, 120)
    spent = max(60.0, prefill) + max(80.0, decode)
    side = position.side_to_move
    clocks[side] += 1000 - spent
    tries = [
        AttemptRecord(text=move, seed=draw.getrandbits(32), prompt_tokens=1260, generated_tokens=4, total_ms=spent)
    ]
    if draw.random() < 0.12:
        text = f"Let me play {position.san(move)}!"
        tries.insert(0, AttemptRecord(text=text, failure="unparsable", detail="not a move in UCI or SAN", total_ms=290))
    prompt = 1200 + 4 * ply
    decisions = tuple(_decisions(random.Random(SEED + ply), position, move)) if len(tries) == 1 else ()
    return MovePlayed(
        run_id=run_id,
        game_id=game_id,
        ply=ply,
        agent=agent,
        side=side,
        move=move,
        san=position.san(move),
        fen=position.play(move).fen,
        policy="constrained" if decisions else "retry:3",
        attempts=tuple(tries),
        prompt_tokens=prompt,
        cached_tokens=prompt - 12,
        forwarded_tokens=16,
        generated_tokens=4,
        forward_passes=5,
        queue_ms=queue,
        prefill_ms=max(60.0, prefill),
        decode_ms=max(80.0, decode),
        ttft_ms=queue + max(60.0, prefill),
        total_ms=queue + spent,
        batch_size=draw.randint(3, 8),
        probability=prod(decision.options[decision.taken][1] for decision in decisions) if decisions else None,
        decisions=decisions,
        clock_ms=clocks[side],
        at=at + timedelta(milliseconds=queue + spent),
    )


def _decisions(draw: random.Random, position: Position, move: str) -> Iterator[DecisionRecord]:
    """A walk to `move`, square by square."""
    legal = position.legal_moves()
    squares = sorted({f"{other[: _half(other)]}…" for other in legal})
    targets = [other for other in legal if other.startswith(move[: _half(move)])]
    for begins in (squares, targets):
        ways = draw.sample(begins, len(begins))
        shares = [draw.expovariate(1.0) ** 2 for _ in ways]
        taken = next(at for at, way in enumerate(ways) if move.startswith(way.rstrip("…")))
        told = Decision.among([share / sum(shares) for share in shares], taken, ways.__getitem__)
        yield decision_record(told)


def _half(move: str) -> int:
    """Where the square that a move reaches begins in its text."""
    return next(at for at in range(2, len(move)) if move[at].isalpha())


def _samples(run_id: int) -> Iterator[EngineSampled]:
    draw = random.Random(SEED)
    prompted, cached, forwarded, generated = 0, 0, 0, 0
    ttft, pages = 400.0, 0
    for second in count():
        if second > SECONDS:
            return
        prompted += (new := draw.randint(1800, 2600))
        cached += int(new * min(0.96, second / 12))
        forwarded += draw.randint(190, 260)
        generated += draw.randint(24, 40)
        ttft += (150 - ttft) * 0.15 + draw.gauss(0, 12)
        pages = min(700, pages + draw.randint(4, 14))
        locked = draw.randint(60, 110)
        figures = {
            "moves_per_s": max(0.0, draw.gauss(7.5, 0.7)) * min(1.0, second / 6),
            "waiting": float(max(0, round(draw.gauss(3, 2)))),
            "running": float(draw.randint(4, 8)),
            "prompt_tokens": float(prompted),
            "cached_tokens": float(cached),
            "hit_rate": cached / prompted,
            "forwarded_tokens": float(forwarded),
            "generated_tokens": float(generated),
            "ttft_p50_ms": ttft,
            "ttft_p95_ms": ttft * draw.uniform(1.7, 2.3),
            "pages_total": 1024.0,
            "pages_locked": float(locked),
            "pages_cached": float(pages),
            "pages_free": float(1024 - locked - pages),
        }
        yield EngineSampled(run_id=run_id, figures=figures, at=START + timedelta(seconds=second))
