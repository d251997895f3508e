"""The token trie of a set of choices, and the walk that chooses one of them.

    e2e4, e2e3, e7e8, e7e8q          'e' -- '2' -- 'e' -- '4'
                                      |             `---- '3'
                                      `---- '7' - 'e' - '8' -- END
                                                         `---- 'q'

At a branching node the model's probabilities are renormalised over the children; along the rest of the path nothing is
decided. A choice that is a strict prefix of another ends with the terminator, a child like any other, there only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from inference.errors import InvalidRequestError


@dataclass(slots=True)
class TrieNode:
    """`children` by token id, in ascending order; `choice` is set on a leaf: the index of the choice it ends."""

    children: dict[int, TrieNode] = field(default_factory=dict)
    choice: int | None = None


@dataclass(frozen=True, slots=True)
class ChoiceTrie:
    """A trie over the token ids of distinct choices. `depth` is the longest path from root to leaf, in tokens."""

    root: TrieNode
    depth: int

    @classmethod
    def build(cls, choices: Sequence[Sequence[int]], terminator: int) -> ChoiceTrie:
        """Raises InvalidRequestError for no choices, an empty one, or two of the same tokens."""
        if not choices:
            raise InvalidRequestError("a choice needs at least one choice to choose from, not none")
        ranked = sorted((tuple(tokens), index) for index, tokens in enumerate(choices))
        paths: list[tuple[tuple[int, ...], int]] = []
        for (tokens, index), (after, other) in zip(ranked, [*ranked[1:], ((), -1)], strict=True):
            if not tokens:
                raise InvalidRequestError(f"choice {index} is empty")
            if after == tokens:
                raise InvalidRequestError(f"choices {index} and {other} are the same tokens {list(tokens)}")
            # In this order a strict prefix of others stands right before one of them.
            paths.append(((*tokens, terminator) if after[: len(tokens)] == tokens else tokens, index))
        root = TrieNode()
        for path, index in sorted(paths):  # so that children come in ascending order
            node = root
            for token in path:
                if token not in node.children:
                    node.children[token] = TrieNode()
                node = node.children[token]
                if node.choice is not None:
                    raise InvalidRequestError(f"a choice contains the terminator token {terminator}")
            node.choice = index
        return cls(root, max(len(path) for path, _ in paths))


def forced_run(node: TrieNode) -> tuple[list[int], TrieNode]:
    """The tokens that follow `node` without a decision, and the node they lead to: a leaf or a branching node."""
    tokens = []
    while len(node.children) == 1:
        token, node = next(iter(node.children.items()))
        tokens.append(token)
    return tokens, node


def leaves(node: TrieNode) -> Iterator[int]:
    """The choices that can still be reached from `node`."""
    if node.choice is not None:
        yield node.choice
    for child in node.children.values():
        yield from leaves(child)


class Targets(NamedTuple):
    """The tokens whose logits a decision reads, if not those of the whole vocabulary. `normalised`: it reads their
    log-probabilities under the whole distribution instead."""

    tokens: tuple[int, ...]
    normalised: bool = False


class TreeRow(NamedTuple):
    """A token of a trie laid out for one pass: it follows the row `parent`, or the prompt where that is -1, and leads
    to `node`. `depth` is 1 for the tokens that follow the prompt."""

    token: int
    parent: int
    depth: int
    node: TrieNode


def decisions(root: TrieNode) -> list[TreeRow]:
    """The rows below `root` that a walk may need: those that lead to a branching node. Parents come first."""
    return _rows(root, keep=lambda node: len(node.children) > 1)


def inner_nodes(root: TrieNode) -> list[TreeRow]:
    """A row for each node below `root` that is not a leaf. Parents come first."""
    return _rows(root, keep=lambda node: bool(node.children))


def _rows(root: TrieNode, *, keep: Callable[[TrieNode], bool]) -> list[TreeRow]:
    rows: list[TreeRow] = []

    def leads_on(node: TrieNode) -> bool:
        return keep(node) or any(map(leads_on, node.children.values()))

    def visit(node: TrieNode, parent: int, depth: int) -> None:
        for token, child in node.children.items():
            if leads_on(child):
                rows.append(TreeRow(token, parent, depth, child))
                visit(child, len(rows) - 1, depth + 1)

    visit(root, -1, 1)
    return rows
