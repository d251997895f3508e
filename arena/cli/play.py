"""`arena play`: many games at once, live on the screen, every move recorded."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from agents.spec import kind_of
from arena.cli import INTERRUPTED
from arena.cli.brokers import publishing, publishing_options
from arena.cli.logs import log_options, logs_of
from arena.cli.options import console, db_option, echo_json, json_option
from arena.config import (
    EngineSettings,
    RunConfig,
    build_config,
    config_file,
    contradictions,
    read_config_file,
    stored_config,
)
from arena.errors import UsageError
from arena.interrupts import termination_as_interrupt
from inference.formats import KV_MEMORY_MB

if TYPE_CHECKING:
    from click.decorators import FC

    from agents.mqtt.broker import Broker
    from arena.lineup import Lineup, Roster
    from arena.live.terminal import Screen
    from arena.runner import RunResult

logger = logging.getLogger(__name__)


def _switch(technique: str, what: str) -> Callable[[FC], FC]:
    name = technique.replace("_", "-")
    return click.option(f"--no-{name}", technique, flag_value=False, default=None, type=bool, help=what)


@click.command()
@click.option("--agents", type=int, metavar="N", help="Agents, an even number: N/2 games at once.  [default: 2]")
@click.option(
    "--agent",
    multiple=True,
    metavar="SPEC",
    help="Who plays, such as llm, 'llm?temperature=0.7', random, python:./mine.py:Mine. Repeatable; the specs are "
    "dealt to the agents in turn.  [default: llm]",
)
@click.option("--white", "--cho", "--first", "white", metavar="SPEC", help="Who has the first move: two agents in all.")
@click.option("--black", "--han", "--second", "black", metavar="SPEC", help="Who answers.  [default of both: llm]")
@click.option("--games", type=int, metavar="N", help="Games in all.  [default: one round, half the agents]")
@click.option("--concurrency", type=int, metavar="N", help="Games at once.  [default: half the agents]")
@click.option("--game", metavar="NAME", help="What is played.  [default: chess]")
@click.option("--fen", help="Position that every game starts from.")
@click.option(
    "--opening",
    metavar="NAME",
    help="Opening of every game, such as 'Petrov, Italian', or of janggi the setups of both sides, such as "
    "masangsangma-sangmamasang.",
)
@click.option("--max-plies", type=int, metavar="N", help="A game this long ends: a draw, or by points.  [default: 200]")
@click.option("--seed", type=int, help="Makes the run repeatable.  [default: drawn at random, and printed]")
@click.option("--temperature", type=float, help="Of llm agents whose spec has none.  [default: 1.0]")
@click.option("--legality", metavar="POLICY", help="constrained, retry:N or free, likewise.  [default: constrained]")
@click.option(
    "--prompt", metavar="NAME|FILE", help="Template of `arena agents`, or .toml file, likewise.  [default: transcript]"
)
@click.option(
    "--move-timeout",
    type=float,
    metavar="SECONDS",
    help="A move that takes longer, queueing included, loses the game; a person may.  [default: 60 without clocks]",
)
@click.option("--time-control", metavar="60+1", help="Clocks: seconds for the game, and seconds more with each move.")
@click.option(
    "--charge",
    type=click.Choice(["compute", "wall"]),
    help="By the clocks: a move's time without queueing in the engine, or all of it.  [default: compute]",
)
@click.option(
    "--resume",
    is_flag=False,
    flag_value="",
    metavar="[RUN]",
    help="Go on with a run, by name or number; without one, the last that is not finished.",
)
@click.option("--model", metavar="MODEL", help="Name, folder, Hugging Face id or .gguf.  [default: smollm2-135m]")
@click.option(
    "--weights",
    metavar="FORMAT",
    help="How weights are held: int8, float32, bfloat16; auto is int8 where that is fast.  [default: auto]",
)
@click.option(
    "--kv",
    metavar="FORMAT",
    help="How keys and values are held: float32, bfloat16, int8; auto is bfloat16 where that is fast.  [default: auto]",
)
@click.option("--threads", type=int, metavar="N", help="Processor threads of the engine.")
@click.option(
    "--kv-memory", "kv_memory_mb", type=int, metavar="MIB", help=f"Memory of the KV cache.  [default: {KV_MEMORY_MB}]"
)
@click.option("--page-size", type=int, metavar="N", help="Tokens a KV page.  [default: 64]")
@click.option("--max-batch-tokens", type=int, metavar="N", help="New tokens a step.  [default: 256]")
@click.option("--max-batch", type=int, metavar="N", help="Sequences a step; 1 serves one by one.  [default: 256]")
@_switch("prefix_cache", "Compute every prompt from its first token.")
@_switch("continuous_batching", "A batch runs until all of its requests are done.")
@_switch("chunked_prefill", "Prompts are not split over steps.")
@_switch("jump_forward", "Forced tokens are decoded one by one.")
@click.option(
    "--select",
    type=click.Choice(["walk", "tree"]),
    help="Choose a move token by token, or compute all that could be met in one pass.  [default: walk]",
)
@_switch("shared_attention", "A page that sequences share is read once for each.")
@db_option
@json_option
@click.option("--plain", is_flag=True, help="Progress as lines, on a terminal too.")
@publishing_options
@log_options
def command(
    db: str,
    as_json: bool,
    plain: bool,
    resume: str | None,
    broker: Broker | None,
    mqtt_clear: bool,
    **asked: Any,
) -> None:
    """Play games between agents, live on the screen.

    Agents are paired into games that run at the same time; each round of games comes twice, with colours swapped.
    Ctrl-C finishes the running games, a second one stops at once: either way nothing that was played is lost, and
    --resume goes on.
    """
    flags = _given(_two_seats(asked))
    run_id: int | None = None
    if resume is None:
        config = build_config(flags, read_config_file(config_file()))
    else:
        run_id, config = _stored(db, resume, flags)
    context = click.get_current_context()
    by_hand = any(kind_of(spec) == "human" for spec in config.agent)
    screen = make_screen(to_stderr=as_json, plain=plain, by_hand=by_hand)
    with logs_of(context).shown_by(screen.notify):
        result = _play(config, db, run_id, screen, broker, clear=mqtt_clear)
    source = context.get_parameter_source("db")
    _tell(result, db, as_json=as_json, name_db=source is ParameterSource.COMMANDLINE)
    if result.status != "finished":
        sys.exit(INTERRUPTED)


def _two_seats(asked: dict[str, Any]) -> dict[str, Any]:
    """What was asked, with `--white` and `--black` as the agents that they stand for. Raises UsageError."""
    white, black = asked.pop("white"), asked.pop("black")
    if white is None and black is None:
        return asked
    if asked["agent"] or asked["agents"] is not None:
        raise UsageError("--white and --black name the two agents of a game: leave out --agent and --agents")
    return {**asked, "agent": (white or "llm", black or "llm")}


def _given(asked: dict[str, Any]) -> dict[str, Any]:
    """What was asked for on the command line, as RunConfig fields; what was left out is missing."""
    given = {name: value for name, value in asked.items() if value is not None and value != ()}
    engine = {name: given.pop(name) for name in EngineSettings.model_fields if name in given}
    return {**given, **({"engine": engine} if engine else {})}


def _stored(db: str, resume: str, flags: dict[str, Any]) -> tuple[int, RunConfig]:
    """The run to resume and its configuration. Raises UsageError if `flags` ask for something else."""
    from arena.runner import unfinished_run
    from arena.store.claim import claimed
    from arena.store.database import Database

    with Database.open(db, create=False) as database:
        run = unfinished_run(database, _run_key(resume))
        with claimed(database, run.run_id):
            pass  # somebody else's run is refused before a model loads
    config = stored_config(run.new.config)
    if found := contradictions(flags, config):
        raise UsageError(f"run {run.name} cannot be resumed with {', '.join(found)}: leave it out, or start a new run")
    concurrency = build_config({"concurrency": flags.get("concurrency", config.concurrency)}).concurrency
    return run.run_id, config.model_copy(update={"concurrency": concurrency})


def _run_key(text: str) -> int | str | None:
    return int(text) if text.isdecimal() else text or None


def _play(
    config: RunConfig,
    db: str,
    run_id: int | None,
    screen: Screen,
    broker: Broker | None,
    *,
    clear: bool,
) -> RunResult:
    """Plays on the screen. However it ends, the engine's thread has ended too: a second Ctrl-C may cut short the
    clean-up in the event loop, and the interpreter must not end while that thread computes."""
    from arena.lineup import Lineup
    from arena.runner import play, resume
    from arena.store.database import Database

    Database.check(db)
    lineup = Lineup(config, broker)
    _warn_of_repeats(lineup)
    with termination_as_interrupt():
        try:
            load(lineup)
            with screen, publishing(broker, db, clear=clear) as publishers:
                readers = (screen, *publishers)
                if run_id is None:
                    return asyncio.run(play(config, db=db, readers=readers, lineup=lineup))
                return asyncio.run(resume(run_id, db=db, readers=readers, lineup=lineup))
        finally:
            lineup.close_engines()


def make_screen(*, to_stderr: bool, plain: bool, by_hand: bool) -> Screen:
    """What shows the games: live on a terminal, as lines elsewhere; `by_hand`: somebody types moves in between."""
    from rich.console import Console

    from arena.live.terminal import LiveScreen, PlainProgress

    console = Console(stderr=to_stderr)
    if plain or by_hand or not console.is_terminal or console.is_dumb_terminal:
        # Not by the console, which ends the program where nobody reads its lines any more.
        return PlainProgress(lambda line: click.echo(line, err=to_stderr), figures=not by_hand)
    return LiveScreen(console)


def load(lineup: Roster) -> None:
    """Starts the engines outside the event loop, so that Ctrl-C stops it at any moment, and says what takes long."""
    progress = _Progress()
    try:
        lineup.start_engines(progress.tell)
        gc.freeze()  # what was imported stays: to look through it for garbage would hold up all games for 0.2 s
    finally:
        progress.end()


class _Progress:
    """Lines about loading, on stderr: on a terminal each replaces the one before, elsewhere one for each stage."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._stage = ""

    def tell(self, line: str) -> None:
        stage = line.partition(":")[0]
        if self._live:
            click.echo(f"\r\x1b[K{line}", err=True, nl=False)
        elif stage != self._stage:
            click.echo(line, err=True)
        self._stage = stage

    def end(self) -> None:
        if self._live and self._stage:
            click.echo("\r\x1b[K", err=True, nl=False)


def _warn_of_repeats(lineup: Lineup) -> None:
    repeats = lineup.repeats()
    if repeats:
        logger.warning(
            "%d of %d games will repeat another move for move: equal agents that always answer the same, from one "
            "position. Give them a temperature, other settings or another --opening.",
            repeats,
            lineup.config.games,
        )


def _tell(result: RunResult, db: str, *, as_json: bool, name_db: bool) -> None:
    from arena.live import report
    from arena.store.database import Database
    from arena.store.summary import run_summary

    with Database.open(db, create=False) as database:
        summary = run_summary(database, result.run_id)
    if as_json:
        echo_json(report.as_json(result, summary, db))
        return
    out = console()
    for piece in report.report(result, summary, db, name_db=name_db):
        out.print(piece)
