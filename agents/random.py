"""The agent that knows the rules and nothing else."""

from __future__ import annotations

from agents.base import Agent, MoveReply, MoveRequest
from agents.seeds import derive_seed


def random_move(request: MoveRequest) -> str:
    """A legal move, each as likely as the others: a function of the position and the request's seed alone."""
    moves = request.position.legal_moves()
    return moves[derive_seed(request.seed, "random move") % len(moves)]


class RandomAgent(Agent):
    """Plays any legal move. Holds no generator, so a resumed game goes on exactly."""

    def __init__(self, name: str = "random") -> None:
        self.name = name

    async def choose_move(self, request: MoveRequest) -> MoveReply:
        return MoveReply.of(random_move(request), policy="constrained")
