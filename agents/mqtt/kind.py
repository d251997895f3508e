"""What a spec of a remote agent may say: `mqtt:NAME`."""

from __future__ import annotations

from agents.base import Agent
from agents.kind import AgentSpec, AgentSpecError, BuildContext, Kind, Target
from agents.mqtt.agent import MqttAgent
from agents.mqtt.protocol import check_name


def _build(spec: AgentSpec, name: str, context: BuildContext) -> Agent:
    assert spec.target is not None
    if context.remote is None:
        raise AgentSpecError("a remote agent is reached through a broker: say which with --mqtt mqtt://host:1883")
    return MqttAgent(name, spec.target, context.remote, context.games)


MQTT = Kind(
    name="mqtt",
    summary="An agent that `arena agents serve` offers, from any process or machine; needs --mqtt.",
    example="mqtt:deep-thought",
    build=_build,
    target=Target("agent", "the name that it is served under", check=check_name),
)
