"""The core on a simulated model: thousands of steps with preemption, eviction and cancellation in seconds.

The simulated KV of a token is a hash of all tokens up to it. So the simulation notices at once when a page holds
anything but what its owner believes, and every answer has one right value, computable without any engine.
"""

import random
from collections import Counter
from functools import cache

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inference.choices import ChoiceTrie
from inference.core import EngineCore, Limits, Request
from inference.deciders import ChoiceDecider, GenerateDecider, ScoreDecider
from inference.errors import EngineFailedError, RequestTimeoutError, RequestTooLargeError
from inference.radix import ClearPage
from inference.scheduler import MAX_OVERTAKEN, Scheduler, SchedulerConfig
from inference.types import SamplingParams

VOCAB = 12
END = 0


class Letters:
    eos_ids = frozenset({END})

    def decode(self, ids):
        return "".join("abcdefghijkl"[i] for i in ids)


def chain(state, token):
    return hash((state, token))


@cache
def logits_of(state):
    return torch.randn(VOCAB, generator=torch.Generator().manual_seed(state & 0xFFFFFFFF))


def select(logits, targets):
    if targets is None:
        return logits
    return (torch.log_softmax(logits, 0) if targets.normalised else logits)[list(targets.tokens)]


def tree_states(state, tree):
    states = []
    for row in tree:
        states.append(chain(state if row.parent < 0 else states[row.parent], row.token))
    return states


class SimulatedModel:
    """A StepRunner whose pages hold hashes, and which checks every page that a step reads."""

    def __init__(self, pages, page_size):
        self.page_size = page_size
        self.kv = [[None] * page_size for _ in range(pages + 1)]
        self.computed = Counter()  # how often each prefix was forwarded
        self.fail_next = False

    def run(self, operations, plan):
        if self.fail_next:
            self.fail_next = False
            raise RuntimeError("no luck")
        for operation in operations:
            if isinstance(operation, ClearPage):
                self.kv[operation.page] = [None] * self.page_size
            else:
                kept = self.kv[operation.source][: operation.tokens]
                self.kv[operation.target] = kept + [None] * (self.page_size - operation.tokens)
        outputs = []
        for rows in plan:
            pages = rows.sequence.branch.pages
            state = 0
            for position, token in enumerate(rows.sequence.tokens[: rows.start + rows.count]):
                page, offset = pages[position // self.page_size], position % self.page_size
                state = chain(state, token)
                if position >= rows.start:
                    assert self.kv[page][offset] is None, "a token is written twice"
                    self.kv[page][offset] = state
                    self.computed[state] += 1
                else:
                    assert self.kv[page][offset] == state, "a page does not hold its owner's tokens"
            if rows.decides and rows.state is None:
                outputs.append(state)
            outputs += tree_states(state, rows.tree)
        return outputs

    def logits(self, states, targets):
        return [select(logits_of(state), wanted) for state, wanted in zip(states, targets, strict=True)]


def answer_alone(prompt, decider):
    """What any engine must say: one request, no cache, no batch."""
    verdict = decider.opening()
    tokens = [*prompt, *verdict.append]
    while verdict.finish is None:
        state = 0
        for token in tokens:
            state = chain(state, token)
        below = zip(tree_states(state, decider.tree), decider.tree_targets, strict=True)
        verdict = decider.decide(
            select(logits_of(state), decider.targets), [select(logits_of(s), wanted) for s, wanted in below]
        )
        tokens += verdict.append
    return result_of(decider)


def result_of(decider):
    if isinstance(decider, ScoreDecider):
        return tuple(decider.logprobs)
    if isinstance(decider, ChoiceDecider):
        return (decider.node.choice, tuple(decider.path), decider.probability)
    return (decider.text, tuple(decider.token_ids), decider.finish_reason)


def generation(seed=0, max_tokens=6, **params):
    return GenerateDecider(SamplingParams(max_tokens=max_tokens, **params), seed, Letters())


CHOICES = [(1, 2), (1, 2, 3), (1, 3), (4,), (5, 6, 7, 8), (5, 6, 7, 9)]


def choice(seed=0, temperature=1.0, jump_forward=True, one_pass=False):
    trie = ChoiceTrie.build(CHOICES, END)
    names = [str(c) for c in CHOICES]
    return ChoiceDecider(names, trie, temperature=temperature, seed=seed, jump_forward=jump_forward, one_pass=one_pass)


def score():
    return ScoreDecider(ChoiceTrie.build(CHOICES, END), len(CHOICES))


class World:
    """A core on a simulated model, and the answers that came out of it."""

    def __init__(self, pages=40, page_size=4, context_length=500, clock=None, prefix_cache=True, **config):
        self.model = SimulatedModel(pages, page_size)
        if not prefix_cache:
            config["share_cold_prefixes"] = False
        self.core = EngineCore(
            self.model,
            pages,
            page_size,
            context_length,
            SchedulerConfig(**config),
            prefix_cache,
            **({"clock": clock} if clock else {}),
        )
        self.answers = {}
        self.errors = {}

    def submit(self, prompt, decider, **limits):
        request = Request(list(prompt), decider, self._done, **limits)
        self.core.add(request)
        return request

    def _done(self, request, error):
        assert request not in self.answers
        assert request not in self.errors
        if error is None:
            self.answers[request] = result_of(request.decider)
        else:
            self.errors[request] = error

    def step(self):
        before = self.core.metrics.steps
        had_work = self.core.has_work
        done = len(self.answers) + len(self.errors)
        self.core.step()
        self.core.check_invariants()
        if had_work:  # progress: something was computed, or something ended
            assert self.core.metrics.steps > before or len(self.answers) + len(self.errors) > done

    def run(self):
        steps = 0
        while self.core.has_work:
            self.step()
            steps += 1
            assert steps < 10_000, "no end in sight"
        assert self.core.cache.locked == 0
        return steps


@pytest.mark.parametrize("prefix_cache", [True, False])
@pytest.mark.parametrize("continuous_batching", [True, False])
@pytest.mark.parametrize("chunked_prefill", [True, False])
def test_every_answer_equals_the_answer_alone_through_thousands_of_random_steps(
    prefix_cache, continuous_batching, chunked_prefill
):
    rng = random.Random(f"{prefix_cache}{continuous_batching}{chunked_prefill}")
    world = World(
        pages=24,
        max_batch_tokens=10 if chunked_prefill else 40,
        max_running=7,
        prefix_cache=prefix_cache,
        continuous_batching=continuous_batching,
        chunked_prefill=chunked_prefill,
    )
    stems = [[rng.randrange(VOCAB) for _ in range(rng.randrange(4, 40))] for _ in range(6)]
    twins, requests, cancelled = {}, [], set()
    for _ in range(1500):
        if rng.random() < 0.35 and len(requests) - len(world.answers) - len(cancelled) < 12:
            stem = rng.choice(stems)
            prompt = stem[: rng.randrange(1, len(stem) + 1)] + [rng.randrange(VOCAB) for _ in range(rng.randrange(9))]
            seed, temperature = rng.randrange(1000), rng.choice([0.0, 0.7, 1.5])
            kind = rng.random()
            if kind < 0.4:
                one_pass = kind < 0.15
                make = lambda s=seed, t=temperature, o=one_pass: choice(s, t, one_pass=o)  # noqa: E731
            elif kind < 0.5:
                make = score
            else:
                n = rng.randrange(1, 45)
                make = lambda s=seed, t=temperature, n=n: generation(s, n, temperature=t, ignore_eos=n > 15)  # noqa: E731
            request = world.submit(prompt, make())
            requests.append(request)
            twins[request] = (prompt, make)
        if rng.random() < 0.05 and requests:
            victim = rng.choice(requests)
            if not victim.done:
                world.core.cancel(victim)
                world.core.check_invariants()
                cancelled.add(victim)
        if world.core.has_work:
            world.step()
    world.run()
    assert not world.errors
    assert cancelled
    assert len(world.answers) == len(requests) - len(cancelled) > 140
    for request, got in world.answers.items():
        prompt, make = twins[request]
        assert got == answer_alone(prompt, make())
    stats = world.core.stats()
    assert stats.preemptions > 0, "the pool was meant to run out"
    if prefix_cache:
        assert stats.evicted_pages > 0, "the cache was meant to overflow"
        assert stats.cached_tokens > 0


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    actions=st.lists(
        st.one_of(
            st.tuples(st.just("submit"), st.integers(0, 5), st.integers(1, 30), st.integers(1, 8)),
            st.tuples(st.just("cancel"), st.integers(0, 30)),
            st.tuples(st.just("step")),
            st.tuples(st.just("fail")),
        ),
        max_size=60,
    ),
    pages=st.integers(10, 16),
    page_size=st.integers(1, 5),
    budget=st.integers(1, 12),
)
def test_no_sequence_of_calls_breaks_an_invariant(actions, pages, page_size, budget):
    world = World(pages=pages * 5 // page_size, page_size=page_size, max_batch_tokens=budget, max_running=5)
    requests = []
    for action in actions:
        match action:
            case ("submit", stem, length, new):
                requests.append(
                    world.submit([(stem * 7 + i // 3) % VOCAB for i in range(length)], generation(stem, new))
                )
            case ("cancel", which) if requests:
                world.core.cancel(requests[which % len(requests)])
            case ("step",):
                world.step()
            case ("fail",) if world.core.has_work:
                world.model.fail_next = True
                world.step()
        world.core.check_invariants()
    world.model.fail_next = False
    world.run()
    for request, got in world.answers.items():
        assert got == answer_alone(request.prompt, generation(request.decider.seed, request.decider.max_new_tokens))
    assert all(isinstance(error, EngineFailedError) for error in world.errors.values())


def test_cold_requests_with_one_prefix_compute_it_once():
    world = World(pages=400, page_size=16, context_length=2000, max_batch_tokens=256)
    prefix = [i * 5 % VOCAB for i in range(1000)]
    for i in range(32):
        world.submit([*prefix, i % VOCAB, i // VOCAB, 1], generation(i, 3))
    world.run()
    assert len(world.answers) == 32
    assert max(world.model.computed.values()) == 1
    stats = world.core.stats()
    assert stats.forwarded_tokens <= 1000 + 32 * (3 + 2)
    assert stats.preemptions == 0


def test_equal_prompts_are_computed_once():
    world = World(page_size=4)
    for _ in range(3):
        for _ in range(5):
            world.submit(range(12), generation(max_tokens=1))
        world.run()
    assert world.core.stats().forwarded_tokens == 12


@pytest.mark.parametrize("budget", [3, 6, 40])
def test_one_pass_over_the_trie_makes_the_choice_of_the_walk_and_leaves_nothing_behind(budget):
    seeds = range(30)
    walked, passed = (World(pages=200, max_batch_tokens=budget) for _ in range(2))
    for seed in seeds:
        walked.submit([1, 2, 3, seed % 4], choice(seed))
        request = passed.submit([1, 2, 3, seed % 4], choice(seed, one_pass=True))
    walked.run()
    passed.run()
    assert list(passed.answers.values()) != []
    assert sorted(passed.answers.values()) == sorted(walked.answers.values())
    assert request.usage().passes == 1
    assert passed.core.cache.cached == 4  # pages: one a prompt


def test_answers_that_agree_so_far_are_computed_once():
    world = World(page_size=4, pages=200)
    for seed in range(12):
        world.submit(range(10), choice(seed, temperature=5.0))
    world.run()
    assert len({answer[0] for answer in world.answers.values()}) > 3
    assert max(world.model.computed.values()) == 1


@pytest.mark.parametrize("length", [1, 3, 4, 5, 8])
def test_a_prompt_repeated_exactly_gives_the_same_answer_at_every_page_border(length):
    world = World(page_size=4)
    first = world.submit(range(length), generation(ignore_eos=True))
    world.run()
    again = world.submit(range(length), generation(ignore_eos=True))
    world.run()
    assert world.answers[first] == world.answers[again]
    assert again.usage().cached_tokens == length
    assert again.usage().forwarded_tokens == 0


@pytest.mark.parametrize(
    "make",
    [lambda: generation(max_tokens=1), choice, lambda: choice(one_pass=True), score],
    ids=["generation", "walk", "one pass", "score"],
)
@pytest.mark.parametrize("length", [1, 3, 4, 5, 7, 8, 9])
def test_the_beginning_of_a_cached_prompt_is_answered_from_its_last_token(length, make):
    world = World(page_size=4)
    world.submit(range(10), generation(max_tokens=1))
    world.run()
    shorter = world.submit(range(length), make())
    world.step()
    assert shorter.usage().cached_tokens == length - 1
    assert shorter.usage().forwarded_tokens == 1 + len(shorter.decider.tree)
    world.run()
    assert world.answers[shorter] == answer_alone(range(length), make())


@pytest.mark.parametrize("after_steps", range(12))
def test_a_request_cancelled_in_any_state_returns_its_pages_and_changes_nobody(after_steps):
    world = World(pages=12, max_batch_tokens=4, max_running=3)
    keep = [world.submit([1, 2, 3, 4, 5, i], generation(i, 8, ignore_eos=True)) for i in range(3)]
    victim = world.submit([1, 2, 3, 4, 5, 6, 7], generation(9, 8, ignore_eos=True))
    for _ in range(after_steps):
        world.step()
    world.core.cancel(victim)
    world.core.cancel(victim)
    world.core.check_invariants()
    world.run()
    assert victim not in world.answers
    for i, request in enumerate(keep):
        assert world.answers[request] == answer_alone(request.prompt, generation(i, 8, ignore_eos=True))


def test_cancelling_any_request_at_any_step_leaves_the_others_their_answers():
    def crowd():
        """Seven requests of all kinds on a pool that is too small for them; two of them have to wait at first."""
        world = World(pages=9, max_batch_tokens=8, max_running=5)
        prompts = [[1, 2, 3, 4, i] for i in range(6)]
        kinds = [
            lambda: generation(0, 14, ignore_eos=True),
            choice,
            lambda: generation(2, 14, ignore_eos=True),
            score,
            lambda: choice(4, one_pass=True),
            lambda: generation(5, 14, ignore_eos=True),
        ]
        prompts.append([7] * 8)
        kinds.append(lambda: generation(6, 3))
        twins = list(zip(prompts, kinds, strict=True))
        return world, [world.submit(prompt, make()) for prompt, make in twins], twins

    def state(request):
        if request.sequence.branch is None:
            return "preempted" if request.sequence.preemptions else "waiting"
        return "prefilling" if request.sequence.pending > 1 else "decoding"

    whole, _, twins = crowd()
    right = [answer_alone(prompt, make()) for prompt, make in twins]
    met = set()
    for steps in range(whole.run()):
        for index in range(len(twins)):
            world, requests, _ = crowd()
            for _ in range(steps):
                world.step()
            victim = requests[index]
            if victim.done:
                continue
            met.add(state(victim))
            world.core.cancel(victim)
            world.core.check_invariants()
            world.run()
            assert [world.answers.get(request) for request in requests] == [
                None if request is victim else answer for request, answer in zip(requests, right, strict=True)
            ]
    assert met == {"waiting", "prefilling", "decoding", "preempted"}


@pytest.mark.parametrize("steps", range(5))
def test_a_prompt_cancelled_between_its_chunks_is_computed_no_further_and_what_was_computed_is_used(steps):
    world = World(max_batch_tokens=8)
    victim = world.submit([i * 5 % VOCAB for i in range(40)], generation())
    for _ in range(steps):
        world.step()
    world.core.cancel(victim)
    again = world.submit([*victim.prompt, 7], generation())
    assert world.model.computed.total() == 8 * steps
    world.run()
    assert again.usage().cached_tokens == 8 * steps
    assert max(world.model.computed.values()) == 1
    assert world.answers[again] == answer_alone(again.prompt, generation())


def test_a_request_cancelled_before_it_starts_computes_nothing():
    world = World()
    world.core.cancel(world.submit(range(20), generation()))
    world.step()
    assert not world.model.computed


def test_a_failed_step_fails_its_requests_and_the_next_ones_are_right():
    world = World(max_running=1)
    first, second = world.submit(range(9), generation()), world.submit(range(9), generation())
    world.step()
    world.model.fail_next = True
    world.step()
    assert isinstance(world.errors[first].__cause__, RuntimeError)
    world.run()
    assert world.answers[second] == answer_alone(range(9), generation())


def test_what_can_never_fit_fails_alone_and_says_the_numbers():
    world = World(pages=5, page_size=4, context_length=30)
    fine = world.submit(range(8), generation())
    pool = world.submit([1] * 18, generation(max_tokens=3))
    context = world.submit([1] * 30, generation(max_tokens=1))
    world.run()
    assert fine in world.answers
    assert isinstance(world.errors[pool], RequestTooLargeError)
    assert str(world.errors[pool]) == (
        "18 prompt tokens and up to 3 new ones need 6 KV pages of 4 tokens; the pool has 5 in all"
    )
    assert str(world.errors[context]) == "30 prompt tokens and up to 1 new ones exceed the model's context of 30 tokens"


def test_the_largest_request_that_fits_runs_to_its_end_beside_others():
    world = World(pages=5, page_size=4)
    small = [world.submit([i, 1, 2], generation(i, 4)) for i in range(4)]
    large = world.submit([7] * 12, generation(1, 8, ignore_eos=True))
    world.run()
    assert {*small, large} == set(world.answers)


def test_requests_that_wait_or_run_too_long_are_told_so():
    now = [0.0]
    world = World(max_running=1, clock=lambda: now[0])
    running = world.submit(range(3), generation(max_tokens=50, ignore_eos=True), limits=Limits(total_s=5.0))
    waiting = world.submit(range(3), generation(), limits=Limits(wait_s=2.0))
    world.step()
    now[0] = 3.0
    world.step()
    assert isinstance(world.errors[waiting], RequestTimeoutError)
    assert "the limit is 2 s" in str(world.errors[waiting])
    now[0] = 6.0
    world.step()
    assert "took 6.0 s; the limit is 5 s" in str(world.errors[running])
    assert not world.core.has_work


def test_decoding_goes_on_while_a_long_prompt_is_computed():
    world = World(pages=100, max_batch_tokens=8, context_length=1000)
    short = world.submit([1], generation(0, 10, ignore_eos=True))
    world.step()
    world.submit([2] * 200, generation())
    for _ in range(9):
        world.step()
    assert short in world.answers


def test_a_static_batch_runs_until_its_longest_member_is_done():
    def steps_until(continuous):
        world = World(pages=200, max_running=2, continuous_batching=continuous)
        world.submit([1], generation(0, 1))
        world.submit([2], generation(0, 9, ignore_eos=True))
        third = world.submit([3], generation(0, 1))
        steps = 0
        while third not in world.answers:
            world.step()
            steps += 1
        return steps

    assert (steps_until(True), steps_until(False)) == (2, 10)


def test_forced_tokens_take_no_step_of_their_own_and_change_no_choice():
    saved = 0
    for seed in range(20):
        fast, slow = World(), World()
        a = fast.submit(range(5), choice(seed))
        b = slow.submit(range(5), choice(seed, jump_forward=False))
        fast_steps, slow_steps = fast.run(), slow.run()
        assert fast.answers[a] == slow.answers[b]
        assert fast_steps <= slow_steps
        assert slow_steps == len(slow.answers[b][1])
        saved += slow_steps - fast_steps
    assert saved > 0


def test_a_single_choice_needs_no_model():
    world = World()
    trie = ChoiceTrie.build([(3, 4, 5)], END)
    request = world.submit(range(5), ChoiceDecider(["x"], trie, temperature=1.0, seed=0, jump_forward=True))
    assert world.answers[request] == (0, (3, 4, 5), 1.0)
    assert not world.core.has_work


def test_cached_tokens_are_counted_once_whatever_happens_to_the_request():
    world = World(pages=8, page_size=4, max_batch_tokens=8)
    for i in range(5):
        world.submit([1, 2, 3, 4, i, i], generation(i, 14, ignore_eos=True))
    world.run()
    stats = world.core.stats()
    assert stats.preemptions > 0
    assert stats.prompt_tokens == 5 * 6
    assert stats.cached_tokens <= 4 * 4


def test_a_request_that_waits_for_pages_disturbs_nothing_meanwhile():
    world = World(pages=8, page_size=4, max_batch_tokens=64)
    prompt = [1, 2, 3, 4, 5, 6]
    world.submit(prompt, generation(max_tokens=1))
    world.run()  # two pages are cached, the second of them half full
    world.submit([9] * 9, generation(max_tokens=8, ignore_eos=True))
    world.step()
    late = world.submit([*prompt[:5], *[8] * 20], generation())
    stats = world.core.stats()
    for _ in range(3):
        world.step()
        assert late.sequence in world.core.scheduler.waiting
    assert world.core.stats().evicted_pages == stats.evicted_pages == 0
    assert world.core.stats().pages_cached == stats.pages_cached == 2
    world.run()
    assert world.answers[late] == answer_alone(late.prompt, generation())


def test_a_prompt_short_of_pages_is_not_overtaken_for_ever_by_small_requests():
    world = World(pages=22, page_size=4, max_batch_tokens=40, max_running=50)
    fed = 0

    def feed():  # three small ones always wait
        nonlocal fed
        while len(world.core.scheduler.waiting) < 4:
            fed += 1
            world.submit([fed % VOCAB, fed // VOCAB % VOCAB], generation(fed, 2 + fed % 2, ignore_eos=True))

    for i in range(2):
        world.submit([i, i], generation(i, 8 + 4 * i, ignore_eos=True))
    world.step()
    large = world.submit([11] * 80, generation())
    for _ in range(200):
        if large in world.answers:
            break
        feed()
        world.step()
    assert large in world.answers
    assert 1 < large.sequence.overtaken <= MAX_OVERTAKEN + fed
    assert large.usage().preemptions == 0


def test_a_run_of_forced_tokens_that_finds_no_room_in_a_step_is_not_overtaken_for_ever():
    world = World(pages=400, max_batch_tokens=4, chunked_prefill=False)
    decider = next(d for seed in range(99) if answer_alone([1, 2], d := choice(seed))[0] in (4, 5))
    walker = world.submit([1, 2], choice(decider.seed))
    for i in range(80):
        while len(world.core.scheduler.waiting) < 3:
            world.submit([i % VOCAB], generation(i, 3, ignore_eos=True))
        world.step()
        if walker in world.answers:
            return
    raise AssertionError("overtaken for ever")


def test_tokens_generated_are_counted_alike_for_a_request_and_for_the_engine():
    world = World()
    requests = [world.submit([i, 1], choice(i)) for i in range(10)]
    requests += [world.submit([i, 2], generation(i)) for i in range(10)]
    forced = ChoiceTrie.build([(3, 4, 5), (3, 4, 6)], END)
    single = ChoiceTrie.build([(3, 4)], END)
    for trie in (forced, single):
        decider = ChoiceDecider(["x", "y"], trie, temperature=1.0, seed=0, jump_forward=True)
        requests.append(world.submit([7], decider))
    world.run()
    assert world.core.stats().generated_tokens == sum(request.usage().generated_tokens for request in requests)


def test_games_with_append_only_histories_keep_few_pages():
    world = World(pages=600, page_size=8, context_length=1000, max_batch_tokens=64)
    system = [i * 7 % VOCAB for i in range(30)]
    histories = [[game % VOCAB, game // VOCAB] for game in range(16)]
    for ply in range(30):
        for history in histories:
            world.submit([*system, *history], generation(max_tokens=1))
            history += [ply % VOCAB, 3]
        world.run()
    # 3 pages of the system prompt; what a game's last prompt holds beyond them, and nothing of the earlier ones.
    assert world.core.stats().pages_cached <= 3 + 16 * -(-(30 - 24 + len(histories[0])) // 8)


def test_in_a_closed_loop_with_too_few_pages_most_of_what_fits_is_found():
    games, private, shared = 12, 3, 2
    world = World(pages=shared + 6 * private + 4, page_size=4, context_length=1000, max_batch_tokens=8, max_running=2)
    system = [i * 7 % VOCAB for i in range(shared * 4)]
    prompts = [[*system, game % VOCAB, game // VOCAB, *range(9)] for game in range(games)]
    waiting = [world.submit(prompt, generation(game, 1)) for game, prompt in enumerate(prompts)]
    forwarded = []
    for _ in range(6):  # rounds: each asks again as soon as it is answered, and so is the last in line
        before = world.core.stats().forwarded_tokens
        for game in range(games):
            while not waiting[game].done:
                world.step()
            waiting[game] = world.submit([*prompts[game], len(forwarded) % VOCAB], generation(game, 1))
        forwarded.append(world.core.stats().forwarded_tokens - before)
    world.run()
    everything = games * (private * 4)
    assert forwarded[0] >= everything - private * 4
    assert max(forwarded[2:]) < everything * 2 / 3, "by the time of use alone it would be everything, in every round"


def test_a_request_that_is_cancelled_keeps_nothing_in_the_cache():
    world = World(pages=4, page_size=4, max_running=1)
    world.submit([1] * 4, generation(max_tokens=1))
    world.run()
    world.submit([2] * 4, generation(max_tokens=1))
    world.run()
    running = world.submit([3] * 4, generation(max_tokens=9))
    world.step()
    waiting = world.submit([1] * 5, generation(max_tokens=1))
    world.core.cancel(waiting)
    world.core.cancel(running)
    for token in (4, 5, 6):
        world.submit([token] * 8, generation(max_tokens=1))
        world.run()
    assert world.core.cache.match([1] * 4).length == 0


# --- order and admission --------------------------------------------------------------------------------------------


def finishing_order(world, submitted):
    """The names of requests in the order in which they were done."""
    order = []
    while world.core.has_work:
        world.step()
        order += [name for name, request in submitted.items() if request.done and name not in order]
    return order


def test_a_request_whose_prefix_is_cached_overtakes_a_cold_one_and_is_overtaken_no_more_than_that():
    world = World(pages=400, page_size=4, max_batch_tokens=8, max_running=1)
    world.submit([1] * 40, generation(max_tokens=1))
    world.run()
    submitted = {"cold": world.submit([2] * 60, generation(max_tokens=1))}
    for i in range(30):  # each needs two tokens: some 30 of work come before what the cold one needs
        submitted[f"cached {i}"] = world.submit([1] * 40 + [3, i % VOCAB, i // VOCAB][: 1 + i % 3], generation(i, 1))
    world.step()
    order = finishing_order(world, submitted)
    assert order[0].startswith("cached")
    later = World(pages=400, page_size=4, max_batch_tokens=8, max_running=1)
    cold = later.submit([2] * 60, generation(max_tokens=1))
    for steps in range(200):  # a new short request at every step: the cold one is served all the same
        later.submit([steps % VOCAB, steps // VOCAB % VOCAB, 5], generation(steps, 1))
        later.step()
        if cold.done:
            break
    assert cold.done
    assert steps < 60


def test_a_short_prompt_does_not_wait_for_the_rest_of_a_long_one():
    world = World(pages=2000, max_batch_tokens=64, context_length=1000)
    long = [world.submit([i, *[(i * 7 + j) % VOCAB for j in range(600)]], generation(i, 1)) for i in range(8)]
    world.step()
    for number in range(3):
        short = world.submit([9, number, *[9] * 5], generation(max_tokens=1))
        world.step()
        assert short.done
    assert not any(request.done for request in long)
    world.run()
    assert all(request.usage().preemptions == 0 for request in long)
    assert max(world.model.computed.values()) == 1


def test_what_is_about_to_run_out_of_time_goes_first():
    now = 0.0
    world = World(pages=400, max_batch_tokens=8, max_running=1, clock=lambda: now)
    submitted = {
        "patient": world.submit([1] * 8, generation(max_tokens=2), limits=Limits(total_s=100.0)),
        "early": world.submit([2] * 9, generation(max_tokens=2), limits=Limits(total_s=100.0)),
        "urgent": world.submit([3] * 30, generation(max_tokens=2), limits=Limits(total_s=0.9)),
    }
    assert finishing_order(world, submitted)[0] == "urgent"


def test_a_preemption_gives_pages_back(monkeypatch):
    gained = []
    preempt = Scheduler._preempt

    def watched(scheduler, sequence):
        before = scheduler.cache.available
        preempt(scheduler, sequence)
        gained.append(scheduler.cache.available - before)

    monkeypatch.setattr(Scheduler, "_preempt", watched)
    rng = random.Random(0)
    for _ in range(8):
        world = World(pages=12, max_batch_tokens=16, max_running=10)
        for _ in range(40):  # many of them have all their pages in common with others
            prompt = [1] * rng.choice([4, 8]) + [rng.randrange(3)] * rng.choice([0, 0, 4])
            decider = generation(rng.randrange(3), rng.randrange(1, 30), temperature=1.0, ignore_eos=True)
            world.submit(prompt, decider)
            world.step()
        world.run()
    assert len(gained) > 50
    assert min(gained) > 0


def test_choices_are_never_preempted_however_short_of_pages_the_pool_is():
    world = World(pages=24, page_size=4, max_batch_tokens=16, max_running=50)
    for seed in range(60):
        world.submit([seed % 5, *range(6), seed % 7, seed % 11], choice(seed))
    world.run()
    assert len(world.answers) == 60
    assert world.core.stats().preemptions == 0
    assert world.core.cache.evictions > 0


def test_prefixes_of_several_groups_are_each_computed_once_in_one_mixed_crowd():
    world = World(pages=400, page_size=4, max_batch_tokens=64, max_running=64)
    for i in range(32):
        world.submit([i % 4] * 20 + [i // 4, i % 4], generation(i, 1))
    world.run()
    assert max(world.model.computed.values()) == 1
    assert world.core.stats().forwarded_tokens <= 4 * 20 + 32 * 2
