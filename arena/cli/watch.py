"""`arena watch`: games that are being played, here or anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click

from arena.cli.brokers import broker_options
from arena.cli.logs import log_options, logs_of
from arena.cli.options import db_option
from arena.errors import ArenaError
from arena.interrupts import on_interrupt

if TYPE_CHECKING:
    from agents.mqtt.broker import Broker
    from arena.live.boards import Boards, Gone
    from arena.live.watching import Face
    from arena.mqtt.messages import Update

    Take = Callable[[Update | Gone], object]
    Source = Callable[[Take, asyncio.Event], Awaitable[None]]
    """Passes updates on until the event is set."""

LOOK_EVERY_S = 0.5
"""How often the database is looked at."""


@click.command("watch")
@broker_options
@db_option
@click.option("--run", metavar="RUN", help="Only this run: with --mqtt as it is called there, else by id or name.")
@click.option("--until-end", is_flag=True, help="Stop when every run that was seen has ended.")
@click.option("--plain", is_flag=True, help="Lines, on a terminal too.")
@click.option("--json", "as_json", is_flag=True, help="Write each event as one line of JSON.")
@log_options
def command(
    broker: Broker | None,
    db: str,
    run: str | None,
    until_end: bool,
    plain: bool,
    as_json: bool,
) -> None:
    """Watch games that are being played.

    With --mqtt those of all runs that are published at the broker, from anywhere; without it those in the database.
    Joins in the middle, and outlives a restart of the broker. Ctrl-C ends it.
    """
    from arena.live.boards import Boards

    boards = Boards(waiting_for=f"no game is being played at {broker.address if broker else db}")
    source = _database(db, run) if broker is None else _subscription(broker, run)
    face = _face(boards, plain=plain, as_json=as_json)
    with logs_of(click.get_current_context()).shown_by(face.notify), face:
        asyncio.run(_watch(source, boards, face, until_end=until_end))
    if boards.missed:
        click.echo(f"{boards.missed} moves were missed; the positions after them were seen.", err=True)


def _face(boards: Boards, *, plain: bool, as_json: bool) -> Face:
    from rich.console import Console

    from arena.live.watching import BoardLines, BoardScreen, JsonLines

    console = Console()
    if as_json:
        return JsonLines(click.echo, boards)
    if plain or not console.is_terminal or console.is_dumb_terminal:
        return BoardLines(click.echo, boards)
    return BoardScreen(console, boards)


async def _watch(source: Source, boards: Boards, face: Face, *, until_end: bool) -> None:
    stopping = asyncio.Event()

    def take(update: Update | Gone) -> None:
        if boards.take(update):
            face.tell(update)
            if until_end and boards.all_ended:
                stopping.set()

    with on_interrupt(stopping.set):
        await source(take, stopping)


def _subscription(broker: Broker, run: str | None) -> Source:
    async def listen(take: Take, stopping: asyncio.Event) -> None:
        from agents.mqtt.connection import BrokerRefusedError
        from arena.mqtt.subscriber import Subscriber

        try:
            await Subscriber(broker, take, run).listen(stopping)
        except BrokerRefusedError as error:
            raise ArenaError(str(error)) from error

    return listen


def _database(db: str, run: str | None) -> Source:
    async def look(take: Take, stopping: asyncio.Event) -> None:
        from arena.live.follow import Follower
        from arena.store.database import Database

        with Database.open(db, create=False) as database:
            key = int(run) if run is not None and run.isdecimal() else run
            follower = Follower(database, key)
            while not stopping.is_set():
                for update in await asyncio.to_thread(follower.poll):
                    take(update)
                try:
                    await asyncio.wait_for(stopping.wait(), LOOK_EVERY_S)
                except TimeoutError:
                    continue

    return look
