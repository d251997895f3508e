"""One turn: ask an agent for a move under a time limit, and judge what comes back."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, replace

from agents.base import (
    Agent,
    AgentCrashed,
    Attempt,
    Failure,
    InfrastructureError,
    MoveReply,
    MoveRequest,
    PlayerLeft,
)
from arena.abandon import cancel
from arena.endings import FAULT_OF, Fault
from arena.interrupts import StoppedError
from arena.printable import message_of

logger = logging.getLogger(__name__)

CANCEL_GRACE_S = 1.0
"""How long a cancelled agent may clean up before the match goes on without it."""


@dataclass(frozen=True, slots=True)
class Played:
    """A legal `move`, and all that the agent said about it. `total_ms` is the wall time of the call; `clock_ms` is what
    the mover's clock shows after it, where there are clocks."""

    move: str
    reply: MoveReply
    total_ms: float
    clock_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """No move: why, and the attempts that led to it."""

    fault: Fault
    attempts: tuple[Attempt, ...]
    detail: str


@dataclass(frozen=True, slots=True)
class Resigned:
    """No move: the agent gives the game up, after `attempts`."""

    attempts: tuple[Attempt, ...] = ()


async def take_turn(
    agent: Agent, name: str, request: MoveRequest, timeout_s: float | None
) -> Played | Failed | Resigned:
    """Asks `agent`, known as `name`, for a move; `timeout_s` None is without limit.

    Nothing that an agent does escapes as an exception but PlayerLeft: it becomes the turn's fault. The move is checked
    here, whatever the agent says about it. Cancelling this cancels the agent's call, and waits for it for at most
    CANCEL_GRACE_S.
    """
    begun = time.perf_counter()
    call = asyncio.create_task(_call(agent, request), name=f"{name} in game {request.game_id}")
    try:
        done, _ = await asyncio.wait({call}, timeout=timeout_s)
    except asyncio.CancelledError:
        await cancel(call, CANCEL_GRACE_S)
        raise
    if not done:
        await cancel(call, CANCEL_GRACE_S)
        return _failed(Failure.TIMEOUT, f"{name} gave no move in {timeout_s:.3g} s")
    if call.cancelled():
        return _failed(Failure.CRASH, f"{name} cancelled its own turn")
    error = call.exception()
    if isinstance(error, InfrastructureError):
        logger.warning("%s: %s", call.get_name(), message_of(error))
        return Failed(Fault.INFRASTRUCTURE, (), message_of(error))
    if isinstance(error, PlayerLeft):
        raise error
    if error is not None:
        logger.warning("%s crashed: %s: %s", call.get_name(), type(error).__name__, message_of(error))
        logger.debug("%s crashed", call.get_name(), exc_info=error)
        return _failed(Failure.CRASH, f"{name} raised {type(error).__name__}: {message_of(error)}")
    return _judge(call.result(), name, request, (time.perf_counter() - begun) * 1000)


async def _call(agent: Agent, request: MoveRequest) -> MoveReply:
    try:
        return await agent.choose_move(request)
    except StoppedError:
        raise
    except SystemExit as error:  # would take the whole loop down, as would the next
        raise AgentCrashed(f"it asked the program to exit with {error.code!r}") from error
    except KeyboardInterrupt as error:
        raise AgentCrashed("it raised KeyboardInterrupt") from error


def _judge(reply: object, name: str, request: MoveRequest, total_ms: float) -> Played | Failed | Resigned:
    if not isinstance(reply, MoveReply):
        return _failed(Failure.CRASH, f"{name} returned {type(reply).__name__}, not a MoveReply")
    try:
        reply.check()
    except ValueError as error:
        return _failed(Failure.CRASH, f"{name} returned a MoveReply whose {error}")
    if reply.resigns:
        return Resigned(reply.attempts)
    if reply.move is None:
        if reply.failure is None:
            return _failed(Failure.CRASH, f"{name} returned neither a move nor a failure")
        last = reply.attempts[-1]
        return Failed(FAULT_OF[reply.failure], reply.attempts, last.detail or f"{name} answered {last.text!r}")
    if reply.move not in request.position.legal_moves():
        detail = f"{name} played {reply.move!r}, which is not legal here"
        said = reply.attempts[-1] if reply.attempts else Attempt(reply.move)
        illegal = replace(said, failure=Failure.ILLEGAL, detail=detail)
        return Failed(Fault.ILLEGAL, (*reply.attempts[:-1], illegal), detail)
    return Played(reply.move, reply, total_ms)


def _failed(failure: Failure, detail: str) -> Failed:
    return Failed(FAULT_OF[failure], (Attempt(text="", failure=failure, detail=detail),), detail)
