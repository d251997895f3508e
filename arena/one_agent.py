"""One agent with its engines, from its start to its end, outside a run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agents.base import Agent, UnusableAgentError
from arena.engines import Engines
from arena.errors import UsageError


@asynccontextmanager
async def running(agent: Agent, engines: Engines, spec: str) -> AsyncIterator[None]:
    """Starts `engines`, then `agent`, and closes both on every way out. Raises UsageError, naming the `spec`, for an
    agent whose start shows that it is of no use."""
    try:
        await asyncio.to_thread(engines.start)
        await agent.start()
        yield
    except UnusableAgentError as error:
        raise UsageError(f"{spec}: {error}") from error
    finally:
        try:
            await agent.close()
        finally:
            engines.close()
