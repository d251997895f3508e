"""`arena analyse`: what a UCI engine makes of recorded games."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING

import click

from arena.cli.logs import log_options
from arena.cli.options import db_option, echo_json, game_id, json_option
from arena.errors import UsageError
from arena.interrupts import termination_as_interrupt

if TYPE_CHECKING:
    from arena.analysis import Analysis

LINE_EVERY_S = {True: 0.2, False: 5.0}
"""Seconds between two lines of progress: on a terminal, where each replaces the one before, and elsewhere."""


@click.command("analyse")
@click.argument("games", metavar="[GAME|RUN]...", nargs=-1)
@click.option("--run", "runs", metavar="RUN", multiple=True, help="All games of this run, by id or name.")
@click.option(
    "--engine",
    metavar="SPEC",
    required=True,
    help="The judge: an engine as in uci:stockfish?nodes=20000; for janggi uci:fairy-stockfish.",
)
@db_option
@json_option
@log_options
def command(games: tuple[str, ...], runs: tuple[str, ...], engine: str, db: str, as_json: bool) -> None:
    """Have an engine judge games: named ones, or all of a run.

    A number is a game, anything else the name of a run. Each position is assessed once, and recorded: whatever
    interrupts the analysis, the same command goes on with the rest. `arena show` and `arena report` show what came
    of it: the engine's own choices, and the centipawns that each move lost.
    """
    from arena.analysis import analyse, find_games
    from arena.store.database import Database

    named: list[str | int] = [game_id(text) if text.isdecimal() else text for text in games]
    named += runs
    if not named:
        raise UsageError("say what to analyse: numbers of games, or a run; `arena games` lists them")
    progress = _Progress()
    with Database.open(db, create=True) as database, termination_as_interrupt():
        found = find_games(database, named)
        try:
            analysis = asyncio.run(analyse(database, engine, found, progress.tell))
        finally:
            progress.end()
    if as_json:
        echo_json(analysis)
    else:
        _print(analysis)


def _print(analysis: Analysis) -> None:
    games = "1 game" if analysis.games == 1 else f"{analysis.games:,} games"
    before = analysis.positions - analysis.assessed
    click.echo(
        f"{analysis.judge.version} has assessed the {analysis.positions:,} positions of {games}: "
        f"{analysis.assessed:,} now" + (f", {before:,} before" if before else "") + "."
    )


class _Progress:
    """How far it is and how long it will take, on stderr."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._begun = self._told = time.monotonic()
        self._first: int | None = None
        self._shown = False

    def tell(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = done
        elif now < self._told + LINE_EVERY_S[self._live] or done == total:
            return
        else:
            self._told = now
            self._show(f"{done:,} of {total:,} positions{self._left(done, total, now)}")

    def _left(self, done: int, total: int, now: float) -> str:
        new = done - (self._first or 0)
        seconds = (total - done) * (now - self._begun) / new
        return f", {new / (now - self._begun):.1f} a second, {_duration(seconds)} left"

    def _show(self, line: str) -> None:
        click.echo(f"\r\x1b[K{line}" if self._live else line, err=True, nl=not self._live)
        self._shown = True

    def end(self) -> None:
        if self._live and self._shown:
            click.echo("\r\x1b[K", err=True, nl=False)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
