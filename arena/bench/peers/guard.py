"""Runs a command that must not outlive whoever started it: `python guard.py FD COMMAND...`.

FD is the reading end of a pipe that the owner keeps open. When it closes, however the owner ended, the whole process
group is killed. Needs a session of its own and the standard library.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading


def _die_with_owner(descriptor: int) -> None:
    os.read(descriptor, 1)
    os.killpg(0, signal.SIGKILL)


def main() -> int:
    """The command's exit code; 128 and the signal's number if one ended it, 127 if it cannot be run."""
    threading.Thread(target=_die_with_owner, args=(int(sys.argv[1]),), daemon=True).start()
    try:
        code = subprocess.call(sys.argv[2:])
    except OSError as error:
        print(f"{sys.argv[2]}: {error.strerror}", file=sys.stderr)
        return 127
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.killpg(0, signal.SIGTERM)  # what the command itself left behind
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
