"""The same load for every engine, and what is told of each."""

import json
from dataclasses import replace

import pytest
import torch

from arena.bench.compare import OURS, Cell, Result, measure_peer, ratio
from arena.bench.peers.base import Peer, PeerAnswer, PeerError, Question
from arena.bench.peers.endpoint import EndpointPeer
from inference.models.transformer import Transformer
from inference.models.weights import assemble, tensor_shapes


def endpoint_peer(endpoint, settings, dialect="structured_outputs", model="tiny"):
    return EndpointPeer(settings(), endpoint.url, model, dialect)


async def measured(peer, *workloads):
    return await measure_peer(peer, workloads, lambda line: None)


async def test_an_endpoint_is_sent_the_very_prompts_of_the_load_after_a_warm_up(endpoint, settings, make_load):
    workload = make_load(in_flight=2, plies=3)
    result = await measured(endpoint_peer(endpoint, settings), workload)
    assert (result.missing, result.failure, result.version) == (None, None, "tiny")
    warm, clocked = endpoint.asked[:4], endpoint.asked[4:]
    assert all(body["prompt"] == list(workload.preamble) and body["max_tokens"] == 1 for body in warm)
    for turns in workload.games:
        sent = [body for body in clocked if tuple(body["prompt"]) in {turn.prompt for turn in turns}]
        assert [tuple(body["prompt"]) for body in sent if body["prompt"] != clocked[0]["prompt"]] == [
            turn.prompt for turn in turns[1:]
        ]
    assert len(clocked) == 6
    asked = {tuple(body["prompt"]): body for body in clocked}
    for turn in workload.games[0]:
        assert asked[turn.prompt]["structured_outputs"] == {"choice": list(turn.choices)}
    cell = result.cells[0]
    assert cell.computed_tokens_per_move == 7
    assert cell.legal_share == 1.0
    assert cell.ttft_ms is None
    assert 0 < cell.latency_ms["p50"] <= cell.latency_ms["p99"]


@pytest.mark.parametrize(
    ("dialect", "fields"),
    [
        ("guided_choice", {"guided_choice": ["a2a3", "e7e8q"]}),
        ("regex", {"regex": "a2a3|e7e8q"}),
        ("grammar", {"grammar": 'root ::= "a2a3" | "e7e8q"'}),
    ],
)
async def test_choices_are_told_in_the_dialect_asked_for(endpoint, settings, dialect, fields):
    peer = endpoint_peer(endpoint, settings, dialect)
    await peer.start()
    await peer.ask(Question(0, (1, 2, 3), 8, ("a2a3", "e7e8q")))
    await peer.close()
    assert endpoint.asked[0].items() >= fields.items()


async def test_answers_that_are_no_legal_moves_are_counted(endpoint, settings, make_load):
    endpoint.text = "I resign"
    result = await measured(endpoint_peer(endpoint, settings), make_load(plies=1))
    assert result.cells[0].legal_share == 0.0


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"status": 503}, "/completions: status 503"),
        ({"counted": 5}, r"counted \d+ prompt tokens where \d+ were sent"),
    ],
)
async def test_what_goes_wrong_at_an_endpoint_is_its_result(endpoint, settings, make_load, fault, said):
    for name, value in fault.items():
        setattr(endpoint, name, value)
    result = await measured(endpoint_peer(endpoint, settings), make_load(plies=1))
    assert result.cells == {}
    with pytest.raises(PeerError, match=said):
        raise PeerError(result.failure)


async def test_an_endpoint_that_serves_another_model_or_nothing_is_told(endpoint, settings, make_load):
    result = await measured(endpoint_peer(endpoint, settings, model="huge"), make_load(plies=1))
    assert result.failure == f"{endpoint.url} does not serve 'huge'; it has: tiny"
    endpoint.url = "http://127.0.0.1:1/v1"
    result = await measured(endpoint_peer(endpoint, settings), make_load(plies=1))
    assert "127.0.0.1:1/v1/models: " in result.failure
    assert "refused" in result.failure


async def test_a_kept_connection_that_the_server_closed_is_opened_again(endpoint, settings, make_load):
    endpoint.hang_up = True
    result = await measured(endpoint_peer(endpoint, settings), make_load(plies=3))
    assert result.failure is None
    assert result.cells[0].legal_share == 1.0


class Scripted(Peer):
    """Answers in this process; `told` is what was called."""

    name = "scripted"

    def __init__(self, fail_at=None):
        self.told = []
        self.fail_at = fail_at

    async def start(self):
        self.told.append("start")

    async def ask(self, question):
        self.told.append(question.slot)
        if len(self.told) == self.fail_at:
            raise PeerError("enough")
        return PeerAnswer("x", ttft_ms=2.0)

    async def reset(self):
        self.told.append("reset")

    async def close(self):
        self.told.append("close")


async def test_a_peer_forgets_before_each_load_and_is_closed_whatever_happens(make_load):
    loads = make_load(plies=2, answer="free"), make_load(plies=1, prompt="fen", answer="free")
    peer = Scripted()
    result = await measured(peer, *loads)
    assert peer.told == ["start", 0, "reset", 0, 0, 1, 0, 0, 1, 1, "reset", 0, 0, 1, 0, 1, "close"]
    assert set(result.cells) == {0, 1}
    assert result.cells[0].ttft_ms == {"p50": 2.0, "p95": 2.0}
    assert result.cells[0].legal_share is None
    peer = Scripted(fail_at=13)  # in the second load
    result = await measured(peer, *loads)
    assert (set(result.cells), result.failure, peer.told[-1]) == ({0}, "enough", "close")


def test_the_ratio_is_the_median_of_rounds_that_have_both():
    def result(engine, moves_per_s):
        cells = {} if moves_per_s is None else {0: Cell(moves_per_s, {}, None, None, None)}
        return Result(engine, "", cells=cells)

    rounds = [[result(OURS, ours), result("peer", peer)] for ours, peer in ((8, 4), (9, 3), (6, None), (5, 5))]
    assert ratio(rounds, "peer", 0) == 2.0
    assert ratio(rounds, "other", 0) is None


@pytest.fixture
def small_model(real_model):
    """The default model's tokenizer in front of a network of random weights: as many prompts, hardly any work."""
    config = replace(real_model.config, hidden_size=16, intermediate_size=16, layers=1, heads=2, kv_heads=1, head_dim=8)
    weights = {name: torch.ones(shape) * 0.1 for name, shape in tensor_shapes(config).items()}
    transformer = Transformer(config, assemble(config, weights.__getitem__, dtype=torch.float32, device="cpu"))
    return replace(real_model, transformer=transformer, config=config)


def test_ours_and_an_endpoint_in_one_call_with_missing_peers_named(arena, endpoint, small_model, monkeypatch):
    monkeypatch.setattr("arena.cli.bench_peers.loaded", lambda config: small_model)
    monkeypatch.setattr("arena.cli.bench_peers.NAMES", ("vllm", "endpoint"))
    load = ("--in-flight", "1", "--plies", "2", "--endpoint", endpoint.url, "--endpoint-model", "tiny")
    code, out, err = arena("bench", "peers", *load, "--json")
    assert code == 0
    told = json.loads(out)
    (asked,), (taken,) = told["loads"], told["rounds"]
    ours, vllm, other = taken
    assert [result["engine"] for result in taken] == ["ours", "vllm", "endpoint"]
    assert "--vllm-python" in vllm["missing"]
    expected = ours["cells"]["0"]["moves_per_s"] / other["cells"]["0"]["moves_per_s"]
    assert asked["ratios"] == {"vllm": None, "endpoint": pytest.approx(expected)}
    assert len(asked["digest"]) == 64
    figure = other["cells"]["0"]["moves_per_s"]
    assert f"endpoint: history/choose, 1 in flight: {figure:.2f} moves/s" in err


def test_a_peer_that_ignores_the_choices_is_shown_up(arena, endpoint, small_model, monkeypatch):
    monkeypatch.setattr("arena.cli.bench_peers.loaded", lambda config: small_model)
    endpoint.text = "I resign"
    peer = ("--peers", "endpoint", "--endpoint", endpoint.url, "--endpoint-model", "tiny")
    code, out, _ = arena("bench", "peers", *peer, "--in-flight", "1", "--plies", "1")
    assert code == 0
    assert "0%" in next(line for line in out.splitlines() if line.strip().startswith("endpoint "))
    assert "NOT HELD to the legal moves" in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--peers", "vllm"], "vllm is missing: make an environment for it"),
        (["--peers", "vllm,foo"], "'foo' is none of vllm, llama, transformers, endpoint"),
        (["--endpoint", "http://localhost:1"], "--endpoint and --endpoint-model go together"),
        (["--endpoint", "localhost:1", "--endpoint-model", "x"], "'localhost:1' is no URL of a server"),
    ],
)
def test_bad_options_are_refused_before_anything_runs(arena, options, said, small_model, monkeypatch):
    monkeypatch.setattr("arena.cli.bench_peers.loaded", lambda config: small_model)
    code, out, err = arena("bench", "peers", *options)
    assert (code, out) == (2, "")
    assert said in err
    assert "in flight" not in err
