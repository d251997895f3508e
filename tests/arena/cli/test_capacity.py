import json

import pytest

from kernels.vector import HAS_PAIRS

SHAPE = {
    "model_type": "llama",
    "vocab_size": 1000,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
}
LAYERS = 2 * (64 * 64 * 2 + 32 * 64 * 2 + 3 * 64 * 128)
ROWS = 2 * (64 + 32 + 32 + 64 + 128 + 128 + 64)
NORMS = 5 * 64


@pytest.fixture
def model(tmp_path):
    """A folder with a model's shape and no weights: planning has no use for them."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps(SHAPE))
    return tmp_path / "model"


def planned(arena, model, *options):
    code, out, err = arena("capacity", "--model", model, "--json", "--kv", "float32", *options)
    assert (code, err) == (0, "")
    return json.loads(out)


def test_kv_of_a_token_follows_from_the_shape(arena, model):
    found = planned(arena, model, "--kv-memory", 3, "--page-size", 32)
    token = 2 * 2 * 2 * 16 * 4
    assert found["pool"] == {
        "kv": "float32",
        "token_bytes": token,
        "page_size": 32,
        "kv_bytes": 3 * 2**20,
        "page_bytes": 32 * token,
        "pages": 192,
        "tokens": 192 * 32,
    }
    assert planned(arena, model, "--kv", "int8")["pool"]["token_bytes"] == 2 * 2 * 2 * (16 + 4)
    assert planned(arena, model, "--kv", "bfloat16")["pool"]["token_bytes"] == token / 2


def test_keys_and_values_are_held_as_an_engine_would_hold_them(arena, model):
    for weights in ("int8", "float32"):
        held = planned(arena, model, "--kv", "auto", "--weights", weights)["pool"]["kv"]
        assert held == ("bfloat16" if HAS_PAIRS and weights == "int8" else "float32")


def test_each_technique_fits_more_games(arena, model):
    options = ("--kv-memory", 4, "--system", 640, "--moves", 100, "--tokens-per-move", 4)
    rows = planned(arena, model, *options)["techniques"]
    assert [(row["technique"], row["kv"], row["games"]) for row in rows] == [
        ("reserved whole", "float32", 2),
        ("in pages", "float32", 7),
        ("shared once", "float32", 16),
        ("shared once", "int8", 57),
    ]
    assert [row["technique"] for row in planned(arena, model, "--kv", "int8")["techniques"]] == [
        "reserved whole",
        "in pages",
        "shared once",
    ]


@pytest.mark.parametrize(
    ("weights", "size"),
    [
        ("float32", 4 * (2 * 64_000 + LAYERS + NORMS)),
        ("bfloat16", 4 * (2 * 64_000 + NORMS) + 2 * LAYERS),
        ("int8", 4 * (64_000 + NORMS + ROWS + 1000) + LAYERS + 64_000),
    ],
)
def test_weights_are_counted_as_they_are_held(arena, model, weights, size):
    assert planned(arena, model, "--weights", weights)["memory"]["weight_bytes"] == size


def test_memory_for_games_is_enough_when_it_is_given(arena, model):
    options = ("--games", 50, "--system", 100, "--moves", 60)
    code, out, _ = arena("capacity", "--model", model, "--kv", "float32", "--kv-memory", 1, *options)
    assert code == 0
    (told,) = [line for line in out.splitlines() if line.startswith("50 games need --kv float32")]
    needed = int(told.split("--kv-memory ")[1].split(",")[0])
    assert told.endswith("more than the 1 there are.")
    assert planned(arena, model, "--kv-memory", needed, *options)["techniques"][2]["games"] >= 50
    assert planned(arena, model, "--kv-memory", needed - 1, *options)["techniques"][2]["games"] < 50


def test_a_person_is_told_what_fits_and_what_the_words_mean(arena, model):
    code, out, err = arena("capacity", "--model", model, "--kv", "float32", "--kv-memory", 4)
    assert (code, err) == (0, "")
    assert "a context of 4,096 tokens; KV in float32" in out
    assert "2 (K, V) x 2 layers x 2 KV heads x 16 x 4 B" in out
    assert "600 that all games share + 200 plies x 5" in out
    assert "what all games begin with is held once: a radix tree" in out
    assert "So 7 games, 14 agents, play at once" in out
    assert "that fits" in out


def test_too_little_memory_for_one_game_is_said(arena, model):
    code, out, _ = arena("capacity", "--model", model, "--kv", "float32", "--kv-memory", 1, "--moves", 650)
    assert code == 0
    assert "Not even one game fits: it needs --kv float32 --kv-memory 2." in out


def test_littles_law_from_a_pace(arena, model):
    assert planned(arena, model, "--rate", 46, "--latency", 1.25)["flow"] == {
        "rate": 46.0,
        "latency_s": 1.25,
        "in_flight": 57.5,
        "games": 58,
    }
    out = arena("capacity", "--model", model, "--rate", 46, "--latency", 1.25)[1]
    assert "46.0 moves/s x 1.25 s a move = 57.5 requests in flight." in out
    assert "58 games, 116 agents" in out


def test_littles_law_from_a_recorded_run(arena, model, scribe):
    scribe = scribe(name="calm")
    scribe.start(1)
    scribe.write(scribe.played(1, "e2e4", total_ms=500.0, at="2026-01-05T12:00:01Z"))
    scribe.write(scribe.played(1, "e7e5", total_ms=1500.0, at="2026-01-05T12:00:01Z"))
    flow = planned(arena, model, "--run", "calm")["flow"]
    assert (flow["rate"], flow["latency_s"]) == (pytest.approx(2 / 1.5), pytest.approx(1.0))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--moves", 1000), "a game of 600 + 1000 x 5 = 5,600 tokens exceeds"),
        (("--moves", 1000), "at most 699 plies fit"),
        (("--rate", 3), "--rate says nothing alone"),
        (("--latency", 3), "--latency says nothing alone"),
        (("--rate", "nan", "--latency", 1), "--rate must be more than 0, not nan"),
        (("--rate", 1, "--latency", -2), "--latency must be more than 0, not -2.0"),
        (("--run", "calm", "--rate", 3), "--run has its own --rate and --latency"),
        (("--run", "wild"), "there is no run wild"),
        (("--run", "calm"), "no engine answered in that run"),
        (("--games", 0), "0 is not in the range"),
        (("--kv", "int4"), "'int4' is not one of"),
    ],
)
def test_bad_input_is_one_sentence(arena, model, scribe, options, complaint):
    scribe(name="calm")
    code, out, err = arena("capacity", "--model", model, *options)
    assert (code, out) == (2, "")
    assert complaint in err
    assert "Traceback" not in err


def test_a_model_that_is_not_fetched_says_how_to_fetch_it(arena, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code, out, err = arena("capacity")
    assert (code, out) == (2, "")
    assert "`arena models pull smollm2-135m` fetches it" in err
