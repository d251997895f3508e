"""The token trie of a set of choices, and the walk that chooses one of them.

    e2e4, e2e3, e7e8, e7e8q          'e' -- '2' -- 'e' -- '4'
                                      |             `---- '3'
                                      `---- '7' - 'e' - '8' -- END
                                                         `---- 'q'

At a branching node the model's probabilities are renormalised over the children; along the rest of the path nothing is
decided. A choice that is a strict prefix of another ends with the terminator, a child like any other, there only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

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
