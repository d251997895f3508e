"""The command line: one module a command, imported when it is called."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

import click

from arena.errors import ArenaError

COMMANDS = {
    "play": "Play games between agents, live on the screen.",
    "games": "List recorded games.",
    "show": "Show a recorded game: board, moves, how each was chosen.",
    "export": "Write recorded games to a file (PGN).",
    "models": "List, fetch, locate and remove models.",
}


class LazyGroup(click.Group):
    """A group whose commands live in modules of their own: `arena --help` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"arena.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="arena-llm", prog_name="arena")
def cli() -> None:
    """Language models play board games against each other on one batched inference engine."""


def check_packages() -> None:
    """Raises ArenaError if one of our packages is hidden by another distribution's package of the same name."""
    home = Path(__file__).resolve().parents[2]
    for name in ("agents", "games", "inference", "kernels"):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None or Path(spec.origin).resolve().parents[1] != home:
            found = spec.origin if spec is not None and spec.origin else "nowhere"
            raise ArenaError(
                f"the package {name!r} is found in {found}, not in {home}, where arena is: "
                "install arena in an environment of its own"
            )


def main() -> None:
    """Entry point of the `arena` script: errors a person can act on are one line, never a traceback."""
    try:
        check_packages()
        cli(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except ArenaError as error:
        click.echo(f"arena: {error}", err=True)
        sys.exit(error.exit_code)
