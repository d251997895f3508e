import pytest

from inference.choices import ChoiceTrie, forced_run
from inference.errors import InvalidRequestError

END = 99


def leaves(node, path=()):
    if node.choice is not None:
        assert not node.children
        yield path, node.choice
    for token, child in node.children.items():
        yield from leaves(child, (*path, token))


def test_every_choice_is_a_leaf_and_a_strict_prefix_ends_with_the_terminator():
    trie = ChoiceTrie.build([(1, 2), (1, 2, 3), (1, 2, 3, 4), (5,)], END)
    assert dict(leaves(trie.root)) == {(1, 2, END): 0, (1, 2, 3, END): 1, (1, 2, 3, 4): 2, (5,): 3}
    assert trie.depth == 4


def test_the_terminator_is_a_child_only_where_one_choice_is_a_prefix_of_another():
    trie = ChoiceTrie.build([(1, 2), (1, 3)], END)
    assert dict(leaves(trie.root)) == {(1, 2): 0, (1, 3): 1}


def test_children_come_in_the_order_of_their_ids_whatever_the_order_of_the_choices():
    trie = ChoiceTrie.build([(7,), (2, 5), (4,), (2, 1)], END)
    assert list(trie.root.children) == [2, 4, 7]
    assert list(trie.root.children[2].children) == [1, 5]


def test_a_forced_run_ends_at_a_branch_or_a_leaf():
    trie = ChoiceTrie.build([(1, 2, 3, 4), (1, 2, 5)], END)
    tokens, node = forced_run(trie.root)
    assert tokens == [1, 2]
    assert list(node.children) == [3, 5]
    tokens, node = forced_run(node.children[3])
    assert (tokens, node.choice) == ([4], 0)
    assert forced_run(node) == ([], node)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ([], "at least one choice"),
        ([(1,), ()], "choice 1 is empty"),
        ([(1, 2), (3,), (1, 2)], r"choices 0 and 2 are the same tokens \[1, 2\]"),
        ([(1,), (1, END, 4)], f"contains the terminator token {END}"),
        ([(1,), (1, 2), (1, END), (1, 2, 5)], f"contains the terminator token {END}"),
        ([(1,), (1, END)], f"contains the terminator token {END}"),
    ],
)
def test_choices_that_cannot_be_told_apart_are_refused(choices, message):
    with pytest.raises(InvalidRequestError, match=message):
        ChoiceTrie.build(choices, END)
