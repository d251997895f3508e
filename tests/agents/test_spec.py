"""Agent specs: the grammar, what is refused and how, and the agents that come out."""

from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.kind import AgentSpec, AgentSpecError, BuildContext
from agents.llm import LLMAgent
from agents.random import RandomAgent
from agents.registry import DEFAULT_PROMPT, KINDS, build_agent, get_kind, settings_in_force
from agents.scripted import SlowAgent
from agents.spec import parse_spec, spec_text

DEFAULTS = {"temperature": 0.5, "legality": "constrained"}

MY_AGENT = """
from dataclasses import dataclass
from agents.base import Agent, MoveReply

@dataclass
class Tuned:
    depth: int = 1

class MyAgent(Agent):
    def __init__(self, depth=1, mood="calm", bold=False, speed=1.0):
        self.tuned, self.rest = Tuned(depth), (mood, bold, speed)

    async def choose_move(self, request):
        return MoveReply.of(request.position.legal_moves()[0])

class Named(MyAgent):
    def __init__(self, name):
        self.name = name + "!"

class Unfinished(Agent):
    pass

class OddHash(MyAgent):
    def template_hash(self, game):
        return 3

class Plain:
    pass

class Blocking(Agent):
    def choose_move(self, request):
        return MoveReply.of(request.position.legal_moves()[0])

number = 3
"""


@pytest.fixture
def context(engine, prompts) -> BuildContext:
    return BuildContext(engine_for=lambda model: engine, prompts=prompts, games=("chess",), defaults=DEFAULTS)


@pytest.fixture
def my_agent(tmp_path: Path) -> Path:
    path = tmp_path / "my_agent.py"
    path.write_text(MY_AGENT)
    return path


# --- grammar -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "target", "name", "settings"),
    [
        ("llm", "llm", None, None, {}),
        (
            "llm?temperature=0.7&legality=retry:3&name=Sharp",
            "llm",
            None,
            "Sharp",
            {"temperature": 0.7, "legality": "retry:3"},
        ),
        ("llm?top_k=4&top_p=.9&max_tokens=8", "llm", None, None, {"top_k": 4, "top_p": 0.9, "max_tokens": 8}),
        ("llm:Qwen/Qwen3-0.6B?select=score", "llm", "Qwen/Qwen3-0.6B", None, {"select": "score"}),
        ("llm:./odd%3F.gguf?prompt=./100%25.toml", "llm", "./odd?.gguf", None, {"prompt": "./100%.toml"}),
        ("llm?name=Q%26A%3D%EC%9E%A5%EA%B8%B0", "llm", None, "Q&A=장기", {}),
        ("random", "random", None, None, {}),
        ("random?name=Big Dice", "random", None, "Big Dice", {}),
        ("python:my.agents:Mine", "python", "my.agents:Mine", None, {}),
        ("python:./dir/file.py:Mine?name=M", "python", "./dir/file.py:Mine", "M", {}),
        (
            "python:m:C?a=1&b=-2.5&c=true&d=false&e=e2e4 e7e5&f=1e3&g=inf&h=True&i=x,y=z",
            "python",
            "m:C",
            None,
            {
                "a": 1,
                "b": -2.5,
                "c": True,
                "d": False,
                "e": "e2e4 e7e5",
                "f": 1000.0,
                "g": "inf",
                "h": "True",
                "i": "x,y=z",
            },
        ),
    ],
)
def test_a_spec_is_read(text, kind, target, name, settings) -> None:
    assert parse_spec(text) == AgentSpec(kind, text, name, settings, target)


def test_values_keep_their_types() -> None:
    settings = parse_spec("python:m:C?a=1&b=1.0&c=true").settings
    assert [type(value) for value in settings.values()] == [int, float, bool]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "unknown kind of agent ''; allowed are llm, uci, random, human, mqtt, python"),
        ("lmm", r"unknown kind of agent 'lmm' \(did you mean llm\?\)"),
        ("LLM", "unknown kind of agent 'LLM'"),
        ("llm:", "nothing follows the colon"),
        ("llm?", "nothing follows the question mark"),
        ("llm?hot", "'hot' is not of the form key=value"),
        ("llm?temperature=", "'temperature=' is not of the form key=value"),
        ("llm?temperature=1&", "'' is not of the form key=value"),
        ("llm?temprature=1", r"unknown key for llm 'temprature' \(did you mean temperature\?\); allowed are temp"),
        ("llm?temperature=1&temperature=1", "temperature is set twice"),
        ("llm?temperature=hot", "temperature: 'hot' is not a number"),
        ("llm?temperature=nan", "'nan' is not a number"),
        ("llm?max_tokens=1.5", "max_tokens: '1.5' is not a whole number"),
        ("llm?legality=retry", "legality must be constrained, free or retry:N .* not 'retry'"),
        ("llm?select=best", "select: 'best' is not one of walk, score"),
        ("llm?name=a\x07", "cannot be printed"),
        ("llm?prompt=100%", "in '100%' a per cent sign must be written %25"),
        ("llm?prompt=%ff", "'%ff' does not decode to text in UTF-8"),
        ("llm:temperature=1,legality=free", r"question mark.*: llm\?temperature=1&legality=free"),
        ("random:x", "random takes nothing after a colon, not 'x'"),
        ("random?depth=3", "unknown key for random 'depth'; allowed are name"),
        ("python", r"python needs package.module:Class or ./file.py:Class after a colon, as in python:./my_agent.py"),
        ("python:my_agent", "not 'my_agent'"),
        ("python:my_agent:", "not 'my_agent:'"),
        ("python:my_agent:3D", "not 'my_agent:3D'"),
        ("python:m:C?", "nothing follows the question mark"),
    ],
)
def test_a_faulty_spec_is_refused_with_the_part_at_fault(text: str, fault: str) -> None:
    with pytest.raises(AgentSpecError, match=fault):
        parse_spec(text)


@given(
    st.text(max_size=30) | st.from_regex(r"(llm|random|python)[:?][a-z_]{1,11}=[a-z0-9:.,=?&%]{0,9}", fullmatch=True)
)
def test_any_text_is_a_spec_or_a_clear_error(text: str) -> None:
    try:
        spec = parse_spec(text)
    except AgentSpecError:
        return
    assert spec.text == text
    assert spec.kind == re.split("[:?]", text)[0]


@pytest.mark.parametrize(
    ("mapping", "text"),
    [
        ({"kind": "llm"}, "llm"),
        (
            {"kind": "llm", "model": "smollm2-135m", "temperature": 0.7, "name": "Q&A 100%"},
            "llm:smollm2-135m?temperature=0.7&name=Q%26A 100%25",
        ),
        ({"kind": "python", "class": "./a.py:A", "bold": True, "depth": 3}, "python:./a.py:A?bold=true&depth=3"),
        ({"kind": "random", "name": "Dice"}, "random?name=Dice"),
    ],
)
def test_a_mapping_says_the_same_as_a_line(mapping: dict, text: str) -> None:
    assert spec_text(mapping) == text
    spec = parse_spec(text)
    keys = {"kind": spec.kind, **spec.settings}
    assert keys | {key: mapping[key] for key in ("model", "class", "name") if key in mapping} == mapping
    assert spec.name == mapping.get("name")


@pytest.mark.parametrize(
    ("mapping", "fault"),
    [
        ({}, "unknown kind of agent ''"),
        ({"kind": "lmm"}, "did you mean llm"),
        ({"kind": 3}, "unknown kind of agent '3'"),
        ({"kind": "llm", "temperature": [1]}, r"temperature must be a text, a number, true or false, not \[1\]"),
        ({"kind": "llm", "model": None}, "model must be a text"),
    ],
)
def test_a_faulty_mapping_is_refused(mapping: dict, fault: str) -> None:
    with pytest.raises(AgentSpecError, match=fault):
        spec_text(mapping)


@given(st.text(min_size=1, max_size=12).filter(str.isprintable))
def test_any_name_survives_the_way_through_a_line(name: str) -> None:
    assert parse_spec(spec_text({"kind": "random", "name": name})).name == name


def test_every_example_of_a_kind_is_a_spec_of_it() -> None:
    assert {name: parse_spec(kind.example).kind for name, kind in KINDS.items()} == {name: name for name in KINDS}


def test_a_spec_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        parse_spec("llm").kind = "random"  # type: ignore[misc]


# --- settings ------------------------------------------------------------------------------------------------------


def test_only_llm_agents_need_an_engine() -> None:
    needing = [get_kind(kind).asks_model for kind in ("llm", "random", "python")]
    assert needing == [True, False, False]


LLM = {"temperature": 0.5, "legality": "constrained", "select": "walk", "pass": False, "prompt": DEFAULT_PROMPT}


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("llm", LLM),
        ("llm?temperature=0", LLM | {"temperature": 0.0}),
        ("llm?pass=true", LLM | {"pass": True}),
        ("llm:tiny?seed=3", LLM | {"model": "tiny", "seed": 3}),
        (
            "llm?legality=retry:2&top_k=5&max_tokens=9",
            {
                "temperature": 0.5,
                "legality": "retry:2",
                "max_tokens": 9,
                "top_k": 5,
                "top_p": 1.0,
                "prompt": DEFAULT_PROMPT,
            },
        ),
        ("llm?prompt=a.toml&persona=Bold.&examples=2", LLM | {"prompt": "a.toml", "persona": "Bold.", "examples": 2}),
        ("random", {}),
        ("python:m:C?depth=3&name=X", {"target": "m:C", "arguments": {"depth": 3}}),
    ],
)
def test_own_settings_override_those_of_the_run(text: str, settings: dict) -> None:
    assert settings_in_force(parse_spec(text), DEFAULTS) == settings


@pytest.mark.parametrize(("text", "prompt"), [("llm", "pgn"), ("llm?prompt=fen-legal", "fen-legal")])
def test_the_prompt_of_the_run_is_that_of_specs_that_name_none(context: BuildContext, text: str, prompt: str) -> None:
    defaults = {**DEFAULTS, "prompt": "pgn"}
    assert settings_in_force(parse_spec(text), defaults)["prompt"] == prompt
    agent = build_agent(parse_spec(text), name="x", context=dataclasses.replace(context, defaults=defaults))
    assert isinstance(agent, LLMAgent)
    assert agent.templates["chess"].name == prompt


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("llm?top_k=5", "top_k has no effect with legality=constrained"),
        ("llm?max_tokens=5", "max_tokens has no effect with legality=constrained"),
        ("llm?pass=true&legality=free", "pass has no effect with legality=free"),
        ("llm?select=score&legality=free", "select has no effect with legality=free"),
        ("llm?temperature=-1", "temperature must be a finite number of at least 0, not -1.0"),
        ("llm?legality=free&top_p=2", r"top_p must lie in \(0, 1\], not 2.0"),
    ],
)
def test_settings_that_cannot_hold_are_refused_with_the_spec(text: str, fault: str) -> None:
    with pytest.raises(AgentSpecError, match=f"^{re.escape(text)}: {fault}"):
        settings_in_force(parse_spec(text), DEFAULTS)


# --- building ------------------------------------------------------------------------------------------------------


def test_an_llm_agent_is_built_with_its_settings(context, prompts) -> None:
    agent = build_agent(parse_spec("llm?legality=retry:3&name=Sharp"), name="Sharp 2", context=context)
    assert isinstance(agent, LLMAgent)
    assert (agent.name, agent.templates) == ("Sharp 2", {"chess": prompts.load(DEFAULT_PROMPT, "chess")})
    assert (str(agent.settings.legality), agent.settings.temperature) == ("retry:3", 0.5)


def test_an_llm_agent_is_given_the_engine_of_its_model(context) -> None:
    asked = []
    context = dataclasses.replace(context, engine_for=lambda model: asked.append(model))
    for text in ("llm", "llm:tiny"):
        build_agent(parse_spec(text), name="A", context=context)
    assert asked == [None, "tiny"]


def test_an_agent_has_a_template_for_each_game(context) -> None:
    context = dataclasses.replace(context, games=("chess", "janggi"))
    agent = build_agent(parse_spec("llm"), name="A", context=context)
    assert agent.template_hash("chess") != agent.template_hash("janggi")


def test_a_template_of_its_own_is_loaded(context, prompts, tmp_path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text((prompts.folder / "uci-history.toml").read_text().replace("strong", "bold"))
    agent = build_agent(parse_spec(f"llm?prompt={path}"), name="A", context=context)
    assert agent.template_hash("chess") not in (None, prompts.load("uci-history", "chess").hash)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("llm?prompt=gone.toml", "cannot read prompt template gone.toml"),
        ("llm?prompt=transcipt", r"unknown prompt 'transcipt' \(did you mean transcript\?\).*ends in .toml"),
        ("llm?prompt=explain-json", "set legality=retry:3, or free"),
        ("llm?prompt=pgn&persona=x", "persona has no effect with prompt=pgn, which is no chat"),
        ("llm?prompt=transcript&examples=1", "examples has no effect with prompt=transcript"),
        ("llm?prompt=fen-legal&examples=9", "examples must be from 0 to 3 for chess, not 9"),
    ],
)
def test_a_template_that_does_not_fit_is_refused(context, text, fault) -> None:
    with pytest.raises(AgentSpecError, match=f"^{re.escape(text)}: .*{fault}"):
        build_agent(parse_spec(text), name="A", context=context)


def test_a_random_agent_is_built_without_an_engine(context) -> None:
    agent = build_agent(parse_spec("random"), name="Dice", context=dataclasses.replace(context, engine_for=None))
    assert isinstance(agent, RandomAgent)
    assert agent.name == "Dice"


def test_a_class_of_a_module_is_built_with_its_arguments(context) -> None:
    agent = build_agent(parse_spec("python:agents.scripted:SlowAgent?delay_s=0.5"), name="Snail", context=context)
    assert isinstance(agent, SlowAgent)
    assert agent.name == "Snail"


async def test_a_users_own_agent_in_a_file_plays(context, my_agent, ask) -> None:
    spec = parse_spec(f"python:{my_agent}:MyAgent?depth=3&mood=wild&bold=true&speed=0.5")
    agent = build_agent(spec, name="Mine", context=context)
    assert agent.name == "Mine"  # its constructor takes none
    assert agent.tuned.depth == 3
    assert agent.rest == ("wild", True, 0.5)
    assert agent.template_hash("chess") is None
    await agent.start()
    assert (await agent.choose_move(ask())).move == "a2a3"
    await agent.close()


def test_a_file_is_imported_once(context, my_agent) -> None:
    first, second = (build_agent(parse_spec(f"python:{my_agent}:MyAgent"), name=name, context=context) for name in "AB")
    assert type(first) is type(second)


def test_the_name_in_the_run_is_the_name_of_the_agent(context, my_agent) -> None:
    assert build_agent(parse_spec(f"python:{my_agent}:Named"), name="N", context=context).name == "N"


@pytest.mark.parametrize(
    ("class_and_arguments", "fault"),
    [
        ("Missing", "has no class 'Missing'; its agents are MyAgent, Named, Unfinished, OddHash, Blocking"),
        ("number", "has no class 'number'"),
        ("Plain", "is not a subclass of agents.base.Agent"),
        ("Unfinished", "does not define choose_move"),
        ("OddHash", "template_hash must give a str or None, not 3"),
        ("Blocking", "choose_move must be an async def"),
        ("MyAgent?dept=3", "cannot make .*TypeError.*unexpected keyword argument 'dept'"),
    ],
)
def test_a_class_that_cannot_play_is_refused_with_the_cause(
    context, my_agent, class_and_arguments: str, fault: str
) -> None:
    spec = parse_spec(f"python:{my_agent}:{class_and_arguments}")
    with pytest.raises(AgentSpecError, match=fault):
        build_agent(spec, name="A", context=context)


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("import no_such_module_at_all", "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
        ("def (", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_a_file_that_cannot_be_imported_is_refused_and_forgotten(context, tmp_path, source, fault) -> None:
    path = tmp_path / "broken.py"
    path.write_text(source)
    before = set(sys.modules)
    with pytest.raises(AgentSpecError, match=fault):
        build_agent(parse_spec(f"python:{path}:C"), name="A", context=context)
    assert not {name for name in set(sys.modules) - before if name.startswith("broken")}


def test_a_missing_file_or_module_is_named(context, my_agent, monkeypatch) -> None:
    with pytest.raises(AgentSpecError, match=r"there is no file gone\.py"):
        build_agent(parse_spec("python:gone.py:C"), name="A", context=context)
    monkeypatch.chdir(my_agent.parent)
    with pytest.raises(AgentSpecError, match=r"cannot import my_agent: .*for a file write ./my_agent.py:Class"):
        build_agent(parse_spec("python:my_agent:MyAgent"), name="A", context=context)
