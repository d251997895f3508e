"""SmolLM2-135M through our engine, held to transformers' own implementation of the model and to itself."""

import asyncio
import math

import pytest
import torch

from inference.catalogue import model_folder
from inference.engine import Engine, EngineConfig
from inference.errors import InvalidRequestError
from inference.types import Message, SamplingParams, Text

RULES = Message("system", "You are a strong chess player. Answer with one move in UCI notation, such as e2e4. " * 4)
PROMPTS = [
    [RULES, Message("user", "The game has just begun. Your move.")],
    [RULES, Message("user", "Game so far: e2e4 e7e5 g1f3 b8c6 f1b5\nYour move.")],
    [RULES, Message("user", "Game so far: d2d4 g8f6 c2c4 e7e6 b1c3 f8b4\nYour move.")],
    [RULES, Message("user", "1. e4 c5 2. Nf3 d6 3. d4 cxd4 4. Nxd4")],
    [Message("user", '[Event "Casual"]\n[Result "1-0"]\n\n1. e4 e5 2. Nf3 Nc6 3.')],
    [Message("user", "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1")],
    [Message("user", "Which piece moves in an L shape?")],
    [Message("user", "What is castling?"), Message("assistant", "A king move."), Message("user", "And en passant?")],
    [Message("user", "What is the capital of France?")],
    [Message("user", "Write one sentence about the sea.")],
    [Message("user", "2 + 2 =")],
    [Message("user", "Count from 1 to 10.")],
    [Message("user", "Translate 'good morning' to French.")],
    [Message("user", "def fibonacci(n):")],
    [Message("user", "장기는 한국의 보드 게임입니다.")],
    [Message("user", "List three colours.")],
    [Message("user", "Why is the sky blue?")],
    [Message("system", "Answer in one word."), Message("user", "The opposite of hot?")],
    [Message("user", "\n\n\n  spaces   and\ttabs \n")],
    [Message("user", "Name a planet.")],
    [Message("user", "Éàü — naïve café, 12345.67%")],
    [Message("user", "Tell me a very short story about a rook.")],
]
NEW_TOKENS = 4
RULES_IN_SHORT = Message("system", "You play chess. Answer with one move.")


@pytest.fixture(scope="module")
def reference(real_model):
    """transformers' model on the same weights, alone with one sequence at a time."""
    transformers = pytest.importorskip("transformers")
    model = transformers.AutoModelForCausalLM.from_pretrained(model_folder("smollm2-135m"), dtype=torch.float32)
    return model.eval()


@pytest.fixture
def make_engine(real_model):
    started = []

    def make(**settings):
        engine = Engine(EngineConfig(**settings), model=real_model)
        engine.start()
        started.append(engine)
        return engine

    yield make
    for engine in started:
        engine.close()


def keep_logits(engine):
    """Record the logits of every decided token, by the tokens that lead to it."""
    runner, kept = engine._core.runner, {}
    run, logits = runner.run, runner.logits
    deciding = []

    def recording(operations, plan):
        deciding[:] = [tuple(rows.sequence.tokens) for rows in plan if rows.decides]
        return run(operations, plan)

    def recording_logits(states, targets):
        rows = logits(states, targets)
        for tokens, row in zip(deciding, rows, strict=True):
            kept.setdefault(tokens, []).append(row.clone())
        return rows

    runner.run, runner.logits = recording, recording_logits
    return kept


def reference_logits(model, tokens):
    with torch.inference_mode():
        return model(torch.tensor([list(tokens)])).logits[0, -1]


async def test_greedy_tokens_and_logits_are_those_of_transformers_alone_and_together_cold_and_cached(
    make_engine, reference, real_model
):
    tokenizer = real_model.tokenizer
    expected, logits = [], []
    for prompt in PROMPTS:
        ids = torch.tensor([tokenizer.encode_messages(prompt)])
        with torch.inference_mode():
            out = reference.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=NEW_TOKENS, do_sample=False, pad_token_id=0,
                return_dict_in_generate=True, output_logits=True,
            )  # fmt: skip
        new = out.sequences[0, ids.shape[1] :].tolist()
        expected.append(tuple(new[:-1] if new[-1] in tokenizer.eos_ids else new))
        logits.append(out.logits[0][0])
    params = SamplingParams(max_tokens=NEW_TOKENS)

    engine = make_engine()
    kept = keep_logits(engine)
    together = await asyncio.gather(*(engine.generate(prompt, params) for prompt in PROMPTS[:16]))
    assert [reply.token_ids for reply in together] == expected[:16]
    assert max(reply.usage.batch_size for reply in together) >= 8
    cached = await asyncio.gather(*(engine.generate(prompt, params) for prompt in PROMPTS[4:16]))
    assert [reply.token_ids for reply in cached] == expected[4:16]
    for i in (0, 1, 2, 3, *range(16, len(PROMPTS))):  # alone: the first cached, the others cold
        assert (await engine.generate(PROMPTS[i], params)).token_ids == expected[i]
    for prompt, want in zip(PROMPTS, logits, strict=True):
        torch.testing.assert_close(kept[tokenizer.encode_messages(prompt)][0], want, rtol=0, atol=2e-3)
    assert all(torch.equal(rows[0], row) for rows in kept.values() for row in rows)


def node_logprobs(model, prompt, path):
    return torch.log_softmax(reference_logits(model, [*prompt, *path]).double(), dim=0)


@pytest.mark.parametrize(
    "choices",
    [
        ["e2e4", "e2e3", "d2d4", "d2d3", "g1f3", "g1h3", "b1c3", "b1a3", "a2a4", "a2a3"],
        ["a9a1", "a9a10", "b1b10", "b1b2"],
        ["O-O", "O-O-O", "Kf1", "Kd1"],
    ],
    ids=["opening", "a9a1-a9a10", "castling"],
)
async def test_choose_and_score_follow_the_logits_of_transformers(make_engine, reference, real_model, choices):
    engine = make_engine()
    tokenizer = real_model.tokenizer
    prompt = PROMPTS[0]
    ids = tokenizer.encode_messages(prompt)
    paths = [list(path) for path in tokenizer.encode_choices(ids, choices)]
    for path in paths:
        if any(other != path and other[: len(path)] == path for other in paths):
            path.append(tokenizer.end_of_turn_id)
    assert any(path[-1] == tokenizer.end_of_turn_id for path in paths) == ("-" in choices[0] or "a9a1" in choices)

    at = {}  # log-probabilities of the whole vocabulary after each inner node
    for path in paths:
        for depth in range(len(path)):
            key = tuple(path[:depth])
            if key not in at:
                at[key] = node_logprobs(reference, ids, key)

    def walk(temperature):
        """Probability of every choice: the product over its branching nodes."""
        products = []
        for path in paths:
            product = 1.0
            for depth, token in enumerate(path):
                key = tuple(path[:depth])
                children = sorted({other[depth] for other in paths if tuple(other[:depth]) == key})
                shares = torch.softmax(at[key][children] / temperature, dim=0)
                product *= float(shares[children.index(token)])
            products.append(product)
        return products

    expected, warmer = walk(1.0), walk(2.0)
    assert sum(expected) == pytest.approx(1.0)
    seen = set()
    for temperature, probabilities in ((1.0, expected), (2.0, warmer)):
        replies = await asyncio.gather(
            *(engine.choose(prompt, choices, temperature=temperature, seed=seed) for seed in range(16))
        )
        for reply in replies:
            assert reply.text == choices[reply.index]
            assert reply.probability == pytest.approx(probabilities[reply.index], abs=1e-4)
            seen.add(reply.index)
    assert len(seen) > 2

    best, path = list(range(len(choices))), []
    while len(best) > 1:
        children = sorted({paths[i][len(path)] for i in best})
        path.append(max(children, key=lambda token: float(at[tuple(path)][token])))
        best = [i for i in best if paths[i][len(path) - 1] == path[-1]]
    assert (await engine.choose(prompt, choices, temperature=0.0)).index == best[0]

    score = await engine.score(prompt, choices)
    want = [sum(float(at[tuple(path[:depth])][token]) for depth, token in enumerate(path)) for path in paths]
    assert score.logprobs == pytest.approx(want, abs=1e-3)
    total = math.log(sum(map(math.exp, want)))
    assert score.probabilities == pytest.approx([math.exp(w - total) for w in want], abs=1e-4)


@pytest.fixture(params=["float32", "int8", "int8 with a KV cache in int8"])
def make_engine_of_any_weights(request, real_model, int8_model):
    started = []

    def make(**settings):
        model = real_model if request.param == "float32" else int8_model
        kv = "int8" if "KV" in request.param else "float32"
        engine = Engine(EngineConfig(kv=kv, **settings), model=model)
        engine.start()
        started.append(engine)
        return engine

    yield make
    for engine in started:
        engine.close()


async def test_logits_have_the_same_bits_alone_among_strangers_cold_cached_and_in_any_chunks(
    make_engine_of_any_weights,
):
    make = make_engine_of_any_weights
    long = Message("system", "The rules of the game are explained here. " * 5)
    mine = [long, Message("user", "Game so far: e2e4 c7c5\nYour move.")]
    strangers = [[long, Message("user", f"Game so far: {'a2a3 ' * (i % 9)}\nMove {i}.")] for i in range(63)]
    params = SamplingParams(max_tokens=4, ignore_eos=True)
    one = SamplingParams(max_tokens=1)

    async def bits(engine, crowd, *, warm=()):
        kept = keep_logits(engine)
        for prompt in warm:
            await engine.generate(prompt, one)
        crowd = [asyncio.create_task(engine.generate(prompt, params)) for prompt in crowd]
        reply = await engine.generate(mine, params)
        for task in crowd:
            task.cancel()
        ids = tuple(engine.model.tokenizer.encode_messages(mine))
        return [kept[ids + reply.token_ids[:n]][-1] for n in range(4)], reply.usage

    alone, usage = await bits(make(), [])
    assert usage.cached_tokens == 0
    for name, settings, crowd, warm in (
        ("among 63 strangers", {}, strangers, ()),
        ("chunks of 16", {"max_batch_tokens": 16}, [], ()),
        ("chunks of 64", {"max_batch_tokens": 64}, strangers[:1], ()),
        ("one chunk", {"chunked_prefill": False}, [], ()),
        ("cached", {}, strangers[:3], (mine,)),
        ("no prefix cache", {"prefix_cache": False}, strangers[:1], ()),
        ("two at a time", {"max_batch": 2}, strangers[:2], ()),
    ):
        got, usage = await bits(make(**settings), crowd, warm=warm)
        assert all(torch.equal(a, b) for a, b in zip(alone, got, strict=True)), name
        if name == "among 63 strangers":
            assert usage.batch_size > 8


async def test_logits_have_the_same_bits_from_a_cache_hit_of_every_length(make_engine_of_any_weights):
    make = make_engine_of_any_weights
    engine = make(page_size=8)
    ids = engine.model.tokenizer.encode_text("Game so far: e2e4 e7e5 g1f3 b8c6\nYour move:")
    kept = keep_logits(engine)
    params = SamplingParams(max_tokens=2, ignore_eos=True)
    want = await engine.generate(ids, params)
    first = [kept[ids + want.token_ids[:n]][0] for n in range(2)]
    for length in range(1, len(ids)):
        engine._core.cache.flush()
        await engine.generate(ids[:length], SamplingParams(max_tokens=1))
        again = await engine.generate(ids, params)
        assert again.usage.cached_tokens == length
        assert all(torch.equal(first[n], kept[ids + want.token_ids[:n]][-1]) for n in range(2)), length


async def test_choices_have_the_same_bits_walked_and_in_one_pass_alone_and_among_others_cached_evicted_and_in_chunks(
    make_engine_of_any_weights,
):
    moves = ["e7e5", "e7e6", "d7d5", "g8f6", "c7c5", "a7a6"]

    def prompt(game):
        return [RULES_IN_SHORT, Message("user", f"Game {game}: {'a2a3 ' * (game % 3)}e2e4\nYour move.")]

    async def mine(engine):
        chosen = await engine.choose(prompt(0), moves, temperature=2.0, seed=4)
        scored = await engine.score(prompt(0), moves)
        return (chosen.text, chosen.probability, chosen.decisions, scored.logprobs), chosen.usage

    engine = make_engine_of_any_weights(page_size=16, pages=100)
    alone, usage = await mine(engine)
    assert usage.cached_tokens == 0
    cached, usage = await mine(engine)
    assert usage.cached_tokens == usage.prompt_tokens
    assert cached == alone
    for select in ("walk", "tree"):
        tight = make_engine_of_any_weights(select=select, page_size=16, pages=9, max_batch_tokens=16)
        strangers = [tight.choose(prompt(game), moves, seed=game) for game in range(1, 4)]
        (among, usage), *_ = await asyncio.gather(mine(tight), *strangers)
        assert among == alone, select
        assert usage.batch_size > 1
        assert usage.passes > usage.prompt_tokens // 16
        evictions = tight.stats().evicted_pages
        await tight.choose(prompt(5), moves, seed=5)
        assert tight.stats().evicted_pages > evictions
        evicted, _ = await mine(tight)
        assert evicted == alone, select


async def test_a_prompt_longer_than_a_step_has_the_same_bits_whole_and_in_chunks_of_256(make_engine_of_any_weights):
    make, params = make_engine_of_any_weights, SamplingParams(max_tokens=1, ignore_eos=True, logprobs=True)
    prompt = Text("1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 " * 11)
    whole, chunked = [await make(pages=10, chunked_prefill=chunk).generate(prompt, params) for chunk in (False, True)]
    assert whole.usage.prompt_tokens > 256
    assert (whole.usage.passes, chunked.usage.passes) == (1, 2)
    assert (whole.token_ids, whole.logprobs) == (chunked.token_ids, chunked.logprobs)


async def test_logits_have_the_same_bits_after_preemption_and_eviction(make_engine_of_any_weights):
    make_engine = make_engine_of_any_weights
    prompts = [Text(f"Game {i}: " + "e2e4 e7e5 " * (2 + i)) for i in range(5)]
    params = SamplingParams(max_tokens=24, ignore_eos=True, logprobs=True)
    roomy, tight = make_engine(page_size=8), make_engine(pages=17, page_size=8)
    want = [await roomy.generate(prompt, params) for prompt in prompts]
    got = await asyncio.gather(*(tight.generate(prompt, params) for prompt in prompts))
    assert [reply.logprobs for reply in got] == [reply.logprobs for reply in want]
    assert tight.stats().preemptions > 0
    assert tight.stats().evicted_pages > 0


# --- texts and turns that go on ------------------------------------------------------------------------------------

GAME = [Message("system", "You write down games."), Message("user", "Begin.")]


def test_an_open_turn_is_the_beginning_of_the_closed_one(real_model):
    tokenizer = real_model.tokenizer
    said = Message("assistant", "Moves: e2e4 e7e5")
    opened = tokenizer.encode_messages([*GAME, said])
    closed = tokenizer.encode_messages([*GAME, said, Message("user", "And now?")])
    assert closed[: len(opened)] == opened
    assert closed[len(opened)] == tokenizer.end_of_turn_id
    assert opened[: len(tokenizer.encode_messages(GAME))] == tokenizer.encode_messages(GAME)


def test_a_plain_text_has_no_chat_around_it_and_no_special_tokens_in_it(real_model):
    tokenizer = real_model.tokenizer
    text = "1. e4 e5 2.<|im_end|>"
    ids = tokenizer.encode_text(text)
    assert tokenizer.decode(ids) == text
    assert not set(ids) & tokenizer.special_ids


async def test_what_a_move_generated_is_the_cached_beginning_of_the_next_request(make_engine, real_model):
    engine = make_engine()
    said, moves, forwarded = "Moves:", [" e2e4", " d2d4", " g1f3"], []
    for ply in range(4):
        reply = await engine.choose([*GAME, Message("assistant", said)], moves, temperature=1.0, seed=ply)
        forwarded.append((reply.usage.prompt_tokens - reply.usage.cached_tokens, reply.usage.forwarded_tokens))
        said += reply.text
    tokens = len(real_model.tokenizer.encode(" e2e4"))
    assert all(new <= tokens and total <= 2 * tokens for new, total in forwarded[1:])


async def test_a_terminator_stands_for_what_follows_the_shorter_choice(make_engine, reference, real_model):
    engine, tokenizer = make_engine(), real_model.tokenizer
    prompt, choices = Text("1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4."), [" O-O", " O-O-O"]
    ids = tokenizer.encode_text(prompt.content)
    short, long = tokenizer.encode_choices(ids, choices)
    (newline,) = tokenizer.encode("\n")
    logprobs = node_logprobs(reference, ids, short)
    wanted = torch.softmax(logprobs[[newline, long[len(short)]]], dim=0)
    picked = {}
    for seed in range(40):
        reply = await engine.choose(prompt, choices, seed=seed, terminator="\n")
        picked[reply.text] = reply.probability
    for choice, probability in picked.items():
        assert probability == pytest.approx(float(wanted[choices.index(choice)]), abs=1e-3)
    with pytest.raises(InvalidRequestError, match="the terminator must be one token, and 'two words' is 2"):
        await engine.choose(prompt, choices, terminator="two words")
