"""The agents of a tournament, the engines they share, and its judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from agents.kind import AgentSpecError
from agents.mqtt.broker import Broker
from agents.spec import parse_spec
from arena.errors import UsageError
from arena.lineup import Roster
from arena.store.records import NewRun
from arena.tournament.adjudication import Adjudication
from arena.tournament.plan import Plan
from arena.tournament.record import stored_plan


class TournamentLineup(Roster):
    """The roster of a tournament. Making one checks all that can be known without loading a model."""

    def __init__(self, plan: Plan, broker: Broker | None = None) -> None:
        self.plan = plan
        super().__init__({agent.name: parse_spec(agent.spec) for agent in plan.spec.agents}, plan.spec, broker)
        try:
            self.adjudicator: Adjudication | None = Adjudication.of(plan.spec, self.context)
        except AgentSpecError as error:
            raise UsageError(f"adjudication: {error}") from error

    @property
    def judge_facts(self) -> Mapping[str, str]:
        """What is known of the judge once it is started, as it is recorded with the run."""
        return self.adjudicator.facts if self.adjudicator else {}

    async def start(self) -> None:
        await super().start()
        if self.adjudicator is not None:
            await self.adjudicator.start()

    async def close(self) -> None:
        if self.adjudicator is not None:
            await self.adjudicator.close()
        await super().close()

    def new_run(self) -> NewRun:
        """The tournament as it goes into the record, without a game yet. All must be started."""
        spec = self.plan.spec.model_copy(update={"engine": self.engine_in_force()})
        return NewRun(
            config=stored_plan(replace(self.plan, spec=spec)),
            seed=self.plan.spec.seed,
            agents=self.new_agents(),
            games=(),
            model=self.engines.model,
            model_checksum=self.engines.model_checksum,
            environment={**self.environment(), **self.judge_facts},
            content_hash=self.plan.content_hash,  # of what was asked: the same spec finds its run again
        )
