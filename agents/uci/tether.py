"""Runs a command that the kernel kills when its parent ends: `python -I -S tether.py PARENT COMMAND [ARGUMENT]...`.

PARENT is the process id of the parent. Linux only; a script of its own, because between fork and exec of a program
with threads no Python code may run.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main(parent: int, command: list[str]) -> None:
    """Becomes `command`, or ends at once if `parent` has ended already. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() == parent:  # else it ended before the kernel knew of the wish
        os.execv(command[0], command)


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]), sys.argv[2:])
    except OSError as error:
        sys.exit(f"cannot run {sys.argv[2]}: {error.strerror}")
