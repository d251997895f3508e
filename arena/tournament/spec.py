"""What a tournament is asked to be: a YAML file, checked whole before the first game."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from agents.kind import AgentSpecError
from agents.llm_settings import Legality
from agents.spec import parse_spec, spec_text
from arena.clocks import Charge, TimeControl
from arena.config import MAX_AGENTS, MAX_GAMES, MAX_PLIES, MOVE_TIMEOUT_S, EngineSettings
from arena.errors import UsageError
from arena.resources import data_path
from arena.tournament.faults import sentence
from arena.tournament.formats.swiss import default_rounds, max_rounds
from arena.tournament.sprt import Sprt
from games import game_names

FormatName = Literal["round-robin", "double-round-robin", "gauntlet", "swiss", "knockout", "sprt"]

EVEN = ("swiss", "knockout", "sprt")
"""Formats in which one game more for one colour would decide who meets whom."""

OWN_KEYS = {"rounds": "swiss", "challengers": "gauntlet", "tiebreak_pairs": "knockout", "sprt": "sprt"}
"""Keys that only one format has."""


def _agent_spec(value: Any) -> Any:
    """An agent's spec, checked, as one line; YAML may also give it as a mapping."""
    try:
        text = spec_text(value) if isinstance(value, Mapping) else value
        if isinstance(text, str):
            parse_spec(text)
    except AgentSpecError as error:
        raise ValueError(str(error)) from error
    return text


Whole = Annotated[int, Field(strict=True)]
"""A whole number, and neither `true` nor a text that looks like one."""

AgentLine = Annotated[str, BeforeValidator(_agent_spec)]


class Part(BaseModel):
    """A mapping of the file. Nothing is converted but numbers, and no key is unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class AgentEntry(Part):
    """An agent of the tournament."""

    name: str = Field(min_length=1, max_length=100)
    spec: AgentLine

    @model_validator(mode="before")
    @classmethod
    def _line_alone(cls, data: Any) -> Any:
        """A spec alone, as a line or a mapping with a kind, is named by itself: by its name, else by its line."""
        if isinstance(data, str) or (isinstance(data, Mapping) and "kind" in data):
            line = _agent_spec(data)
            return {"name": parse_spec(line).name or line, "spec": line}
        return data


class OpeningsChoice(Part):
    """Where games start. `list`: `own` (the game's list), `start` (its start position), or a file."""

    list: str = Field(default="own", min_length=1)
    order: Literal["sequential", "random"] = "random"
    start: Whole = Field(default=0, ge=0)  # place in the list of the first one used, if sequential
    plies: Whole | None = Field(default=None, ge=1)  # lines of a PGN file are cut to so many

    @model_validator(mode="before")
    @classmethod
    def _list_alone(cls, data: Any) -> Any:
        return {"list": data} if isinstance(data, str) else data

    @model_validator(mode="after")
    def _keys_have_an_effect(self) -> OpeningsChoice:
        if self.start and self.order == "random":
            raise ValueError("start has no effect on a random order: use order: sequential, or leave it out")
        if self.plies is not None and self.list in ("own", "start"):
            raise ValueError("plies is for PGN files")
        return self


class TestBounds(Part):
    """A sequential test; see `arena.tournament.sprt.Sprt`."""

    elo0: float = Field(allow_inf_nan=False)
    elo1: float = Field(allow_inf_nan=False)
    alpha: float = 0.05
    beta: float = 0.05
    model: Literal["normalised", "logistic"] = "normalised"
    max_games: Whole = Field(default=10_000, ge=2, le=MAX_GAMES, multiple_of=2)
    batch: Whole = Field(default=32, ge=2, multiple_of=2)  # games begun before the test must have seen those before

    @model_validator(mode="after")
    def _makes_a_test(self) -> TestBounds:
        self.test()
        return self

    def test(self) -> Sprt:
        """The test. Raises ValueError."""
        return Sprt(self.elo0, self.elo1, self.alpha, self.beta, self.model)


class AnchorChoice(Part):
    """The agent whose Elo is stated; the others' follow."""

    name: str
    elo: float = Field(default=0.0, allow_inf_nan=False)


class ResignRule(Part):
    """A side has lost when the judge sees it `score` centipawns behind, at each of its last `moves` moves."""

    score: Whole = Field(default=1000, ge=1)
    moves: Whole = Field(default=3, ge=1)


class DrawRule(Part):
    """A game is drawn when the judge sees it within `score` centipawns of even at each of the last `moves` moves of
    both sides, from ply `from_ply` on."""

    score: Whole = Field(default=10, ge=0)
    moves: Whole = Field(default=8, ge=1)
    from_ply: Whole = Field(default=80, ge=1)


class Adjudication(Part):
    """Ends of games that no rule of the game brings. All are off unless asked for."""

    judge: AgentLine | None = None  # a UCI engine, off the clock
    resign: ResignRule | None = None
    draw: DrawRule | None = None
    ply_limit: bool = False  # a game at the ply limit goes to the side that the judge sees ahead by resign's score
    syzygy: str | None = None  # folder of tablebases

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Adjudication:
        if self.judge is None and (self.resign or self.draw or self.ply_limit):
            raise ValueError("resign, draw and ply_limit need a judge, such as judge: uci:stockfish?nodes=100000")
        if self.judge is not None and parse_spec(self.judge).kind != "uci":
            raise ValueError(f"the judge must be a UCI engine, not {self.judge}")
        return self


class TournamentSpec(Part):
    """Everything that a tournament is asked. `read_spec` makes one from a file; the keys are explained in the
    template that `spec_template` returns."""

    name: str = Field(min_length=1, max_length=100)
    format: FormatName
    agents: tuple[AgentEntry, ...] = Field(min_length=2, max_length=MAX_AGENTS)
    game: str = "chess"
    seed: Whole = Field(default=1, ge=0, lt=2**63)
    max_plies: Whole = Field(default=200, ge=1, le=MAX_PLIES)
    games_per_pair: Whole = Field(default=2, ge=1, le=MAX_GAMES)  # of agents that meet
    openings: OpeningsChoice = OpeningsChoice()
    concurrency: Whole = Field(default=8, ge=1, le=MAX_AGENTS)  # games at once
    rounds: Whole | None = Field(default=None, ge=1)
    challengers: Whole | None = Field(default=None, ge=1)
    tiebreak_pairs: Whole | None = Field(default=None, ge=0)
    sprt: TestBounds | None = None
    anchor: AnchorChoice | None = None
    adjudication: Adjudication = Adjudication()
    time_control: str | None = None  # seconds for the game + seconds a move
    charge: Charge = "compute"
    move_timeout: float | None = Field(default=None, gt=0, allow_inf_nan=False)  # seconds
    temperature: float = Field(default=1.0, ge=0, allow_inf_nan=False)  # of llm agents whose spec says nothing else
    legality: Annotated[str, AfterValidator(lambda text: str(Legality.parse(text)))] = "constrained"  # likewise
    engine: EngineSettings = EngineSettings()

    @property
    def players(self) -> tuple[str, ...]:
        """The agents' names, in their order."""
        return tuple(agent.name for agent in self.agents)

    @property
    def clocks(self) -> TimeControl | None:
        """The time control of every game, if there is one."""
        return None if self.time_control is None else TimeControl.parse(self.time_control, self.charge)

    @property
    def llm_defaults(self) -> dict[str, Any]:
        """Settings of `llm` agents whose spec says nothing else."""
        return {"temperature": self.temperature, "legality": self.legality}

    @property
    def games_played(self) -> tuple[str, ...]:
        """The one game that is played."""
        return (self.game,)

    @model_validator(mode="before")
    @classmethod
    def _move_timeout(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and data.get("time_control") is None:
            return {"move_timeout": MOVE_TIMEOUT_S, **data}
        return data

    @model_validator(mode="after")
    def _names_are_known(self) -> TournamentSpec:
        names = self.players
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two agents are called {name!r}: give each a name of its own")
        if self.anchor is not None and self.anchor.name not in names:
            raise ValueError(f"anchor: there is no agent {self.anchor.name!r}; there is {', '.join(names)}")
        if self.game not in game_names():
            raise ValueError(f"game: unknown game {self.game!r}; there is {', '.join(game_names())}")
        if self.adjudication.syzygy is not None and self.game != "chess":
            raise ValueError(f"adjudication.syzygy: there are tablebases of chess, not of {self.game}")
        if self.time_control is not None:
            try:
                TimeControl.parse(self.time_control, self.charge)
            except ValueError as error:
                raise ValueError(f"time_control {self.time_control}: {error}") from error
        return self

    @model_validator(mode="after")
    def _format_is_complete(self) -> TournamentSpec:
        for key, format_name in OWN_KEYS.items():
            if getattr(self, key) is not None and self.format != format_name:
                raise ValueError(f"{key} is for format: {format_name}, not {self.format}")
        if self.format in EVEN and self.games_per_pair % 2:
            raise ValueError(f"games_per_pair {self.games_per_pair}: must be even in format: {self.format}")
        count = len(self.agents)
        if self.format == "swiss" and (self.rounds or default_rounds(count)) > max_rounds(count):
            raise ValueError(
                f"rounds {self.rounds}: {count} agents have {max_rounds(count)} rounds at most, since beyond that "
                "someone may have met everybody who is left; format: round-robin lets all meet"
            )
        if self.format == "gauntlet" and (self.challengers or 1) >= count:
            raise ValueError(f"challengers {self.challengers}: must be fewer than the {count} agents")
        if self.format == "sprt":
            if count != 2:
                raise ValueError(f"format: sprt is for two agents, not {count}")
            if self.sprt is None:
                raise ValueError("format: sprt needs its bounds, such as sprt: {elo0: 0, elo1: 50}")
            if self.games_per_pair != 2:
                raise ValueError("games_per_pair has no effect in format: sprt; max_games under sprt limits them")
        return self


def read_spec(path: Path) -> TournamentSpec:
    """The spec in a YAML file. A relative path in it is meant from the file's folder.

    Raises UsageError naming the file, the key, the value and what would be right.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text: {error.reason} at byte {error.start}") from error
    try:
        return parse_tournament(text, path.parent)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def parse_tournament(text: str, folder: Path) -> TournamentSpec:
    """The spec in YAML `text`; relative paths are meant from `folder`. Raises UsageError."""
    try:
        data = yaml.load(text, _StrictLoader)
    except yaml.MarkedYAMLError as error:
        place = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise UsageError(f"{place}{error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"not YAML: {error}") from error
    if not isinstance(data, Mapping):
        raise UsageError("a tournament is a mapping of keys such as name, format and agents")
    try:
        spec = TournamentSpec.model_validate(data)
    except ValidationError as error:
        raise UsageError(sentence(error, TournamentSpec)) from error
    if (syzygy := spec.adjudication.syzygy) is not None:
        adjudication = spec.adjudication.model_copy(update={"syzygy": str((folder / syzygy).resolve())})
        spec = spec.model_copy(update={"adjudication": adjudication})
    if spec.openings.list in ("own", "start"):
        return spec
    openings = spec.openings.model_copy(update={"list": str((folder / spec.openings.list).resolve())})
    return spec.model_copy(update={"openings": openings})


def spec_hash(spec: TournamentSpec, openings: str) -> str:
    """What makes two tournaments the same: everything but how many games play at once and where the openings lie.

    `openings` is their `openings_hash`. What is left at its default does not count, so that a run is still found by a
    later version that has more settings.
    """
    exclude: dict[str, Any] = {"concurrency": True, "openings": {"list"}}
    content = spec.model_dump(mode="json", exclude=exclude, exclude_defaults=True)
    changed = {key: value for key, value in content.items() if value != {}}
    text = json.dumps([changed, openings], sort_keys=True, ensure_ascii=False)
    return blake2b(text.encode(), digest_size=16).hexdigest()


class _StrictLoader(yaml.SafeLoader):
    """YAML in which a key that comes twice is an error, not the last one's win."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(problem=f"{key} is set twice", problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


def spec_template() -> str:
    """A commented spec to begin with, as YAML."""
    return data_path("tournaments", "template.yaml").read_text(encoding="utf-8")
