"""The options that name an MQTT broker."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from arena.errors import UsageError

R = TypeVar("R")

PASSWORD_VARIABLE = "ARENA_MQTT_PASSWORD"

_OPTIONS = (
    click.option(
        "--mqtt",
        "mqtt_url",
        metavar="URL",
        envvar="ARENA_MQTT",
        show_envvar=True,
        help="An MQTT broker: mqtt://[user@]host[:1883][/prefix], mqtts:// for TLS; the password is best given in "
        f"{PASSWORD_VARIABLE}, where no list of processes shows it.",
    ),
    click.option("--mqtt-ca", metavar="FILE", help="Whom to trust with mqtts://.  [default: the system's authorities]"),
    click.option("--mqtt-cert", metavar="FILE", help="Certificate that we show to the broker."),
    click.option("--mqtt-key", metavar="FILE", help="Its key, if that is in a file of its own."),
)


def broker_options(command: Callable[..., R]) -> Callable[..., R]:
    """Adds the options; `command` gets what they name as `broker`, None without any. Bad ones are a UsageError."""

    @functools.wraps(command)
    def with_broker(
        *args: Any,
        mqtt_url: str | None,
        mqtt_ca: str | None,
        mqtt_cert: str | None,
        mqtt_key: str | None,
        **kwargs: Any,
    ) -> R:
        files = {"ca_file": mqtt_ca, "cert_file": mqtt_cert, "key_file": mqtt_key}
        if mqtt_url is None:
            if any(files.values()):
                raise UsageError("--mqtt-ca, --mqtt-cert and --mqtt-key go with --mqtt")
            return command(*args, broker=None, **kwargs)
        from agents.mqtt.broker import Broker, BrokerError

        try:
            broker = Broker.parse(mqtt_url, password=os.environ.get(PASSWORD_VARIABLE), **files)
        except BrokerError as error:
            raise UsageError(f"--mqtt: {error}") from error
        return command(*args, broker=broker, **kwargs)

    for option in reversed(_OPTIONS):
        with_broker = option(with_broker)
    return with_broker
