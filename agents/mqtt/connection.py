"""Staying connected: one connection after another, whatever the broker does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.mqtt.broker import Broker

if TYPE_CHECKING:
    from aiomqtt import Client

logger = logging.getLogger(__name__)

REFUSALS = (134, 135)
"""Reason codes of MQTT 5: bad user name or password, not authorised."""


class BrokerRefusedError(RuntimeError):
    """The broker does not let us in; trying again will not help."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds between two attempts to connect: `first_s`, doubled each time, at most `most_s`."""

    first_s: float = 0.5
    most_s: float = 15.0


async def keep_connected(
    broker: Broker,
    connect: Callable[[], Client],
    talk: Callable[[Client], Awaitable[None]],
    *,
    stopping: asyncio.Event,
    backoff: Backoff,
    meanwhile: str,
) -> None:
    """Runs `talk` in a connection, in another when that one is lost, and so on until `talk` returns.

    Once `stopping` is set there is one more attempt to connect at most. An outage is told once, with what happens
    `meanwhile`, and so is its end. Raises BrokerRefusedError.
    """
    from aiomqtt import MqttError

    wait_s, outage = backoff.first_s, False
    while True:
        last = stopping.is_set()
        try:
            async with connect() as client:
                if outage:
                    logger.warning("The broker %s is back.", broker.address)
                wait_s, outage = backoff.first_s, False
                await talk(client)
                return
        except MqttError as error:
            if getattr(getattr(error, "rc", None), "value", None) in REFUSALS:
                raise BrokerRefusedError(f"the broker {broker.address} does not let us in: {error}") from error
            if not outage:
                outage = True
                logger.warning("No connection to the broker %s: %s; %s.", broker.address, error, meanwhile)
        if last:
            return
        try:
            await asyncio.wait_for(stopping.wait(), wait_s)
        except TimeoutError:
            wait_s = min(wait_s * 2, backoff.most_s)


async def until_lost(client: Client) -> None:
    """Waits until the connection is lost, and raises MqttError; messages that arrive are thrown away.

    To be run beside what publishes: a confirmation that can no longer come is otherwise waited for in full.
    """
    async for _ in client.messages:
        pass
