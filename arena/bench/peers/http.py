"""JSON over HTTP to a server under load: kept connections, a thread each, of the standard library."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import SplitResult, urlsplit

from arena.bench.peers.base import PeerError

SHOWN = 300  # characters of a refusal


def check_url(url: str) -> SplitResult:
    """The parts of a server's URL. Raises ValueError for what is none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is no URL of a server: it would be like http://127.0.0.1:8000/v1")
    return parts


class JsonClient:
    """Owns up to `connections` connections to one server. Raises ValueError for what is no http(s) URL."""

    def __init__(self, url: str, *, connections: int, timeout_s: float, token: str | None = None) -> None:
        parts = check_url(url)
        assert parts.hostname is not None
        self._url = url
        self._kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._address = parts.hostname, parts.port
        self._path = parts.path.rstrip("/")
        self._timeout_s = timeout_s
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._threads = ThreadPoolExecutor(connections, thread_name_prefix="bench-http")
        self._local = threading.local()
        self._connections: list[HTTPConnection] = []
        self._closed = False

    async def get(self, path: str) -> Any:
        """The JSON at `path`, below the URL's own. Raises PeerError."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._ask, "GET", path, None)

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """The JSON that answers `body`. Raises PeerError."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._ask, "POST", path, body)

    def close(self) -> None:
        """Break all connections off; calls under way raise PeerError."""
        self._closed = True
        for connection in list(self._connections):
            with suppress(OSError):
                if connection.sock is not None:
                    connection.sock.shutdown(socket.SHUT_RDWR)
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _ask(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        try:
            status, answer = self._exchange(method, path, data)
        except (OSError, HTTPException) as error:
            raise PeerError(f"{method} {self._url}{path}: {error or type(error).__name__}") from error
        if status != 200:
            raise PeerError(f"{method} {self._url}{path}: status {status}: {answer[:SHOWN].decode(errors='replace')}")
        try:
            return json.loads(answer)
        except ValueError as error:
            raise PeerError(f"{method} {self._url}{path}: the answer is no JSON: {answer[:SHOWN]!r}") from error

    def _exchange(self, method: str, path: str, data: bytes | None) -> tuple[int, bytes]:
        connection: HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._kind(*self._address, timeout=self._timeout_s)
            self._connections.append(connection)
        kept = connection.sock is not None
        try:
            return self._send(connection, method, path, data)
        except (ConnectionError, HTTPException):
            connection.close()
            if not kept or self._closed:
                raise
        # A server may close a kept connection just as the next request is sent: that is no failure of the request.
        return self._send(connection, method, path, data)

    def _send(self, connection: HTTPConnection, method: str, path: str, data: bytes | None) -> tuple[int, bytes]:
        connection.request(method, self._path + path, data, self._headers)
        response = connection.getresponse()
        return response.status, response.read()
