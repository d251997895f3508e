"""Tasks that will not stop."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

logger = logging.getLogger(__name__)


async def cancel(task: asyncio.Task[Any], grace_s: float) -> None:
    """Cancels `task` and waits for its end, for at most `grace_s` seconds; then goes on without it.

    A task left behind is no longer the event loop's: neither it nor `asyncio.run` waits for it in the end. Whatever
    comes of it later is logged.
    """
    task.cancel()
    try:
        await asyncio.wait({task}, timeout=grace_s)
    finally:
        task.add_done_callback(_retrieve)
        if not task.done():
            logger.warning("%s does not stop when it is cancelled; going on without it", task.get_name())
            asyncio._unregister_task(task)  # public: "Task lifetime support" in the documentation of asyncio
            task._log_destroy_pending = False  # type: ignore[attr-defined]


def _retrieve(task: asyncio.Task[Any]) -> None:
    """Takes the outcome of a task that nobody waits for any more, so that the loop does not report it as lost."""
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.debug("%s, after it was cancelled: %s", task.get_name(), type(error).__name__)
