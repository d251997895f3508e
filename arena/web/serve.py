"""The server: from an address to a socket, and from there until Ctrl-C."""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import uvicorn

from arena.errors import UsageError
from arena.web.app import create_app
from arena.web.guard import names_of
from arena.web.record import Record

if TYPE_CHECKING:
    from pathlib import Path

BACKLOG = 128
CLOSE_S = 2
"""Open requests get this long when the server stops."""


def serve(where: str | Path, *, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serves the record at `where` until SIGINT or SIGTERM; calls `ready` with the address once it listens.

    `port` 0 takes any that is free. Raises UsageError for an address that cannot be listened on, StoreError for a
    record that cannot be read.
    """
    record = Record(where)
    try:
        with record.reading():
            pass  # what is wrong with it is said before anything listens
        with listening(host, port) as listener:
            ready(address(listener))
            with suppress(KeyboardInterrupt):  # the usual end of a server is no failure
                _server(record, host).run(sockets=[listener])
    finally:
        record.close()


@contextmanager
def serving(where: str | Path) -> Iterator[str]:
    """Serves the record at `where` on loopback from a thread of its own, at the address given, until the block ends."""
    record = Record(where)
    with listening("127.0.0.1", 0) as listener:
        server = _server(record, "127.0.0.1")
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="arena-web")
        thread.start()
        try:
            yield address(listener)
        finally:
            server.should_exit = True
            thread.join()
            record.close()


def _server(record: Record, host: str) -> uvicorn.Server:
    config = uvicorn.Config(
        create_app(record, names=names_of(host), closing=lambda: server.should_exit),
        access_log=False,
        lifespan="off",
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=CLOSE_S,
    )
    server = uvicorn.Server(config)
    return server


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens at `host` and `port`. Raises UsageError where that cannot be."""
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"cannot listen on {host!r}: {error}; give an address of this machine") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise UsageError(f"cannot listen on {host} port {port}: {_advice(error)}") from error
    return listener


def _advice(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another program does; --port 0 takes any that is free"
    if error.errno == errno.EACCES:
        return "ports below 1024 belong to the system; take a higher one"
    if error.errno == errno.EADDRNOTAVAIL:
        return "it is not an address of this machine"
    return error.strerror or str(error)


def address(listener: socket.socket) -> str:
    """The URL of what listens there; for an address that means all of them, that of this machine to itself."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
