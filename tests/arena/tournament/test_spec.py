from pathlib import Path

import pytest
import yaml

from arena.errors import UsageError
from arena.resources import data_path
from arena.tournament.plan import make_plan
from arena.tournament.spec import TournamentSpec, parse_tournament, read_spec, spec_hash, spec_template

BASE = {"name": "test", "format": "round-robin", "agents": ["random?name=a", "random?name=b", "random?name=c"]}


def spec_of(**changes):
    return parse_tournament(yaml.safe_dump(BASE | changes), Path("/folder"))


def test_defaults_fill_what_is_left_out():
    spec = spec_of()
    assert spec.players == ("a", "b", "c")
    assert (spec.games_per_pair, spec.max_plies, spec.move_timeout, spec.game) == (2, 200, 60, "chess")
    assert (spec.openings.list, spec.openings.order) == ("own", "random")


def test_agents_are_lines_or_mappings_and_are_named_by_their_line_at_last():
    agents = [
        "random",
        "random?name=dice",
        {"name": "x", "spec": {"kind": "llm", "temperature": 0.5}},
        {"kind": "llm", "name": "y", "temperature": 0.7},
    ]
    spec = spec_of(agents=agents)
    assert [(agent.name, agent.spec) for agent in spec.agents] == [
        ("random", "random"),
        ("dice", "random?name=dice"),
        ("x", "llm?temperature=0.5"),
        ("y", "llm?name=y&temperature=0.7"),
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rouns": 3}, "unknown key rouns: did you mean rounds?"),
        ({"engine": {"modl": "x"}}, "unknown key engine.modl: did you mean model?"),
        ({"openings": {"colour": 1}}, "unknown key openings.colour: there is list, order, start, plies"),
        ({"format": "swis"}, "format swis: must be 'round-robin', 'double-round-robin', 'gauntlet'"),
        ({"agents": ["random"]}, "agents: must be at least 2 of them"),
        ({"agents": ["random", "random"]}, "two agents are called 'random'"),
        ({"agents": ["random", {"name": "x", "spec": "rndom"}]}, "agents[1].spec: unknown kind of agent 'rndom'"),
        ({"agents": ["random", {"name": "x"}]}, "agents[1].spec is missing"),
        ({"agents": ["random", {"spec": "random"}]}, "agents[1].name is missing"),
        ({"agents": ["random", "llm?temprature=1"]}, "agents[1]: unknown key for llm 'temprature'"),
        ({"agents": 3}, "agents 3: must be a list"),
        ({"games_per_pair": 0}, "games_per_pair 0: must be at least 1"),
        ({"games_per_pair": "two"}, "games_per_pair two: must be a whole number"),
        ({"concurrency": True}, "concurrency True: must be a whole number"),
        ({"max_plies": 1.5}, "max_plies 1.5: must be a whole number"),
        ({"move_timeout": float("inf")}, "move_timeout inf: must be a finite number"),
        ({"legality": "retry"}, "legality must be constrained, free or retry:N"),
        ({"time_control": "fast"}, "time_control fast: must be seconds for the game and seconds a move"),
        ({"game": "go"}, "game: unknown game 'go'; there is chess, janggi"),
        ({"anchor": {"name": "z"}}, "anchor: there is no agent 'z'; there is a, b, c"),
        ({"rounds": 2}, "rounds is for format: swiss, not round-robin"),
        ({"format": "swiss", "rounds": 3}, "rounds 3: 3 agents have 2 rounds at most"),
        ({"format": "swiss", "games_per_pair": 3}, "games_per_pair 3: must be even in format: swiss"),
        ({"format": "gauntlet", "challengers": 3}, "challengers 3: must be fewer than the 3 agents"),
        ({"format": "sprt"}, "format: sprt is for two agents, not 3"),
        ({"format": "sprt", "agents": BASE["agents"][:2]}, "format: sprt needs its bounds"),
        ({"sprt": {"elo0": 5, "elo1": 1}}, "sprt: elo0 5 must be less than elo1 1"),
        ({"sprt": {"elo0": 0, "elo1": 5, "max_games": 11}}, "sprt.max_games 11: must be a multiple of 2"),
        ({"openings": {"start": 3}}, "openings: start has no effect on a random order"),
        ({"openings": {"plies": 3}}, "openings: plies is for PGN files"),
        ({"adjudication": {"draw": {"score": 5}}}, "adjudication: resign, draw and ply_limit need a judge"),
        ({"adjudication": {"judge": "random"}}, "adjudication: the judge must be a UCI engine, not random"),
    ],
)
def test_faults_are_named_with_what_would_be_right(changes, message):
    with pytest.raises(UsageError) as caught:
        spec_of(**changes)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: x\nname: y", "line 2: name is set twice"),
        ("name: [", "line 1: expected the node content"),
        ("- a\n- b", "a tournament is a mapping of keys"),
        ("", "a tournament is a mapping of keys"),
        ("name: \x00", "not YAML"),
    ],
)
def test_yaml_that_is_no_spec_is_refused(text, message):
    with pytest.raises(UsageError, match=message):
        parse_tournament(text, Path())


def test_a_clock_takes_the_place_of_the_move_timeout():
    assert spec_of(time_control="60+1").move_timeout is None
    assert spec_of(time_control="60+1", move_timeout=5).move_timeout == 5


def test_a_book_is_looked_for_beside_the_spec(tmp_path):
    (tmp_path / "book.epd").write_text("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -\n")
    path = tmp_path / "spec.yaml"
    path.write_text(yaml.safe_dump(BASE | {"openings": "book.epd"}))
    spec = read_spec(path)
    assert spec.openings.list == str(tmp_path / "book.epd")
    assert [opening.name for opening in make_plan(spec).openings] == ["book 1"]


def test_faults_of_a_file_name_it(tmp_path):
    path = tmp_path / "spec.yaml"
    with pytest.raises(UsageError, match=r"spec\.yaml: No such file"):
        read_spec(path)
    path.write_text("name: x")
    with pytest.raises(UsageError, match=r"spec\.yaml: format is missing"):
        read_spec(path)


def test_the_hash_is_that_of_the_games_asked_for():
    base = spec_hash(spec_of(), "openings")
    assert spec_hash(spec_of(concurrency=3), "openings") == base
    assert spec_hash(spec_of(openings="elsewhere.epd"), "openings") == base
    assert spec_hash(spec_of(), "other openings") != base
    assert spec_hash(spec_of(seed=2), "openings") != base
    assert spec_hash(spec_of(agents=["random?name=a", "random?name=b", "llm?name=c"]), "openings") != base


def test_a_stored_spec_is_the_same_again():
    spec = spec_of(format="swiss", rounds=2, adjudication={"judge": "uci:stockfish?nodes=10", "draw": {}})
    assert TournamentSpec.model_validate(spec.model_dump(mode="json")) == spec


@pytest.mark.parametrize("path", sorted(data_path("tournaments").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_examples_are_tournaments_that_can_begin(path):
    plan = make_plan(read_spec(path))
    assert plan.schedule({}).games


def test_the_template_shows_the_defaults():
    """What is commented out in the template changes nothing when it is not, but for keys of other formats."""
    lines = spec_template().splitlines()
    shown = [line.removeprefix("# ") for line in lines if line.startswith(("# seed", "# max_plies", "# concurrency"))]
    shown += [line.removeprefix("# ") for line in lines if line.startswith(("# move_timeout", "# charge"))]
    shown += [line.removeprefix("# ") for line in lines if line.startswith(("# temperature", "# legality"))]
    assert len(shown) == 7
    plain = parse_tournament("\n".join(lines), Path())
    assert parse_tournament("\n".join([*lines, *shown]), Path()) == plain
    keys = {line.lstrip("# ").split(":")[0] for line in lines if ":" in line}
    assert set(TournamentSpec.model_fields) <= keys
