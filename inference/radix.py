"""The prefix cache: a tree of KV pages, indexed by the tokens they hold.

Every page in use belongs to exactly one node of the tree, also while the request that fills it runs:

    root -- [system prompt, page 1] -- [page 2] --+-- [game A so far ...   ]   sealed: full, computed, shareable
                                                  +-- [game B so ..        ]   open: request B appends to it
                                                  +-- [game C so far e2    ]   a leaf left by a finished request

A running request holds a *branch*: a path of nodes, each locked once for it. Full pages are shared by adopting the
node. A prefix that ends inside a page is shared by copying its tokens into a page of the new owner: cheaper than
computing them, and the page border costs nothing.

A node with no lock is cached and can be evicted once it has no children: first what nobody waits for, the least
recently used of it, then what is wanted, the last in line. By the time of use alone a closed loop would find nothing
once its pages run short: who was served longest ago comes next. The waiting line knows the future (Belady, 1966).

So free + cached + locked = total, and no page can be freed twice: only the tree frees pages.

Beside the KV, a node keeps the *state* of tokens after which something was decided: what the model made of them, from
which their logits follow. A prompt that comes again word for word computes nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from inference.kv_pool import OutOfPages, PagePool

WANTED = 1 << 62
"""Later than any time at which a page is used."""


class Node:
    """One page and its tokens.

    `computed` of them have their K and V in the page; the rest are planned for the step under way. `states[n]` is the
    state kept of the n-th token. `locks` counts the branches that pass through. `grown` is the version of the cache in
    which tokens of its children were last computed. `followed` is the sealed child that a match last went to.
    Invariant: a parent has at least as many locks as each of its children; only a sealed node has children.
    """

    __slots__ = (
        "children",
        "computed",
        "followed",
        "grown",
        "last_used",
        "locks",
        "page",
        "parent",
        "sealed_children",
        "states",
        "tokens",
    )

    def __init__(self, page: int, parent: Node | None) -> None:
        self.page = page
        self.parent = parent
        self.tokens: list[int] = []
        self.computed = 0
        self.states: dict[int, Any] = {}
        self.locks = 0
        self.last_used = 0
        self.grown = 0
        self.followed: Node | None = None
        self.children: list[Node] = []
        self.sealed_children: dict[tuple[int, ...], Node] = {}


class CopyPage(NamedTuple):
    """Give `target` the first `tokens` tokens of `source`, and zeros after them."""

    source: int
    target: int
    tokens: int


class ClearPage(NamedTuple):
    """Fill a page with zeros before its first use."""

    page: int


PageOperation = CopyPage | ClearPage


class Match(NamedTuple):
    """The longest computed prefix: whole pages to adopt, and `tail_tokens` tokens to copy from `tail`."""

    nodes: list[Node]
    tail: Node | None
    tail_tokens: int
    length: int

    @property
    def intact(self) -> bool:
        """Whether none of its pages was given up. A node stays for as long as it has children."""
        last = self.tail or (self.nodes[-1] if self.nodes else None)
        return last is None or last.parent is not None

    @property
    def state(self) -> Any:
        """What was kept of the last token; None if nothing was."""
        if self.tail is not None:
            return self.tail.states.get(self.tail_tokens)
        return self.nodes[-1].states.get(len(self.nodes[-1].tokens)) if self.nodes else None


@dataclass(slots=True, eq=False)
class Branch:
    """The pages of one running request, from the root on. Owned by the request, changed by the cache alone.

    `length` tokens have a place in its pages; `computed` of them are computed, the rest planned for the coming step.
    """

    nodes: list[Node] = field(default_factory=list)
    length: int = 0
    computed: int = 0

    @property
    def pages(self) -> list[int]:
        return [node.page for node in self.nodes]

    @property
    def alone(self) -> bool:
        """Whether there are pages in it that no other branch holds."""
        return bool(self.nodes) and self.nodes[-1].locks == 1


def common_prefix(a: list[int], b: list[int]) -> int:
    """Length of the longest common prefix of two token lists."""
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while high - low > 1:  # they agree up to low, and not up to high
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low


class PrefixCache:
    """The tree. Owns all nodes and, through them, every page that the pool handed out.

    Page contents are changed by the caller, who runs `take_operations()` in order before the step that it planned.
    """

    def __init__(self, pool: PagePool, page_size: int) -> None:
        if page_size < 1:
            raise ValueError(f"a KV page holds at least 1 token, not {page_size}")
        self.pool = pool
        self.page_size = page_size
        self.root = Node(0, None)
        self.evictions = 0
        self.version = 0  # goes up when a prefix may have become longer
        self._nodes = 0
        self._locked = 0
        self._clock = 0
        self._evictable: list[tuple[int, int, Node]] = []  # a heap of candidates, checked when they come up
        self._serial = 0
        self._operations: list[PageOperation] = []

    @property
    def cached(self) -> int:
        """Pages that no running request uses; all of them can be evicted."""
        return self._nodes - self._locked

    @property
    def locked(self) -> int:
        """Pages that running requests use."""
        return self._locked

    @property
    def available(self) -> int:
        """Pages that can be had: free, or cached."""
        return self.pool.free + self.cached

    def take_operations(self) -> list[PageOperation]:
        """The page operations planned since the last call, to be run in this order."""
        operations, self._operations = self._operations, []
        return operations

    def match(self, tokens: list[int], since: Match | None = None) -> Match:
        """The longest prefix of `tokens` whose KV has been computed. Changes no page. `since` is an earlier match of
        the same tokens, intact, to start from."""
        nodes = list(since.nodes) if since is not None else []
        node, length = nodes[-1] if nodes else self.root, len(nodes) * self.page_size
        while length + self.page_size <= len(tokens):
            page = tokens[length : length + self.page_size]
            child = node.followed
            if child is None or child.tokens != page:  # to compare is several times as fast as to hash
                child = node.sealed_children.get(tuple(page))
                if child is None:
                    break
                node.followed = child
            nodes.append(child)
            node, length = child, length + self.page_size
        rest = tokens[length : length + self.page_size]
        tail, best, most = None, 0, len(rest)
        for child in node.children:
            if best == most:
                break
            # To be better, a child must have the next token too: most of many differ there.
            if child.computed > best and child.tokens[best] == rest[best] and child.tokens[:best] == rest[:best]:
                tail, best = child, common_prefix(child.tokens[: child.computed], rest)
        return Match(nodes, tail, best, length + best)

    def holds(self, match: Match, version: int) -> bool:
        """Whether a match made in `version` of the cache is still there and the longest."""
        last = match.nodes[-1] if match.nodes else self.root
        return match.intact and last.grown <= version

    def want(self, match: Match, turn: int) -> None:
        """Somebody waits for this prefix, to be let in at about `turn`: what nobody waits for is evicted before it, and
        so is what is wanted later."""
        for node in match.nodes if match.tail is None else (*match.nodes, match.tail):
            if not node.locks and node.last_used < WANTED - turn:
                node.last_used = WANTED - turn
                self._consider(node)

    def unwant(self, match: Match, turn: int) -> None:
        """Who waited for this prefix is gone."""
        for node in match.nodes if match.tail is None else (*match.nodes, match.tail):
            if node.last_used == WANTED - turn:
                self._touch(node)

    def has_next(self, branch: Branch, token: int) -> bool:
        """Whether another page holds `token`, computed, after the same tokens as the branch. The branch has no planned
        tokens."""
        tail = branch.nodes[-1] if branch.nodes else self.root
        own = [] if tail is self.root or len(tail.tokens) == self.page_size else tail.tokens
        beside = tail.parent.children if own and tail.parent is not None else tail.children
        at = len(own)
        for node in beside:  # (a loop: a generator takes three times as long, and this is asked at every step)
            if node.computed > at and node.tokens[at] == token and node.tokens[:at] == own and node is not tail:
                return True
        return False

    def fits(self, match: Match, length: int, *, promised: int = 0) -> bool:
        """Whether the pages of a branch can be had that starts from `match` and goes on to `length` tokens, beside
        `promised` pages for others."""
        needed = -(-length // self.page_size) - len(match.nodes)
        idle = 0  # available now, and no more once they are adopted
        for node in reversed(match.nodes):
            if node.locks:  # and so are all that lead to it
                break
            idle += 1
        return needed + promised <= self.available - idle

    def open_branch(self, match: Match) -> Branch:
        """Start a branch from a fresh match: adopt its whole pages; take its tail over if nobody else uses it and all
        of it is wanted, else copy it. Raises OutOfPages, changing nothing."""
        if not self.fits(match, match.length):
            raise OutOfPages
        self._clock += 1
        for node in match.nodes:
            self._locked += not node.locks
            node.locks += 1
            node.last_used = self._clock
        nodes, tail = list(match.nodes), match.tail
        if tail is not None and tail.locks == 0 and match.tail_tokens == len(tail.tokens):
            self._lock(tail)
            nodes.append(tail)
        elif tail is not None:
            page = self._take_page()
            self._touch(tail)  # it has been read, and is wanted no more
            # Taking the page may have evicted the tail's node; its page is intact until an operation says otherwise.
            self._operations.append(CopyPage(tail.page, page, match.tail_tokens))
            node = self._new_node(page, nodes[-1] if nodes else self.root)
            node.tokens = tail.tokens[: match.tail_tokens]
            node.computed = match.tail_tokens
            node.states = {n: state for n, state in tail.states.items() if n <= match.tail_tokens}
            nodes.append(node)
        return Branch(nodes, match.length, match.length)

    def pages_to_extend(self, branch: Branch, count: int) -> int:
        """Pages that `extend` by `count` tokens would take."""
        return -(-(branch.length + count) // self.page_size) - len(branch.nodes)

    def extend(self, branch: Branch, tokens: Sequence[int]) -> None:
        """Make room for `tokens`, which the coming step computes. Raises OutOfPages, changing nothing."""
        needed = self.pages_to_extend(branch, len(tokens))
        if needed > self.available:
            raise OutOfPages
        at = 0
        while at < len(tokens):
            tail = branch.nodes[-1] if branch.nodes else self.root
            if tail is self.root or len(tail.tokens) == self.page_size:
                page = self._take_page()
                self._operations.append(ClearPage(page))
                tail = self._new_node(page, tail)
                branch.nodes.append(tail)
            room = self.page_size - len(tail.tokens)
            tail.tokens.extend(tokens[at : at + room])
            at += room
        branch.length += len(tokens)

    def commit(self, branch: Branch) -> None:
        """The step is done: what it planned is computed. Pages that it filled are sealed, for others to share."""
        for i in range(len(branch.nodes) - 1, -1, -1):  # back to the first page that the step touched
            if branch.nodes[i].computed == self.page_size:
                break
        else:
            i = -1
        for at in range(i + 1, len(branch.nodes)):
            node = branch.nodes[at]
            node.computed = len(node.tokens)
            if node.computed == self.page_size:
                branch.nodes[at] = self._seal(node, branch.nodes[at + 1] if at + 1 < len(branch.nodes) else None)
        branch.computed = branch.length
        self.version += 1
        for node in branch.nodes[i + 1 :]:
            assert node.parent is not None
            node.parent.grown = self.version

    def keep_state(self, branch: Branch, state: Any) -> None:
        """Keep the state of the branch's last computed token, for as long as the token stays cached."""
        assert branch.nodes
        assert branch.length == branch.computed
        branch.nodes[-1].states[len(branch.nodes[-1].tokens)] = state

    def rollback(self, branch: Branch) -> None:
        """The step failed: forget what it planned."""
        branch.length = branch.computed
        while branch.nodes and branch.nodes[-1].computed < len(branch.nodes[-1].tokens):
            node = branch.nodes[-1]
            del node.tokens[node.computed :]
            if node.tokens:
                break
            branch.nodes.pop()
            self._unlock(node)
            self._remove(node)

    def close(self, branch: Branch) -> None:
        """End a branch between steps: its pages stay, cached, until they are evicted."""
        self.rollback(branch)
        self._clock += 1
        for node in reversed(branch.nodes):
            node.last_used = self._clock
            if node.locks > 1:
                node.locks -= 1
            else:
                self._unlock(node)
        if branch.nodes and len(branch.nodes[-1].tokens) < self.page_size:
            self._free_covered(branch.nodes[-1])
        branch.nodes = []
        branch.length = branch.computed = 0

    def flush(self) -> None:
        """Free every cached page."""
        while self.cached:
            self._evict()

    def check_invariants(self) -> None:
        """Assert what the class promises. For tests: walks the whole tree."""
        self.pool.check_invariants()
        nodes = list(self._walk())
        pages = [node.page for node in nodes]
        assert len(set(pages)) == len(pages), "a page has two owners"
        assert len(nodes) == self._nodes
        assert sum(node.locks > 0 for node in nodes) == self._locked
        assert self.pool.free + self.cached + self.locked == self.pool.total
        for node in nodes:
            assert node.parent is not None
            assert 0 <= node.computed <= len(node.tokens) <= self.page_size
            assert node.locks >= 0
            assert node.parent is self.root or node.parent.locks >= node.locks
            assert not node.children or len(node.tokens) == self.page_size
            assert all(1 <= n <= node.computed for n in node.states)
            if node.locks == 0:
                assert node.computed == len(node.tokens) > 0
        for key, node in ((k, n) for parent in (self.root, *nodes) for k, n in parent.sealed_children.items()):
            assert tuple(node.tokens) == key
            assert node.computed == self.page_size

    def _walk(self) -> Iterator[Node]:
        stack = list(self.root.children)
        while stack:
            node = stack.pop()
            yield node
            stack.extend(node.children)

    def _new_node(self, page: int, parent: Node) -> Node:
        node = Node(page, parent)
        parent.children.append(node)
        self._nodes += 1
        self._lock(node)
        return node

    def _seal(self, node: Node, successor: Node | None) -> Node:
        """Publish a full page, or give it up for its twin: another request may have computed the same tokens."""
        parent = node.parent
        assert parent is not None
        twin = parent.sealed_children.setdefault(tuple(node.tokens), node)
        if twin is node:
            self._free_covered(node)
            return node
        twin.states |= node.states
        self._lock(twin)
        if successor is not None:
            node.children.remove(successor)
            twin.children.append(successor)
            successor.parent = twin
        self._unlock(node)
        self._remove(node)
        return twin

    def _free_covered(self, node: Node) -> None:
        """Of `node` and a page beside it that begins with all the tokens of the other, keep the longer: whoever finds
        the shorter finds the longer as well."""
        assert node.parent is not None
        tokens, computed = node.tokens, node.computed
        for other in list(node.parent.children):
            shared = other.computed if other.computed < computed else computed
            # The last token tells most pages apart at once.
            if not shared or other.tokens[shared - 1] != tokens[shared - 1] or other is node:
                continue
            if other.tokens[:shared] != tokens[:shared]:
                continue
            if node.locks == 0 and shared == node.computed:
                other.states |= node.states
                self._lock(other)  # and unlock: it is the one used last now
                self._unlock(other)
                self._remove(node)
                return
            if other.locks == 0 and shared == other.computed:
                node.states |= other.states
                self._remove(other)

    def _lock(self, node: Node) -> None:
        self._clock += 1
        node.last_used = self._clock
        node.locks += 1
        if node.locks == 1:
            self._locked += 1

    def _touch(self, node: Node) -> None:
        """It is used now."""
        node.last_used = self._clock
        self._consider(node)

    def _unlock(self, node: Node) -> None:
        node.locks -= 1
        if node.locks == 0:
            self._locked -= 1
            self._consider(node)

    def _consider(self, node: Node) -> None:
        """Put a node that may be evicted on the heap."""
        if node is not self.root and node.locks == 0 and not node.children:
            if len(self._evictable) > 2 * self._nodes + 64:  # most candidates are stale: drop those
                self._evictable = [entry for entry in self._evictable if self._is_candidate(entry)]
                heapq.heapify(self._evictable)
            self._serial += 1
            heapq.heappush(self._evictable, (node.last_used, self._serial, node))

    def _is_candidate(self, entry: tuple[int, int, Node]) -> bool:
        last_used, _, node = entry
        return node.parent is not None and node.locks == 0 and not node.children and node.last_used == last_used

    def _take_page(self) -> int:
        if self.pool.free == 0:
            self._evict()
            self.evictions += 1
        return self.pool.take()

    def _evict(self) -> None:
        """Free the leaf that is not locked and will be missed least. Raises OutOfPages."""
        while self._evictable:
            entry = heapq.heappop(self._evictable)
            if self._is_candidate(entry):
                self._remove(entry[2])
                return
        raise OutOfPages

    def _remove(self, node: Node) -> None:
        """Take a leaf that is not locked out of the tree and free its page."""
        parent = node.parent
        assert parent is not None
        assert not node.children
        parent.children.remove(node)
        if parent.followed is node:
            parent.followed = None
        if parent.sealed_children.get(tuple(node.tokens)) is node:
            del parent.sealed_children[tuple(node.tokens)]
        node.parent = None
        self._nodes -= 1
        self.pool.give_back(node.page)
        self._consider(parent)


class NoPrefixCache(PrefixCache):
    """Stands in for the tree where prefix reuse is switched off: finds nothing, keeps nothing."""

    def match(self, tokens: list[int], since: Match | None = None) -> Match:
        return Match([], None, 0, 0)

    def keep_state(self, branch: Branch, state: Any) -> None:
        pass

    def close(self, branch: Branch) -> None:
        super().close(branch)
        self.flush()

    def _seal(self, node: Node, successor: Node | None) -> Node:
        return node
