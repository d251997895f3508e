"""What is refused before anything looks at a request, and the headers that every answer carries."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
"""No script, style or picture but our own files; nothing inline, so that text can never become either."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Lets only GET and HEAD through, and to a server on loopback only requests that name it as such.

    A page elsewhere can make its own name point to 127.0.0.1 and so have a browser read from us as if we were its
    own server; the Host header still holds that name, and tells. `names` None: any Host will do.
    """

    def __init__(self, app: ASGIApp, *, names: frozenset[str] | None) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        if scope["method"] not in ("GET", "HEAD"):
            said = f"{scope['method']} is not answered here: the record is only read (GET, HEAD)\n"
            return PlainTextResponse(said, 405, headers={"Allow": "GET, HEAD"})
        host = Headers(scope=scope).get("host", "")
        if self._names is not None and host_name(host) not in self._names:
            said = f"this server answers to {', '.join(sorted(self._names))}, not to {host[:100]!r}\n"
            return PlainTextResponse(said, 421)
        return None


def host_name(host: str) -> str:
    """The name in a Host header, without port and brackets, in lower case; empty for one that cannot be read."""
    name, bracket, rest = host.lower().partition("]")
    if bracket:
        return name.removeprefix("[") if name.startswith("[") and _is_port(rest) else ""
    name, colon, port = name.partition(":")
    return name if _is_port(colon + port) else ""


def _is_port(text: str) -> bool:
    return not text or (text[0] == ":" and text[1:].isascii() and text[1:].isdecimal())


def names_of(host: str) -> frozenset[str] | None:
    """The names by which a server that listens at `host` may be called: on loopback those of loopback, else any."""
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = host.lower() == "localhost"
    return LOOPBACK_NAMES | {host.lower()} if loopback else None
