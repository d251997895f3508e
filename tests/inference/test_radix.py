"""The prefix cache on its own: what is found, what is shared, what goes first when pages run out."""

import pytest

from inference.kv_pool import OutOfPages, PagePool
from inference.radix import ClearPage, CopyPage, NoPrefixCache, PrefixCache, common_prefix

PAGE = 4


def make_cache(pages=16, kind=PrefixCache):
    return kind(PagePool(pages), PAGE)


def compute(cache, tokens):
    """A branch with all of `tokens` computed."""
    branch = cache.open_branch(cache.match(tokens))
    cache.extend(branch, tokens[branch.length :])
    cache.commit(branch)
    cache.check_invariants()
    return branch


def tokens(n, first=0):
    return list(range(first, first + n))


@pytest.mark.parametrize("length", [1, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE, 3 * PAGE + 2])
def test_a_computed_prefix_is_found_at_every_length(length):
    cache = make_cache()
    cache.close(compute(cache, tokens(length)))
    assert cache.match(tokens(length)).length == length
    assert cache.match([*tokens(length), 99, 98]).length == length
    for shorter in range(length):
        assert cache.match([*tokens(shorter), 77]).length == shorter


def test_full_pages_are_adopted_and_a_tail_is_copied():
    cache = make_cache()
    first = compute(cache, tokens(2 * PAGE + 3))
    cache.take_operations()
    second = cache.open_branch(cache.match([*tokens(2 * PAGE + 2), 50]))
    assert second.pages[:2] == first.pages[:2]
    assert second.pages[2] != first.pages[2]
    assert cache.take_operations() == [CopyPage(first.pages[2], second.pages[2], 2)]
    cache.extend(second, [50])
    assert cache.take_operations() == []
    cache.extend(second, [51, 52, 53])
    assert cache.take_operations() == [ClearPage(second.pages[3])]


def test_planned_tokens_are_not_found_before_they_are_computed():
    cache = make_cache()
    branch = cache.open_branch(cache.match(tokens(6)))
    cache.extend(branch, tokens(6))
    assert cache.match(tokens(6)).length == 0
    cache.commit(branch)
    assert cache.match(tokens(6)).length == 6


def test_a_match_holds_until_something_grows_where_it_ends():
    cache = make_cache()
    cache.close(compute(cache, tokens(2 * PAGE)))
    wanted = tokens(2 * PAGE + 2)
    match, version = cache.match(wanted), cache.version
    cache.close(compute(cache, [*tokens(PAGE), 70, 71]))  # beside its path
    assert cache.holds(match, version)
    cache.close(compute(cache, wanted))
    assert not cache.holds(match, version)
    assert cache.match(wanted, match).length == len(wanted)
    cache.flush()
    assert not cache.holds(match, cache.version)


def test_a_failed_step_leaves_what_was_computed_before_it():
    cache = make_cache()
    branch = compute(cache, tokens(5))
    cache.extend(branch, tokens(7, first=5))
    cache.rollback(branch)
    cache.check_invariants()
    assert (branch.length, len(branch.nodes)) == (5, 2)
    cache.close(branch)
    assert cache.match(tokens(12)).length == 5


def test_equal_pages_computed_side_by_side_become_one():
    cache = make_cache()
    a = cache.open_branch(cache.match(tokens(9)))
    b = cache.open_branch(cache.match(tokens(9)))
    for branch in (a, b):
        cache.extend(branch, tokens(9))
    for branch in (a, b):
        cache.commit(branch)
        cache.check_invariants()
    assert a.pages[:2] == b.pages[:2]
    assert cache.locked == 4  # two shared, a tail each
    cache.close(a)
    cache.close(b)
    assert cache.locked == 0
    cache.check_invariants()


def test_the_least_recently_used_leaf_goes_first_and_a_hit_refreshes_the_matched_part():
    cache = make_cache(pages=4)
    cache.close(compute(cache, tokens(2 * PAGE)))  # old, two pages
    cache.close(compute(cache, tokens(2 * PAGE, first=100)))  # new, two pages
    cache.close(cache.open_branch(cache.match(tokens(PAGE))))  # the first page of the old one is used again
    compute(cache, tokens(2 * PAGE, first=200))
    assert cache.evictions == 2
    assert cache.match(tokens(2 * PAGE)).length == PAGE
    assert cache.match(tokens(2 * PAGE, first=100)).length == PAGE


def test_what_is_wanted_outlives_what_is_not_and_of_it_the_last_in_line_goes_first():
    cache = make_cache(pages=4)
    prefixes = {first: tokens(PAGE, first) for first in (100, 200, 300, 400)}
    for prefix in prefixes.values():
        cache.close(compute(cache, prefix))
    for first, turn in ((100, 30), (200, 10), (300, 20)):
        cache.want(cache.match(prefixes[first]), turn)
    evicted = []
    for number in range(4):
        compute(cache, tokens(PAGE, 1000 * (number + 1)))
        evicted += [first for first in prefixes if first not in evicted and not cache.match(prefixes[first]).length]
    assert evicted == [400, 100, 300, 200]


def test_what_is_wanted_no_more_goes_as_if_it_had_been_used_then():
    cache = make_cache(pages=3)
    for first in (100, 200, 300):
        cache.close(compute(cache, tokens(PAGE, first)))
    match = cache.match(tokens(PAGE, 100))
    cache.want(match, 5)
    cache.unwant(match, 5)
    for number, left in enumerate(([100, 300], [100], [])):
        compute(cache, tokens(PAGE, 1000 * (number + 1)))
        assert [first for first in (100, 200, 300) if cache.match(tokens(PAGE, first)).length] == left


def test_a_tail_is_wanted_until_it_is_copied():
    cache = make_cache(pages=3)
    cache.close(compute(cache, tokens(3)))
    match = cache.match([*tokens(2), 9])
    cache.want(match, 5)
    copy = cache.open_branch(match)
    cache.close(compute(cache, tokens(PAGE, 100)))
    compute(cache, tokens(PAGE, 200))
    assert cache.match(tokens(3)).length == 2, "the copy is there, and the tail is gone"
    assert copy.length == 2


def test_pages_of_running_branches_are_never_evicted():
    cache = make_cache(pages=3)
    branch = compute(cache, tokens(2 * PAGE))
    other = cache.open_branch(cache.match(tokens(1, first=50)))
    with pytest.raises(OutOfPages):
        cache.extend(other, tokens(2 * PAGE, first=50))
    cache.check_invariants()
    assert other.length == 0
    cache.extend(other, tokens(PAGE, first=50))
    assert branch.pages == [1, 2]


def test_a_tail_that_is_evicted_for_its_own_copy_keeps_its_tokens():
    cache = make_cache(pages=1)
    cache.close(compute(cache, tokens(3)))
    cache.take_operations()
    branch = cache.open_branch(cache.match([*tokens(2), 9]))
    assert cache.take_operations() == [CopyPage(1, 1, 2)]
    assert branch.length == 2
    cache.check_invariants()


def test_a_tail_that_nobody_uses_is_taken_over_by_the_prompt_that_goes_on_from_it():
    cache = make_cache()
    for length in range(1, 2 * PAGE):  # an append-only history: each prompt is the one before and a token more
        branch = compute(cache, tokens(length))
        assert branch.length == length
        cache.close(branch)
        cache.check_invariants()
        assert cache.cached == -(-length // PAGE)
    assert not [operation for operation in cache.take_operations() if isinstance(operation, CopyPage)]


def test_a_tail_that_a_longer_one_covers_is_freed_when_its_branch_ends():
    cache = make_cache()
    short, equal, longer = (cache.open_branch(cache.match([])) for _ in range(3))
    for branch, length in ((short, PAGE + 1), (equal, PAGE + 1), (longer, PAGE + 2)):
        cache.extend(branch, tokens(length))
    for branch in (short, equal, longer):
        cache.commit(branch)
    for branch, left in ((longer, 4), (short, 3), (equal, 2)):
        cache.close(branch)
        cache.check_invariants()
        assert cache.cached + cache.locked == left
    assert cache.match(tokens(PAGE + 2)).length == PAGE + 2


def test_of_many_tails_on_one_page_the_longest_match_is_found():
    cache = make_cache(pages=40)
    stem = tokens(PAGE)
    for first in range(3):
        for second in range(10, 13):
            for third in range(20, 23):
                cache.close(compute(cache, [*stem, first, second, third]))
    cache.close(compute(cache, [*stem, 1, 11, 21, 30, 31]))
    for rest, length in (([1, 11, 22, 9], 3), ([2, 12, 9], 2), ([0, 9], 1), ([9], 0), ([1, 11, 21, 30], 4)):
        assert cache.match([*stem, *rest]).length == PAGE + length


def test_what_cannot_be_opened_is_known_beforehand():
    cache = make_cache(pages=4)
    cache.close(compute(cache, tokens(2 * PAGE + 2)))
    for length, page_count in ((2 * PAGE + 2, 3), (2 * PAGE + 1, 3), (4 * PAGE, 4), (PAGE, 1)):
        assert cache.fits(cache.match(tokens(length)), length)
        assert cache.fits(cache.match(tokens(length)), 4 * PAGE), page_count
        assert not cache.fits(cache.match(tokens(length)), 4 * PAGE + 1)
    held = compute(cache, tokens(PAGE, first=50))
    assert not cache.fits(cache.match(tokens(2 * PAGE)), 3 * PAGE + 1)
    assert cache.fits(cache.match(tokens(2 * PAGE)), 3 * PAGE)
    assert cache.fits(cache.match(tokens(PAGE, first=50)), 4 * PAGE)
    cache.close(held)


def test_flush_frees_everything_that_nobody_uses():
    cache = make_cache()
    kept = compute(cache, tokens(6))
    cache.close(compute(cache, tokens(9, first=30)))
    cache.flush()
    assert (cache.cached, cache.locked) == (0, 2)
    cache.close(kept)
    cache.flush()
    assert cache.pool.free == cache.pool.total
    cache.check_invariants()


def test_without_prefix_cache_nothing_is_found_and_nothing_is_kept():
    cache = make_cache(kind=NoPrefixCache)
    a, b = compute(cache, tokens(9)), compute(cache, tokens(9))
    assert not set(a.pages) & set(b.pages)
    cache.close(a)
    assert cache.cached == 0
    cache.close(b)
    assert cache.pool.free == cache.pool.total


def test_common_prefix_agrees_with_a_plain_count():
    a = tokens(300)
    for cut in (0, 1, 63, 64, 65, 128, 299, 300):
        b = [*a[:cut], -1, *a[cut + 1 :]] if cut < 300 else a
        assert common_prefix(a, b) == cut


def test_a_page_is_given_back_once():
    pool = PagePool(2)
    page = pool.take()
    pool.give_back(page)
    with pytest.raises(ValueError, match=f"page {page} is not handed out"):
        pool.give_back(page)
    with pytest.raises(ValueError, match="page 0"):
        pool.give_back(0)
