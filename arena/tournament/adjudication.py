"""Ends of games that no rule of the game brings: by an engine's scores, by tablebases, at the ply limit.

What is decided follows from the moves alone, as far as the judge answers the same each time: a resumed game has the
scores that it needs looked up again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

from agents.base import AgentCrashed, UnusableAgentError
from agents.kind import BuildContext
from agents.spec import parse_spec
from agents.uci.judge import Judge
from arena.endings import Ending, Fault, other, result_of
from arena.errors import ArenaError, UsageError
from arena.printable import message_of
from arena.store.records import StoredGame
from arena.tournament import spec as asked
from arena.tournament.tablebases import Tablebases
from games import get_game
from games.base import Position, Side

JUDGE_LIMIT_S = 60.0
"""How long the judge may think about one position."""


JUDGE_FAILURES = (AgentCrashed, UnusableAgentError, TimeoutError)
"""What asking the judge may raise."""


class Assessor(Protocol):
    """Tells scores: `agents.uci.judge.Judge` does."""

    async def assess(self, position: Position) -> tuple[str, int]:
        """The best move, and the score for the side to move as `agents.uci.score` has it."""


class Oracle(Protocol):
    """Knows positions: `Tablebases` does."""

    def winner(self, position: Position) -> tuple[Side | None] | None:
        """Who wins, nobody in a draw; None instead of a tuple if it does not know the position."""


class Adjudication:
    """The rules in force and those who apply them. Owns the judge, from `start` to `close`."""

    def __init__(self, rules: asked.Adjudication, judge: Assessor | None = None, oracle: Oracle | None = None) -> None:
        self.rules = rules
        self.judge = judge
        self.oracle = oracle

    @classmethod
    def of(cls, spec: asked.TournamentSpec, context: BuildContext) -> Adjudication | None:
        """What `spec` asks for, if anything; the judge is built as the agents are. Raises UsageError for tablebases
        that are not there, AgentSpecError for a judge that is not."""
        rules = spec.adjudication
        if rules.judge is None and rules.syzygy is None:
            return None
        judge = None
        if rules.judge is not None:
            judge = Judge(parse_spec(rules.judge), context.games, context.uci_engines)
        return cls(rules, judge, None if rules.syzygy is None else Tablebases(Path(rules.syzygy)))

    @property
    def facts(self) -> Mapping[str, str]:
        """What is known of the judge once it is started."""
        return {"judge": self.judge.version} if isinstance(self.judge, Judge) and self.judge.version else {}

    def watch(self, game: StoredGame) -> Watch:
        return Watch(self, game)

    async def start(self) -> None:
        """Starts the judge. Raises UsageError if it cannot be."""
        if isinstance(self.judge, Judge):
            try:
                await self.judge.start()
            except UnusableAgentError as error:
                raise UsageError(f"the judge: {error}") from error

    async def close(self) -> None:
        if isinstance(self.judge, Judge):
            await self.judge.close()


class Watch:
    """Follows one game, and remembers the scores of its positions: by ply, for the first player."""

    def __init__(self, adjudication: Adjudication, game: StoredGame) -> None:
        self._rules = adjudication.rules
        self._judge = adjudication.judge
        self._oracle = adjudication.oracle
        self._first_ply = len(game.new.opening_moves) + 1  # the opening is nobody's play
        self._scores: dict[int, int] = {}

    async def ending(self, position: Position, *, at_limit: bool) -> Ending | None:
        """See `arena.match.Watch`. A judge that fails makes the game void: that is no player's fault."""
        if self._oracle is not None and (known := self._oracle.winner(position)) is not None:
            return Ending(result_of(known[0]), "adjudication-tablebase")
        try:
            if at_limit:
                return await self._at_limit(position)
            return await self._by_resignation(position) or await self._by_agreement(position)
        except JUDGE_FAILURES as error:
            detail = f"the judge failed: {message_of(error) or type(error).__name__}"
            return Ending("*", Fault.INFRASTRUCTURE.value, void=True, detail=detail)

    async def _at_limit(self, position: Position) -> Ending | None:
        if not self._rules.ply_limit:
            return None
        score = await self._score(position, len(position.moves))
        enough = (self._rules.resign or asked.ResignRule()).score
        winner: Side | None = None if abs(score) < enough else "first" if score > 0 else "second"
        return Ending(result_of(winner), "adjudication-ply-limit")

    async def _by_resignation(self, position: Position) -> Ending | None:
        """Who has just moved has lost, if that is how all of its last positions looked."""
        rule, mover = self._rules.resign, other(position.side_to_move)
        if rule is None:
            return None
        sign, played = 1 if mover == "first" else -1, len(position.moves)
        lost = range(played, played - 2 * rule.moves, -2)
        if await self._all(position, lost, self._first_ply, lambda score: sign * score <= -rule.score):
            return Ending(result_of(position.side_to_move), "adjudication-resign")
        return None

    async def _by_agreement(self, position: Position) -> Ending | None:
        rule, played = self._rules.draw, len(position.moves)
        if rule is None:
            return None
        even = range(played, played - 2 * rule.moves, -1)
        first = max(self._first_ply, rule.from_ply)
        if await self._all(position, even, first, lambda score: abs(score) <= rule.score):
            return Ending("1/2-1/2", "adjudication-draw")
        return None

    async def _all(self, position: Position, plies: Iterable[int], first: int, test: Callable[[int], bool]) -> bool:
        """Whether the scores after all of `plies` pass the `test`; no ply before `first` does. The newest come first,
        so that most games cost one look a ply."""
        wanted = list(plies)
        if wanted[-1] < first:
            return False
        for ply in wanted:
            if not test(await self._score(position, ply)):
                return False
        return True

    async def _score(self, position: Position, ply: int) -> int:
        """Centipawns for the first player after ply number `ply` of the game that led to `position`."""
        if ply not in self._scores:
            if self._judge is None:
                raise ArenaError("a rule needs scores and there is no judge")
            moves = position.moves[:ply]
            then = get_game(position.game).position(position.start_fen, moves)
            async with asyncio.timeout(JUDGE_LIMIT_S):
                _, score = await self._judge.assess(then)
            self._scores[ply] = score if then.side_to_move == "first" else -score
        return self._scores[ply]
