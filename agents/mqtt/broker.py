"""Where an MQTT broker is and how to log in there: `mqtt://user:password@host:1883/prefix`."""

from __future__ import annotations

import logging
import re
import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from aiomqtt import Client
    from paho.mqtt.properties import Properties

PORTS = {"mqtt": 1883, "mqtts": 8883}
PREFIX = "arena"
TIMEOUT_S = 5.0
"""How long the broker may take to confirm anything."""
KEEPALIVE_S = 15
"""A broker that hears nothing for one and a half times as long takes a client for dead, and publishes its will."""
MAX_PACKET = 2**20
"""Bytes; a broker does not pass on larger messages to us."""
MAX_QUEUED = 10_000
"""Messages received and not yet read; those past it are dropped."""

_PREFIX = re.compile(r"[^$+#/\s][^+#/\s]*(/[^+#/\s]+)*")

logger = logging.getLogger(__name__)
_library_logger = logging.getLogger("arena.mqtt.library")
_library_logger.setLevel(logging.CRITICAL)  # what goes wrong reaches us as an exception, and is told once


class BrokerError(ValueError):
    """A broker that cannot be used as it is named. The message says what is wrong, and holds no password."""


@dataclass(frozen=True, slots=True)
class Will:
    """What the broker publishes, retained, when the connection ends without a goodbye."""

    topic: str
    payload: bytes


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker, and the `prefix` that all our topics have there. The password is in no message and no repr."""

    host: str
    port: int
    prefix: str = PREFIX
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: ssl.SSLContext | None = field(default=None, repr=False)

    @classmethod
    def parse(
        cls,
        url: str,
        *,
        password: str | None = None,
        ca_file: str | None = None,
        cert_file: str | None = None,
        key_file: str | None = None,
    ) -> Self:
        """Reads `mqtt[s]://[user[:password]@]host[:port][/prefix]`.

        `password` is for a URL without one; the files are PEM and go with `mqtts`. Raises BrokerError, also when the
        package that talks to brokers is not installed.
        """
        shown = _without_login(url)
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:  # whose message may quote the password
            raise BrokerError(f"{shown} is no URL of a broker: the port is not a number from 1 to 65535") from None
        if "@" in parts.path:
            raise BrokerError(f"{shown}: write / as %2F, @ as %40 and : as %3A in a user name or password")
        if parts.scheme not in PORTS or not parts.hostname or set(url) & set("?#") or port == 0:
            raise BrokerError(f"{shown} is no URL of a broker: write mqtt://[user[:password]@]host[:1883][/prefix]")
        if not re.fullmatch(r"[A-Za-z0-9.:%_-]{1,253}", parts.hostname):
            raise BrokerError(f"{parts.hostname!r} is no name of a host")
        prefix = unquote(parts.path.strip("/")) or PREFIX
        if not _PREFIX.fullmatch(prefix) or len(prefix) > 100 or not prefix.isprintable():
            raise BrokerError(f"the prefix {prefix!r} cannot begin a topic: use up to 100 letters, digits, and - _ . /")
        if parts.password and not parts.username:
            raise BrokerError(f"{shown} has a password without a user")
        _check_library()
        return cls(
            host=parts.hostname,
            port=port or PORTS[parts.scheme],
            prefix=prefix,
            user=unquote(parts.username) if parts.username else None,
            password=unquote(parts.password) if parts.password else password,
            tls=_tls(parts.scheme == "mqtts", ca_file, cert_file, key_file),
        )

    @property
    def address(self) -> str:
        """The URL without user and password, to be shown."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'mqtts' if self.tls else 'mqtt'}://{host}:{self.port}/{self.prefix}"

    def topic(self, *levels: str | int) -> str:
        """The topic of these `levels` below the prefix."""
        return "/".join([self.prefix, *map(str, levels)])

    def client(self, identifier: str, will: Will | None = None) -> Client:
        """A client for one connection, not yet connected. To be made and used in one event loop."""
        import aiomqtt

        client = aiomqtt.Client(
            self.host,
            self.port,
            username=self.user,
            password=self.password,
            identifier=identifier,
            protocol=aiomqtt.ProtocolVersion.V5,
            will=aiomqtt.Will(will.topic, will.payload, qos=1, retain=True) if will else None,
            timeout=TIMEOUT_S,
            keepalive=KEEPALIVE_S,
            max_queued_incoming_messages=MAX_QUEUED,
            properties=packet_properties("CONNECT", MaximumPacketSize=MAX_PACKET),
            tls_context=self.tls,
            logger=_library_logger,
        )
        client.pending_calls_threshold = MAX_QUEUED
        return client


def packet_properties(packet: str, **values: object) -> Properties:
    """The properties of MQTT 5 for a `packet`, such as PUBLISH, by the names that the standard gives them."""
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties

    properties = Properties(getattr(PacketTypes, packet))  # type: ignore[no-untyped-call]
    for name, value in values.items():
        setattr(properties, name, value)
    return properties


def _check_library() -> None:
    try:
        import aiomqtt  # noqa: F401
    except ImportError as error:
        raise BrokerError(
            f"MQTT needs the package aiomqtt: pip install 'arena-llm[mqtt]' (importing it says: {error})"
        ) from error


def _without_login(url: str) -> str:
    """`url` with nothing of the user and the password, however it is malformed."""
    scheme, separator, rest = url.rpartition("://")
    return repr(f"{scheme}{separator}{rest.rpartition('@')[2]}")


def _tls(wanted: bool, ca_file: str | None, cert_file: str | None, key_file: str | None) -> ssl.SSLContext | None:
    if not wanted:
        if ca_file or cert_file or key_file:
            raise BrokerError("certificates go with a broker that speaks TLS: write mqtts://")
        return None
    if key_file and not cert_file:
        raise BrokerError(f"the key {key_file} goes with a certificate")
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise BrokerError(f"cannot read the certificates in {ca_file}: {error}") from error
    if cert_file:
        try:
            context.load_cert_chain(cert_file, key_file)
        except (OSError, ssl.SSLError) as error:
            raise BrokerError(f"cannot read the certificate {cert_file} and its key: {error}") from error
    return context
