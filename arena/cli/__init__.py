"""The command line: one module a command, imported when it is called."""

from __future__ import annotations

import atexit
import errno
import gc
import importlib
import importlib.util
import logging
import os
import sys
from pathlib import Path

import click

from arena.cli.logs import Logs, log_options
from arena.errors import ArenaError, UsageError
from arena.printable import printable

logger = logging.getLogger(__name__)

INTERRUPTED = 130
"""Exit code of what Ctrl-C stopped before its end, as a shell gives it."""

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What writing to a file can meet that is no fault of the program."""

NEW_OBJECTS = 5_000
"""Objects after which the interpreter looks for garbage again. A start makes 300,000 that all stay; to look through
them after every 700, which is its own choice, takes an eighth of the time."""

COMMANDS = {
    "play": "Play games between agents, live on the screen.",
    "tournament": "Play tournaments from a spec: run, resume, standings.",
    "watch": "Watch games that are being played, here or over MQTT.",
    "games": "List recorded games.",
    "show": "Show a recorded game: board, moves, how each was chosen.",
    "analyse": "Have a UCI engine judge recorded games, off the clock.",
    "report": "Write the report of a recorded run: one HTML page, Markdown, CSV, JSON.",
    "replay": "Step through recorded games on the terminal.",
    "web": "Serve the record to a browser: replays, live boards, charts.",
    "export": "Write recorded games to files: PGN, .gib, HTML, SVG, GIF, text, JSON lines.",
    "import": "Record the games of a file (PGN, .gib).",
    "position": "Show a position: board, legal moves, outcome; draw it as SVG.",
    "perft": "Count the lines of legal moves from a position.",
    "agents": "List the kinds of agents; try one out.",
    "models": "List, fetch, locate and remove models.",
    "capacity": "Plan: how many games fit in memory, how many keep an engine busy.",
    "stats": "The figures of the engine in a run: queue, TTFT, tokens, memory over time.",
    "bench": "Measure the engine, and what each technique is worth.",
}

MODULES = {"import": "import_games"}
"""Modules that cannot have their command's name."""


class LazyGroup(click.Group):
    """A group whose commands live in modules of their own: `arena --help` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"arena.cli.{MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="arena-llm", prog_name="arena")
@log_options
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
    gc.set_threshold(NEW_OBJECTS)
    atexit.register(_leave_garbage)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115
    with Logs() as logs:
        code = _run(logs)
    if code:
        sys.exit(code)


def _leave_garbage() -> None:
    """Spares the end of the process the search for garbage in all that is left, which takes most of a second. Triton
    complains of what it finds left, so with it the search is done."""
    if "triton" not in sys.modules:
        gc.freeze()


def _run(logs: Logs) -> int:
    """Runs the command that the arguments name and returns its exit code."""
    try:
        check_packages()
        cli(standalone_mode=False, obj=logs)
        sys.stdout.flush()
    except click.exceptions.Abort:
        return INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.UsageError as error:
        return _complain(UsageError(_sentence(error)))
    except ArenaError as error:
        logger.debug("stopped", exc_info=error)
        return _complain(error)
    except OSError as error:
        if error.errno == errno.EPIPE:
            _discard_output()
            return 1
        if error.errno not in DISK_ERRORS or error.filename is not None:
            raise
        _discard_output()
        return _complain(ArenaError(f"cannot write the output: {error.strerror}"))
    return 0


def _sentence(error: click.UsageError) -> str:
    """What is wrong with the arguments, and where it says what would be right."""
    said = error.format_message().rstrip(".")
    command = error.ctx.command_path if error.ctx else "arena"
    return f"{said[:1].lower()}{said[1:]}; see `{command} --help`"


def _complain(error: ArenaError) -> int:
    click.echo(f"arena: {printable(str(error))}", err=True)
    return error.exit_code


def _discard_output() -> None:
    """Lets what is still in the buffer of stdout go nowhere, so that the interpreter can close it in peace."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)
