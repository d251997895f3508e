"""The asyncio front on a tiny random model: answers, errors, cancellation, closing."""

import asyncio
import gc
import itertools
import math
import random
import threading
import time
import weakref

import pytest
import torch

from inference.engine import Engine, EngineConfig
from inference.errors import (
    EngineClosedError,
    EngineFailedError,
    InvalidRequestError,
    QueueFullError,
    RequestTimeoutError,
    RequestTooLargeError,
)
from inference.types import FinishReason, Message, SamplingParams

CHAT = [Message("system", "You play games."), Message("user", "Your move?")]
MOVES = ["e2e4", "e2e3", "d2d4", "g1f3", "a7a8q", "a7a8"]


def forever(**params):
    return SamplingParams(max_tokens=1200, ignore_eos=True, **params)


async def until(condition, what):
    for _ in range(12_000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"never: {what}")


def at_rest(engine):
    stats = engine.stats()
    return stats.running == stats.waiting == stats.pages_locked == 0


async def test_the_same_request_gives_the_same_answer_alone_and_in_a_crowd_in_any_configuration(make_engine):
    requests = [
        ([Message("user", "x" * (i * 7 % 50 + 1))], SamplingParams(max_tokens=12, temperature=0.9, seed=i, top_k=20))
        for i in range(12)
    ]
    alone = []
    engine = make_engine()
    for prompt, params in requests:
        alone.append((await engine.generate(prompt, params)).token_ids)
    for settings in (
        {},
        {"prefix_cache": False},
        {"continuous_batching": False},
        {"chunked_prefill": False},
        {"shared_attention": False},
        {"max_batch_tokens": 5},
        {"max_batch": 1},
        {"pages": 10},
    ):
        engine = make_engine(**settings)
        replies = await asyncio.gather(*(engine.generate(*request) for request in requests))
        assert [reply.token_ids for reply in replies] == alone, settings
        if settings == {"pages": 10}:
            assert engine.stats().preemptions > 0


async def test_walking_the_trie_and_one_pass_over_it_choose_alike(make_engine):
    choices = [f"{a}{b}{c}" for a in "abc" for b in "12" for c in "xyz"] + ["a1", "solo", "quiet-a", "quiet-b"]
    walk, tree = make_engine(), make_engine(select="tree")
    for seed in range(12):
        prompt = [Message("user", "y" * (seed % 5))]
        walked = await walk.choose(prompt, choices, temperature=1.3, seed=seed)
        passed = await tree.choose(prompt, choices, temperature=1.3, seed=seed)
        assert (walked.text, walked.probability) == (passed.text, passed.probability)  # to the last bit
        assert passed.usage.passes == 1
        assert walked.decisions == passed.decisions


async def test_a_choice_tells_where_it_could_have_gone_elsewhere(make_engine):
    moves = ["e2e4", "e2e3", "g1f3", "g1h3", "a2a3", "b2b3", "c2c3", "d2d3", "h2h3"]
    engine = make_engine()
    seen = set()
    for seed in range(40):
        reply = await engine.choose(CHAT, moves, temperature=1.5, seed=seed)
        first = reply.decisions[0]
        taken = [decision.options[decision.taken] for decision in reply.decisions]
        assert reply.probability == pytest.approx(math.prod(option.probability for option in taken))
        assert taken[-1].text == reply.text
        assert all(reply.text.startswith(option.text.rstrip("…")) for option in taken)
        assert len(first.options) == 5  # of seven ways
        assert len(reply.decisions) == (2 if reply.text[0] in "eg" else 1)
        seen |= {option.text for option in first.options}
        ranked = [option.probability for option in first.options]
        assert ranked == sorted(ranked, reverse=True)
    assert {"e2e…", "g1…", "a2a3"} <= seen


async def test_bits_do_not_depend_on_the_batch(make_engine):
    params = SamplingParams(max_tokens=8, logprobs=True, ignore_eos=True)
    engine = make_engine()
    alone = await engine.generate(CHAT, params)
    crowd = make_engine(max_batch_tokens=16)
    strangers = [crowd.generate([Message("user", f"stranger {i}" * i)], forever(seed=i)) for i in range(15)]
    tasks = [asyncio.create_task(s) for s in strangers]
    await until(lambda: crowd.stats().running == 15, "15 strangers run")
    mine = await crowd.generate(CHAT, params)
    cached = await crowd.generate(CHAT, params)
    for task in tasks:
        task.cancel()
    assert mine.logprobs == cached.logprobs == alone.logprobs
    assert mine.usage.batch_size == 16
    assert cached.usage.cached_tokens == mine.usage.prompt_tokens


@pytest.mark.parametrize("jump_forward", [True, False])
@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0])
async def test_choose_multiplies_the_renormalised_probabilities_along_the_path(make_engine, jump_forward, temperature):
    engine = make_engine(jump_forward=jump_forward)
    tokenizer = engine.model.tokenizer
    prompt = list(tokenizer.encode_messages(CHAT))
    paths = [list(move.encode()) for move in MOVES]
    paths[MOVES.index("a7a8")].append(tokenizer.end_of_turn_id)

    async def log_probability(prefix, token):
        reply = await engine.score(prompt + prefix, [bytes([token]).decode()]) if token < 256 else None
        return reply.logprobs[0] if reply else None

    seen = set()
    for seed in range(25):
        reply = await engine.choose(CHAT, MOVES, temperature=temperature, seed=seed)
        seen.add(reply.text)
        assert MOVES[reply.index] == reply.text
        assert list(reply.token_ids) == paths[reply.index]
        expected = 1.0
        for depth, token in enumerate(reply.token_ids):
            children = sorted({path[depth] for path in paths if path[:depth] == paths[reply.index][:depth]})
            if len(children) == 1 or any(child >= 256 for child in children):
                continue
            values = [
                (await log_probability(paths[reply.index][:depth], child)) / (temperature or 1) for child in children
            ]
            expected *= math.exp(values[children.index(token)]) / sum(map(math.exp, values))
            if temperature == 0:
                assert token == children[values.index(max(values))]
        if not reply.text.startswith("a7a8"):
            assert reply.probability == pytest.approx(expected, rel=1e-6)
    assert len(seen) == 1 if temperature == 0 else len(seen) > 1


async def test_choose_follows_its_probabilities(make_engine):
    engine = make_engine()
    replies = await asyncio.gather(*(engine.choose(CHAT, MOVES, seed=seed) for seed in range(600)))
    probability = {reply.text: reply.probability for reply in replies}
    assert sum(probability.values()) == pytest.approx(1.0) if len(probability) == len(MOVES) else True
    for move, p in probability.items():
        share = sum(reply.text == move for reply in replies) / len(replies)
        assert share == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / len(replies)) + 1e-9)


async def test_score_adds_up_to_the_probability_of_the_whole_text(make_engine):
    engine = make_engine()
    reply = await engine.score(CHAT, MOVES)
    assert sum(reply.probabilities) == pytest.approx(1.0)
    assert reply.usage.forwarded_tokens < reply.usage.prompt_tokens + sum(map(len, MOVES))
    one_by_one = [await engine.score(CHAT, [move]) for move in MOVES]
    for move, together, alone in zip(MOVES, reply.logprobs, one_by_one, strict=True):
        if move != "a7a8":  # beside a7a8q it ends with the terminator, alone it does not
            assert together == pytest.approx(alone.logprobs[0], abs=1e-9)
    assert reply.logprobs[MOVES.index("a7a8")] < one_by_one[MOVES.index("a7a8")].logprobs[0]


async def test_streamed_pieces_make_up_the_text_and_never_show_a_stop_string(make_engine):
    engine = make_engine()
    params = SamplingParams(max_tokens=60, temperature=1.5, seed=3, ignore_eos=True)
    whole = (await engine.generate(CHAT, params)).text
    pieces = [piece async for piece in engine.stream(CHAT, params)]
    assert "".join(pieces) == whole
    assert len(pieces) > 3
    stop = whole[20:23]
    params = SamplingParams(max_tokens=60, temperature=1.5, seed=3, ignore_eos=True, stop=(stop,))
    reply = await engine.generate(CHAT, params)
    assert reply.text == whole[: whole.index(stop)]
    assert reply.finish_reason is FinishReason.STOP
    assert "".join([piece async for piece in engine.stream(CHAT, params)]) == reply.text


async def test_top_k_one_is_greedy_and_the_seed_used_is_told(make_engine):
    engine = make_engine()
    greedy = await engine.generate(CHAT, SamplingParams(max_tokens=10))
    top_one = await engine.generate(CHAT, SamplingParams(max_tokens=10, temperature=3.0, top_k=1))
    assert top_one.token_ids == greedy.token_ids
    drawn = await engine.generate(CHAT, SamplingParams(max_tokens=10, temperature=1.0))
    again = await engine.generate(CHAT, SamplingParams(max_tokens=10, temperature=1.0, seed=drawn.seed))
    assert again.token_ids == drawn.token_ids
    picked = await engine.choose(CHAT, MOVES)
    assert [(await engine.choose(CHAT, MOVES, seed=picked.seed)).text for _ in range(3)] == [picked.text] * 3


async def test_a_cold_prefix_asked_for_at_once_is_forwarded_once(make_engine):
    engine = make_engine()
    system = Message("system", "The rules are long. " * 50)
    replies = await asyncio.gather(
        *(engine.generate([system, Message("user", f"{i:02}")], SamplingParams(max_tokens=1)) for i in range(32))
    )
    prefix = len(system.content)
    assert prefix == 1000
    assert sum(reply.usage.forwarded_tokens for reply in replies) < prefix + 32 * 40


@pytest.mark.parametrize(
    ("settings", "shows"),
    [
        ({"prefix_cache": False}, lambda on, off: on[1].cached_tokens > off[1].cached_tokens == 0),
        ({"jump_forward": False}, lambda on, off: on[0].passes < off[0].passes),
        ({"chunked_prefill": False}, lambda on, off: on[0].passes > off[0].passes),
        ({"select": "tree"}, lambda on, off: on[0].forwarded_tokens < off[0].forwarded_tokens),
    ],
    ids=["prefix cache", "jump forward", "chunked prefill", "one pass"],
)
async def test_a_switch_changes_what_a_choice_costs_and_not_what_it_is(make_engine, settings, shows):
    moves = ["e2e4e5", "e2e3e4", "d2d4d5", "d2d3d4"]  # two decisions, and forced tokens after each
    prompt = [Message("user", "What now? " * 20)]
    engines = make_engine(), make_engine(**settings)
    on, off = [[await engine.choose(prompt, moves, seed=seed) for seed in (1, 2)] for engine in engines]
    assert [(reply.text, reply.probability) for reply in on] == [(reply.text, reply.probability) for reply in off]
    assert shows([reply.usage for reply in on], [reply.usage for reply in off])


@pytest.mark.parametrize("shared", [True, False])
def test_the_attention_shares_pages_as_the_switch_says(make_engine, shared):
    assert make_engine(shared_attention=shared)._runner.attention.shared is shared


@pytest.mark.parametrize("select", ["walk", "tree"])
async def test_a_choice_computes_the_logits_of_the_tokens_that_it_can_take_and_of_no_others(
    make_engine, monkeypatch, select
):
    engine = make_engine(select=select)
    transformer = engine.model.transformer
    whole, gathered, computed, asked = transformer.logits, transformer.logits_of, [], set()
    monkeypatch.setattr(transformer, "logits", lambda hidden: computed.append(hidden) or whole(hidden))
    monkeypatch.setattr(transformer, "logits_of", lambda row, ids: asked.add(bytes(ids)) or gathered(row, ids))
    for seed in range(12):
        await engine.choose(CHAT, ["e2e4", "e2e3", "d2d4", "g1f3"], temperature=3.0, seed=seed)
    assert not computed
    assert asked - {b""} == {b"deg", b"34"}


async def test_a_step_wakes_an_event_loop_once_however_many_it_answers(make_engine, monkeypatch):
    engine = make_engine()
    loop = asyncio.get_running_loop()
    wake, woken = loop.call_soon_threadsafe, []
    monkeypatch.setattr(loop, "call_soon_threadsafe", lambda *call: woken.append(call) or wake(*call))
    await asyncio.gather(*(engine.generate([i, i], SamplingParams(max_tokens=2, ignore_eos=True)) for i in range(40)))
    assert 1 <= len(woken) <= engine.stats().steps < 40


async def test_an_engine_leaves_the_model_and_torch_as_it_found_them(tiny_model):
    def outside():
        weights = tiny_model.transformer.weights
        matrices = [weights.embedding, weights.norm, *(layer.qkv.weight for layer in weights.layers)]
        return (
            [matrix.clone() for matrix in matrices],
            tiny_model.config,
            torch.get_default_dtype(),
            torch.get_num_threads(),
            torch.is_grad_enabled(),
            torch.get_rng_state().tolist(),
            random.getstate(),
        )

    matrices, *rest = outside()
    async with Engine(EngineConfig(pages=100, threads=1), model=tiny_model) as engine:
        await engine.generate(CHAT, SamplingParams(max_tokens=4, temperature=1.0))
        await engine.choose(CHAT, MOVES)
    after, *others = outside()
    assert others == rest
    assert all(map(torch.equal, matrices, after))


async def test_nonsense_is_refused_with_what_would_be_right(make_engine):
    engine = make_engine()
    for prompt, choices, message in (
        (CHAT, [], "at least one string"),
        (CHAT, "e2e4", "a list of"),
        (CHAT, ["a", "b", "a"], "'a' is there twice"),
        (CHAT, ["a", ""], "choice 1 is empty"),
        ([], ["a", "b"], "the prompt is empty"),
        ("Your move?", ["a", "b"], "not a string"),
        ([999], ["a", "b"], "token id 999 is outside the vocabulary of 258"),
    ):
        with pytest.raises(InvalidRequestError, match=message):
            await engine.choose(prompt, choices)
    with pytest.raises(InvalidRequestError, match="temperature must be a finite number of at least 0, not -1"):
        await engine.choose(CHAT, MOVES, temperature=-1)
    for bad, message in (
        ({"temperature": float("nan")}, "temperature must be a finite number"),
        ({"max_tokens": 0}, "max_tokens must be at least 1, not 0"),
        ({"top_p": 0.0}, r"top_p must lie in \(0, 1\], not 0.0"),
        ({"top_k": -3}, "top_k must be 0"),
        ({"stop": ("",)}, "must not be empty"),
        ({"stop": "END"}, "stop must be a tuple of strings, not 'END'"),
    ):
        with pytest.raises(InvalidRequestError, match=message):
            SamplingParams(**bad)
    assert engine.stats().finished == engine.stats().failed == 0


async def test_what_cannot_fit_fails_at_once_and_alone(make_engine):
    engine = make_engine(pages=10)
    fine = asyncio.create_task(engine.generate(CHAT, SamplingParams(max_tokens=4)))
    with pytest.raises(RequestTooLargeError, match="need 26 KV pages of 8 tokens; the pool has 10 in all"):
        await engine.generate([1] * 200, SamplingParams(max_tokens=4))
    with pytest.raises(RequestTooLargeError, match="exceed the model's context of 4096 tokens"):
        await engine.generate([1] * 4096, SamplingParams(max_tokens=4))
    assert len((await fine).token_ids) <= 4


async def test_a_full_queue_refuses_at_once(make_engine):
    engine = make_engine(max_waiting=2, max_batch=1)
    running = asyncio.create_task(engine.generate(CHAT, forever()))
    await until(lambda: engine.stats().running == 1, "the first runs")
    waiting = [asyncio.create_task(engine.generate(CHAT, forever())) for _ in range(2)]
    await until(lambda: engine.stats().waiting == 2, "two wait")
    with pytest.raises(QueueFullError, match="2 requests wait already; the limit is 2"):
        await engine.generate(CHAT)
    for task in (running, *waiting):
        task.cancel()
    await until(lambda: at_rest(engine), "all pages are back")


async def test_a_request_past_its_time_gets_a_timeout(make_engine):
    engine = make_engine()
    with pytest.raises(RequestTimeoutError, match=r"the limit is 0\.1 s"):
        await engine.generate(CHAT, forever(), timeout_s=0.1)
    await until(lambda: at_rest(engine), "all pages are back")


async def test_cancelling_one_call_returns_its_pages_and_changes_no_other(make_engine):
    engine = make_engine()
    params = SamplingParams(max_tokens=200, temperature=1.0, seed=5, ignore_eos=True)
    expected = (await engine.generate(CHAT, params)).token_ids
    victims = [asyncio.create_task(engine.generate([Message("user", str(i))], forever())) for i in range(5)]
    kept = asyncio.create_task(engine.generate(CHAT, params))
    await until(lambda: engine.stats().running >= 5, "they run")
    for victim in victims:
        victim.cancel()
    assert (await kept).token_ids == expected
    await until(lambda: at_rest(engine), "all pages are back")
    assert engine.stats().cancelled == 5


async def test_an_abandoned_stream_frees_its_pages(make_engine):
    engine = make_engine()

    async def read_one():
        async for piece in engine.stream(CHAT, forever(temperature=1.0, seed=1)):
            return piece
        return None

    assert await read_one()
    gc.collect()
    await until(lambda: at_rest(engine), "all pages are back")


def test_one_engine_serves_event_loops_one_after_the_other(make_engine):
    engine = make_engine()
    first = asyncio.run(engine.generate(CHAT, SamplingParams(max_tokens=5)))
    second = asyncio.run(engine.generate(CHAT, SamplingParams(max_tokens=5)))
    assert first.token_ids == second.token_ids


def test_a_loop_that_is_gone_does_not_disturb_the_engine(make_engine):
    engine = make_engine()

    async def leave():
        task = asyncio.ensure_future(engine.generate(CHAT, forever()))
        await asyncio.sleep(0.05)
        task.cancel()  # and nobody waits for it

    asyncio.run(leave())
    assert asyncio.run(engine.generate(CHAT, SamplingParams(max_tokens=5))).token_ids


async def test_closing_frees_the_kv_memory_at_once_whoever_holds_on_to_a_runner(tiny_model):
    held = []
    async with Engine(EngineConfig(pages=4), model=tiny_model, wrap_runner=lambda r: held.append(r) or r) as engine:
        await engine.generate(CHAT, SamplingParams(max_tokens=1))
        cache = weakref.ref(held[0].cache)
        assert cache() is not None
    assert cache() is None


async def test_closing_answers_everyone_and_leaves_no_thread(tiny_model):
    engine = Engine(EngineConfig(kv_memory_mb=8, max_batch=2), model=tiny_model)
    engine.start()
    tasks = [asyncio.create_task(engine.generate(CHAT, forever())) for _ in range(6)]
    await until(lambda: engine.stats().running == 2, "two run")
    await asyncio.to_thread(engine.close)
    for task in tasks:
        with pytest.raises(EngineClosedError):
            await task
    assert "inference-engine" not in [thread.name for thread in threading.enumerate()]
    with pytest.raises(EngineClosedError):
        await engine.generate(CHAT)
    engine.start()
    assert (await engine.generate(CHAT, SamplingParams(max_tokens=3))).token_ids
    engine.close()
    engine.close()


async def test_an_engine_started_again_has_an_empty_line(tiny_model):
    engine = Engine(EngineConfig(pages=1000, page_size=8, max_batch=1, max_waiting=2), model=tiny_model)
    engine.start()
    running = asyncio.create_task(engine.generate(CHAT, forever()))
    await until(lambda: engine.stats().running == 1, "the first runs")
    waiting = [asyncio.create_task(engine.generate(CHAT, forever())) for _ in range(2)]
    await until(lambda: engine.stats().waiting == 2, "two wait")
    await asyncio.to_thread(engine.close)
    await asyncio.gather(running, *waiting, return_exceptions=True)
    assert engine.stats().waiting == engine.stats().running == engine.stats().pages_locked == 0
    engine.start()
    assert (await engine.generate(CHAT, SamplingParams(max_tokens=3))).token_ids
    engine.close()


async def test_an_engine_says_whether_it_is_alive(tiny_model):
    engine = Engine(EngineConfig(pages=100), model=tiny_model)
    assert not engine.alive
    engine.start()
    assert engine.alive
    engine.close()
    assert not engine.alive


@pytest.mark.parametrize("where", ["add", "cancel", "step", "stats"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_fault_anywhere_in_the_step_loop_leaves_nobody_waiting(make_engine, monkeypatch, where):
    engine = make_engine(max_batch=1)
    tasks = [asyncio.create_task(engine.generate(CHAT, forever())) for _ in range(3)]
    await until(lambda: engine.stats().waiting == 2, "two wait")
    monkeypatch.setattr(type(engine._core), where, lambda *_: 1 / 0)
    tasks.append(asyncio.create_task(engine.generate(CHAT, forever())))
    await asyncio.sleep(0)
    tasks.pop(1).cancel()
    for result in await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 120):
        assert isinstance(result, (EngineFailedError, EngineClosedError))
    await until(lambda: not engine.alive, "the worker ends")
    with pytest.raises(EngineClosedError):
        await engine.generate(CHAT)


async def test_a_score_keeps_its_time_limit(make_engine, monkeypatch):
    engine = make_engine(max_batch_tokens=16)
    run = engine._core.runner.run
    monkeypatch.setattr(engine._core.runner, "run", lambda *step: time.sleep(0.15) or run(*step))
    with pytest.raises(RequestTimeoutError):
        await engine.score(CHAT, ["abcdefghij", "abcdefghik"], timeout_s=0.1)


async def test_two_engines_in_one_process_do_not_mix(make_engine, tiny_model):
    a, b = make_engine(), make_engine(prefix_cache=False)
    params = SamplingParams(max_tokens=20, temperature=1.0, seed=9, ignore_eos=True)
    both = await asyncio.gather(*(engine.generate(CHAT, params) for engine in (a, b, a, b)))
    assert len({reply.token_ids for reply in both}) == 1


async def test_a_failing_forward_pass_reaches_its_caller_and_the_engine_goes_on(make_engine, monkeypatch):
    engine = make_engine()
    with monkeypatch.context() as patch:
        patch.setattr(engine._core.runner, "run", lambda *_: 1 / 0)
        with pytest.raises(EngineFailedError, match="division by zero") as caught:
            await engine.generate(CHAT)
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert (await engine.generate(CHAT, SamplingParams(max_tokens=2))).token_ids


async def test_logits_that_are_not_finite_fail_the_request_alone(make_engine, monkeypatch):
    engine = make_engine()
    run = engine._core.runner.run
    poisoned = 77

    def poison(operations, plan):
        states = run(operations, plan)
        deciding = [rows for rows in plan if rows.decides and rows.state is None]
        return [
            torch.full_like(state, torch.nan) if poisoned in rows.sequence.tokens else state
            for rows, state in zip(deciding, states, strict=True)
        ]

    monkeypatch.setattr(engine._core.runner, "run", poison)
    good = asyncio.create_task(engine.generate([1, 2, 3], SamplingParams(max_tokens=3)))
    with pytest.raises(EngineFailedError, match="not finite"):
        await engine.generate([1, 2, poisoned])
    assert (await good).token_ids


def test_an_engine_that_was_not_started_says_so(tiny_model):
    engine = Engine(model=tiny_model)
    with pytest.raises(EngineClosedError, match="not running"):
        asyncio.run(engine.generate(CHAT))
    with pytest.raises(ValueError, match="page_size must be at least 1, not 0"):
        EngineConfig(page_size=0)


async def test_times_and_counts_of_a_reply_add_up(make_engine):
    engine = make_engine()
    reply = await engine.generate(CHAT, SamplingParams(max_tokens=10, ignore_eos=True))
    timing, usage = reply.timing, reply.usage
    assert timing.total_ms == pytest.approx(timing.queue_ms + timing.prefill_ms + timing.decode_ms)
    assert timing.ttft_ms == pytest.approx(timing.queue_ms + timing.prefill_ms)
    assert usage.generated_tokens == 10
    assert usage.forwarded_tokens == usage.prompt_tokens + 9
    again = (await engine.generate(CHAT, SamplingParams(max_tokens=10, ignore_eos=True))).usage
    assert (again.cached_tokens, again.forwarded_tokens) == (usage.prompt_tokens, 0)
    stats = engine.stats()
    assert stats.forwarded_tokens == usage.forwarded_tokens + again.forwarded_tokens
    assert stats.hit_rate == 0.5


def test_small_and_big_page_sizes_give_the_same_tokens(make_engine):
    params = SamplingParams(max_tokens=30, temperature=0.8, seed=2, ignore_eos=True)
    tokens = {
        size: asyncio.run(make_engine(page_size=size, pages=4000 // size).generate(CHAT, params)).token_ids
        for size in (1, 7, 64)
    }
    assert all(a == b for a, b in itertools.pairwise(tokens.values()))
