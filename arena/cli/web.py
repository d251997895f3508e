"""`arena web`: the record in a browser."""

from __future__ import annotations

import click

from arena.cli.logs import log_options
from arena.cli.options import db_option
from arena.errors import StoreError, UsageError


@click.command("web")
@db_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 is all of them.")
@click.option("--port", type=click.IntRange(0, 65535), default=8642, show_default=True, help="0 takes any free one.")
@click.option("--open", "open_browser", is_flag=True, help="Open the page in the browser.")
@log_options
def command(db: str, host: str, port: int, open_browser: bool) -> None:
    """Serve the record to a browser: runs, games, replays, live boards, standings, the engine's figures.

    It only reads, and nobody but this machine can reach it unless --host says otherwise. Ctrl-C stops it.
    """
    from arena.web.serve import serve

    def ready(url: str) -> None:
        click.echo(f"The record {db} is at {url}  (Ctrl-C stops)")
        if open_browser:
            click.launch(url)

    try:
        serve(db, host=host, port=port, ready=ready)
    except StoreError as error:
        raise UsageError(str(error)) from error  # what was named cannot be served
