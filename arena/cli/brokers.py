"""The options that name an MQTT broker, and publishing there."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from arena.errors import UsageError

if TYPE_CHECKING:
    from agents.mqtt.broker import Broker
    from arena.bus import Reader

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


def publishing_options(command: Callable[..., R]) -> Callable[..., R]:
    """Adds those of `broker_options` and `--mqtt-clear`; `command` gets `broker` and `mqtt_clear`."""

    @functools.wraps(command)
    def with_publishing(*args: Any, broker: Broker | None, mqtt_clear: bool, **kwargs: Any) -> R:
        if mqtt_clear and broker is None:
            raise UsageError("--mqtt-clear goes with --mqtt")
        return command(*args, broker=broker, mqtt_clear=mqtt_clear, **kwargs)

    clear = click.option("--mqtt-clear", is_flag=True, help="In the end, remove what the broker retains of the run.")
    return broker_options(clear(with_publishing))


@contextmanager
def publishing(broker: Broker | None, db: str, *, clear: bool) -> Iterator[tuple[Reader, ...]]:
    """The readers that tell others of the run: one, if there is a broker."""
    if broker is None:
        yield ()
        return
    from arena.mqtt.publisher import Publisher, origin_of

    with Publisher(broker, origin_of(db), clear=clear) as publisher:
        yield (publisher,)
