"""The same loads on our engine and on others, in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from arena.bench.loop import Played, percentiles, play
from arena.bench.peers.base import Peer, PeerAnswer, PeerError, PeerMissingError, PeerUnableError, Question
from arena.bench.serving import Measurement, measure
from arena.bench.workload import Turn, Workload
from inference.engine import Engine, EngineConfig
from inference.loader import LoadedModel

OURS = "ours"
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Cell:
    """The figures of one engine under one load. None is what the engine does not tell, or what has no meaning here.

    `computed_tokens_per_move` are tokens of prompts that were in no cache; `legal_share` of the answers is a choice.
    """

    moves_per_s: float
    latency_ms: dict[str, float]
    ttft_ms: dict[str, float] | None
    computed_tokens_per_move: float | None
    legal_share: float | None


@dataclass(slots=True)
class Result:
    """One engine in one round. `cells` by the index of the load; `failure` says why some are not there."""

    engine: str
    settings: str
    version: str = ""
    start_s: float | None = None  # from nothing to the first answer
    peak_mb: float | None = None
    cells: dict[int, Cell] = field(default_factory=dict)
    unable: dict[int, str] = field(default_factory=dict)
    missing: str | None = None
    failure: str | None = None


async def measure_ours(workloads: Sequence[Workload], config: EngineConfig, model: LoadedModel, say: Say) -> Result:
    """Our engine, in this process, a new one for each load. Raises what the engine raises."""
    facts = Engine(config, model=model).environment()
    result = Result(
        OURS,
        f"weights in {facts['weights']}, KV in {facts['kv']}, pages of {config.page_size}, {facts['threads']} threads",
        version=f"this process, torch {facts['torch']}",
    )
    for index, workload in enumerate(workloads):
        say(f"{OURS}: {workload.load}")
        measurement = await measure(workload, config, model)
        result.cells[index] = _cell_of(measurement, workload)
        result.peak_mb = measurement.peak_rss_mb
        say(f"{OURS}: {workload.load}: {result.cells[index].moves_per_s:.2f} moves/s")
    return result


async def measure_peer(peer: Peer, workloads: Sequence[Workload], say: Say) -> Result:
    """A peer, started once, emptied before each load. What goes wrong with it is in the result, never raised."""
    result = Result(peer.name, peer.settings)
    try:
        peer.check()
        await peer.prepare()
        say(f"{peer.name}: starting")
        started = time.perf_counter()
        await peer.start()
        result.version = peer.version
        await peer.ask(_first_question(workloads[0]))
        result.start_s = time.perf_counter() - started
        for index, workload in enumerate(workloads):
            say(f"{peer.name}: {workload.load}")
            try:
                result.cells[index] = await _measure_load(peer, workload)
                say(f"{peer.name}: {workload.load}: {result.cells[index].moves_per_s:.2f} moves/s")
            except PeerUnableError as error:
                result.unable[index] = str(error)
    except PeerMissingError as error:
        result.missing = str(error)
    except PeerError as error:
        result.failure = str(error)
    finally:
        result.peak_mb = peer.peak_mb
        await peer.close()
    return result


async def _measure_load(peer: Peer, workload: Workload) -> Cell:
    await peer.reset()
    # As agents start: what all prompts begin with is sent once, then from every game at once. Not on the clock.
    await peer.ask(_first_question(workload))

    async def warm(turn: Turn) -> PeerAnswer:
        return await peer.ask(Question(turn.game, workload.preamble, 1))

    async def ask(turn: Turn) -> PeerAnswer:
        return await peer.ask(Question.of(turn, workload.load))

    await play(workload.first_turns(), warm)
    return _cell(await play(workload, ask), workload)


def _first_question(workload: Workload) -> Question:
    return Question(0, workload.preamble, 1)


def _cell(played: Played[PeerAnswer], workload: Workload) -> Cell:
    ttfts = [answer.ttft_ms for answer in played.answers if answer.ttft_ms is not None]
    computed = [answer.computed_tokens for answer in played.answers if answer.computed_tokens is not None]
    legal = [answer.text.strip() in turn.choices for turn, answer in zip(played.turns, played.answers, strict=True)]
    return Cell(
        moves_per_s=len(played.answers) / played.seconds,
        latency_ms=percentiles(played.latencies_ms, 50, 95, 99),
        ttft_ms=percentiles(ttfts, 50, 95) if ttfts else None,
        computed_tokens_per_move=sum(computed) / len(computed) if computed else None,
        legal_share=sum(legal) / len(legal) if workload.load.answer == "choose" else None,
    )


def _cell_of(measurement: Measurement, workload: Workload) -> Cell:
    return Cell(
        moves_per_s=measurement.moves_per_s,
        latency_ms=measurement.latency_ms,
        ttft_ms=measurement.ttft_ms,
        computed_tokens_per_move=measurement.prompt_tokens_per_move * (1 - measurement.hit_rate),
        legal_share=1.0 if workload.load.answer == "choose" else None,  # the engine cannot answer anything else
    )


def ratios(rounds: Sequence[Sequence[Result]], engine: str, load: int) -> list[float]:
    """Our moves/s over the engine's, in each round that has both."""
    found = []
    for results in rounds:
        cells = {result.engine: result.cells.get(load) for result in results}
        ours, theirs = cells.get(OURS), cells.get(engine)
        if ours is not None and theirs is not None:
            found.append(ours.moves_per_s / theirs.moves_per_s)
    return found


def ratio(rounds: Sequence[Sequence[Result]], engine: str, load: int) -> float | None:
    """The median of `ratios`, None if there is none."""
    found = ratios(rounds, engine, load)
    return median(found) if found else None
