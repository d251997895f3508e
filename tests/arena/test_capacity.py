"""The plan, on values worked out by hand, and against the cache that has to keep it."""

import pytest

from arena.capacity import MIB, Context, Flow, Pool, paged, reserved, shared_once, worth
from inference.kv_pool import OutOfPages, PagePool
from inference.radix import PrefixCache

CONTEXT = Context(shared=20, own=30)


def test_a_reserved_context_takes_its_whole_length():
    layout = reserved(CONTEXT, context_length=200)
    assert (layout.places(3), layout.games_in(599), layout.games_in(600)) == (600, 2, 3)
    assert layout.empty(3) == 0.75
    assert layout.copied(3, CONTEXT) == 40 / 600


def test_pages_of_ones_own_waste_the_last_page():
    layout = paged(CONTEXT, page_size=16)
    assert layout.each == 64
    assert layout.empty(2) == 14 / 64
    assert layout.copied(2, CONTEXT) == 20 / 128


def test_shared_pages_are_held_once_and_the_part_of_a_page_by_each():
    layout = shared_once(CONTEXT, page_size=16)
    assert (layout.common, layout.each, layout.each_tokens) == (16, 48, 34)
    assert layout.places(2) == 16 + 2 * 48
    assert layout.empty(2) == pytest.approx(28 / 112)
    assert layout.copied(2, CONTEXT) == 4 / 112


def test_nothing_is_copied_when_the_shared_prefix_fills_its_pages():
    assert shared_once(Context(32, 30), page_size=16).copied(9, Context(32, 30)) == 0


def test_no_games_take_no_memory():
    layout = shared_once(CONTEXT, page_size=16)
    assert (layout.places(0), layout.empty(0), layout.copied(0, CONTEXT)) == (0, 0.0, 0.0)
    assert layout.games_in(15) == 0


def test_a_game_longer_than_the_context_is_refused():
    with pytest.raises(ValueError, match=r"50 tokens exceeds the model's context of 49"):
        reserved(CONTEXT, context_length=49)
    with pytest.raises(ValueError, match="at least 1 of its own"):
        Context(20, 0)


def test_a_pool_uses_whole_pages_only():
    pool = Pool("float32", token_bytes=1000, page_size=64, kv_bytes=1 * MIB)
    assert (pool.page_bytes, pool.pages, pool.tokens) == (64_000, 16, 1024)


def test_a_technique_is_judged_by_the_games_asked_for_or_by_all_that_fit():
    pool, layout = Pool("int8", 10, 16, 10 * 160), shared_once(CONTEXT, 16)
    fitting = worth("once", layout, CONTEXT, pool, None)
    assert (fitting.games, fitting.counted, fitting.needed_bytes) == (3, 3, None)
    assert (fitting.game_bytes, fitting.alone_bytes) == (480, 640)
    asked = worth("once", layout, CONTEXT, pool, 5)
    assert (asked.games, asked.counted, asked.needed_bytes) == (3, 5, (16 + 5 * 48) * 10)
    assert asked.empty == layout.empty(5)


def test_littles_law():
    flow = Flow(rate=7.5, latency_s=2.0)
    assert (flow.in_flight, flow.games) == (15.0, 15)
    assert Flow(7.7, 2.0).games == 16
    assert Flow(0.1, 0.1).games == 1


@pytest.mark.parametrize(("shared", "own", "page_size"), [(20, 30, 16), (32, 7, 16), (5, 60, 8), (0, 9, 4)])
def test_the_prefix_cache_holds_as_many_games_as_planned_and_not_one_more(shared, own, page_size):
    pages = 23
    games = shared_once(Context(shared, own), page_size).games_in(pages * page_size)
    assert games > 1
    cache = PrefixCache(PagePool(pages), page_size)
    for game in range(games):
        _play(cache, shared, own, game)
    assert (cache.evictions, cache.locked) == (
        0,
        shared_once(Context(shared, own), page_size).places(games) // page_size,
    )
    with pytest.raises(OutOfPages):
        _play(cache, shared, own, games)


def _play(cache, shared, own, game):
    """A game that stays in the cache, token by token after its prefix."""
    tokens = [*range(shared), *(1000 * (game + 1) + ply for ply in range(own))]
    branch = cache.open_branch(cache.match(tokens))
    cache.extend(branch, tokens[branch.length : shared])
    for token in tokens[shared:]:
        cache.extend(branch, [token])
        cache.commit(branch)
    cache.check_invariants()
