"""`arena tournament`: batch runs that a statistician would trust and a crash cannot spoil."""

from __future__ import annotations

import importlib

import click

from arena.cli.logs import log_options

COMMANDS = {
    "init": "Write a commented spec to begin with.",
    "check": "Validate a spec and let each of its agents play one ply.",
    "run": "Play a tournament, or go on with it.",
    "resume": "Go on with a recorded tournament.",
    "standings": "Show the table, while games are played and after.",
    "report": "Write the report: one HTML page, Markdown, CSV, JSON.",
}
"""Each lives in the module of its name beside this one, as `command`."""


class TournamentGroup(click.Group):
    """Imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=TournamentGroup)
@log_options
def command() -> None:
    """Tournaments between any number of agents, from a spec in YAML.

    Games come in pairs from one opening with colours swapped. Ctrl-C finishes the running games, a second one stops at
    once; run or resume goes on from any interruption, inside games too.
    """
