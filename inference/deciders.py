"""What follows when a request's tokens are computed: sample on, walk a trie, or read off probabilities.

A decider holds the state of one request's answer. The engine calls `opening` once, then `decide` with the logits of the
last token each time the request has caught up, and appends what it says.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple, Protocol

from torch import Tensor

from inference.choices import ChoiceTrie, Targets, TreeRow, TrieNode, decisions, forced_run, inner_nodes, leaves
from inference.draws import best, draw, softmax, uniform
from inference.sampler import log_probabilities, sample
from inference.types import ChoiceReply, Decision, FinishReason, Reply, SamplingParams, Timing, Usage


class Verdict(NamedTuple):
    """Tokens to append to the request, and why it is finished, if it is."""

    append: Sequence[int] = ()
    finish: FinishReason | None = None


class TextDecoder(Protocol):
    """What generation needs of a tokenizer."""

    eos_ids: frozenset[int]

    def decode(self, ids: Sequence[int]) -> str: ...


class Decider(ABC):
    """Base of the three. `max_new_tokens` bounds what it can append; `tree` are alternatives of what may follow, if all
    are to be computed in the pass that decides."""

    max_new_tokens: int
    tree: Sequence[TreeRow] = ()

    @property
    def targets(self) -> Targets | None:
        """What the next decision reads; None: the logits of the whole vocabulary. It follows from the request and its
        answer so far, and so does how it is computed."""
        return None

    @property
    def tree_targets(self) -> Sequence[Targets]:
        """What the decision reads after each row of `tree`."""
        return ()

    def opening(self) -> Verdict:
        """What is known before any logits."""
        return Verdict()

    @abstractmethod
    def decide(self, logits: Tensor, of_tree: Sequence[Tensor] = ()) -> Verdict:
        """What the logits that follow the last token lead to: those of `targets`, in that order, or [vocab]; `of_tree`
        are those that follow each row of `tree`."""

    @property
    def generated(self) -> int:
        """Tokens generated so far."""
        return 0


class GenerateDecider(Decider):
    """Samples token after token until the end of text, a stop string or max_tokens.

    `text` is the answer so far; `stable` of its characters will not change any more and can be streamed.
    """

    def __init__(self, params: SamplingParams, seed: int, tokenizer: TextDecoder) -> None:
        self.params = params
        self.seed = seed
        self.tokenizer = tokenizer
        self.max_new_tokens = params.max_tokens
        self.token_ids: list[int] = []
        self.logprobs: list[float] = []
        self.text = ""
        self.stable = 0
        self.finish_reason = FinishReason.LENGTH

    @property
    def generated(self) -> int:
        return len(self.token_ids)

    def decide(self, logits: Tensor, of_tree: Sequence[Tensor] = ()) -> Verdict:
        params = self.params
        token = sample(
            logits,
            temperature=params.temperature,
            top_k=params.top_k,
            top_p=params.top_p,
            u=uniform(self.seed, len(self.token_ids)),
        )
        if token in self.tokenizer.eos_ids and not params.ignore_eos:
            return self._finish(FinishReason.STOP)
        self.token_ids.append(token)
        if params.logprobs:
            self.logprobs += log_probabilities(logits, [token])
        self.text = self.tokenizer.decode(self.token_ids)
        cut = min((at for stop in params.stop if (at := self.text.find(stop)) >= 0), default=None)
        if cut is not None:
            self.text = self.text[:cut]
            return self._finish(FinishReason.STOP)
        if len(self.token_ids) == params.max_tokens:
            return self._finish(FinishReason.LENGTH)
        self.stable = len(self.text) - self._unsettled()
        return Verdict([token])

    def _finish(self, reason: FinishReason) -> Verdict:
        self.finish_reason = reason
        self.stable = len(self.text)
        return Verdict((), reason)

    def _unsettled(self) -> int:
        """Characters at the end that the next token may change: half a character, or the start of a stop string."""
        whole = self.text.rstrip("�")
        starts = (stop[:length] for stop in self.params.stop for length in range(1, len(stop)))
        held = max((len(start) for start in starts if whole.endswith(start)), default=0)
        return len(self.text) - len(whole) + held

    def reply(self, usage: Usage, timing: Timing) -> Reply:
        return Reply(
            text=self.text,
            token_ids=tuple(self.token_ids),
            finish_reason=self.finish_reason,
            seed=self.seed,
            usage=usage,
            timing=timing,
            logprobs=tuple(self.logprobs) if self.params.logprobs else None,
        )


class _Branching(NamedTuple):
    """A branching node that the walk has passed: the probabilities of its children, and which of them it took."""

    node: TrieNode
    probabilities: list[float]
    taken: int


class ChoiceDecider(Decider):
    """Walks the trie of the choices from the root to a leaf.

    With `jump_forward`, tokens that are forced are appended in one go and the walk ends where the choice is decided;
    without it every token of the choice takes a step of its own. With `one_pass`, all branching nodes are computed in
    the pass that reaches the end of the prompt, and the walk is over at once. The choice is the same.
    """

    def __init__(
        self,
        choices: Sequence[str],
        trie: ChoiceTrie,
        *,
        temperature: float,
        seed: int,
        jump_forward: bool,
        one_pass: bool = False,
    ) -> None:
        self.choices = choices
        self.temperature = temperature
        self.seed = seed
        self.jump_forward = jump_forward or one_pass
        self.one_pass = one_pass
        self.max_new_tokens = trie.depth
        self.node: TrieNode = trie.root
        self.path: list[int] = []
        self.passed: list[_Branching] = []

    @property
    def probability(self) -> float:
        """Of the path so far."""
        return math.prod(probabilities[taken] for _, probabilities, taken in self.passed)

    @property
    def generated(self) -> int:
        return len(self.path)

    @property
    def targets(self) -> Targets:
        return Targets(tuple(self.node.children))

    @property
    def tree_targets(self) -> Sequence[Targets]:
        return [Targets(tuple(row.node.children) if len(row.node.children) > 1 else ()) for row in self.tree]

    def opening(self) -> Verdict:
        verdict = self._forced() if self.jump_forward else Verdict()
        if self.one_pass:
            self.tree = decisions(self.node)
        return verdict

    def decide(self, logits: Tensor, of_tree: Sequence[Tensor] = ()) -> Verdict:
        if not self.one_pass:
            return self._choose(logits)
        below = {id(row.node): row_logits for row, row_logits in zip(self.tree, of_tree, strict=True)}
        verdict = self._choose(logits)
        while verdict.finish is None:
            verdict = self._choose(below[id(self.node)])
        return verdict

    def _choose(self, logits: Tensor) -> Verdict:
        """Step to a child of the node that these logits are of, and along what is forced after it."""
        ids = list(self.node.children)
        if len(ids) == 1:
            chosen = 0
        else:
            # At temperature 0 the best child is taken, and the probability stated is the model's own.
            probabilities = softmax(logits.tolist(), self.temperature or 1.0)
            if self.temperature == 0.0:
                chosen = best(probabilities)
            else:
                chosen = draw(probabilities, uniform(self.seed, len(self.path)))
            self.passed.append(_Branching(self.node, probabilities, chosen))
        self.path.append(ids[chosen])
        self.node = self.node.children[ids[chosen]]
        if not self.jump_forward:
            return Verdict([ids[chosen]], FinishReason.CHOICE if self.node.choice is not None else None)
        forced = self._forced()
        return Verdict([ids[chosen], *forced.append], forced.finish)

    def _forced(self) -> Verdict:
        tokens, self.node = forced_run(self.node)
        self.path += tokens
        return Verdict(tokens, FinishReason.CHOICE if self.node.choice is not None else None)

    def reply(self, usage: Usage, timing: Timing) -> ChoiceReply:
        assert self.node.choice is not None
        return ChoiceReply(
            text=self.choices[self.node.choice],
            token_ids=tuple(self.path),
            finish_reason=FinishReason.CHOICE,
            seed=self.seed,
            usage=usage,
            timing=timing,
            index=self.node.choice,
            probability=self.probability,
            decisions=tuple(map(self._decision, self.passed)),
        )

    def _decision(self, passed: _Branching) -> Decision:
        children = list(passed.node.children.values())
        return Decision.among(passed.probabilities, passed.taken, lambda way: self._beginning(children[way]))

    def _beginning(self, node: TrieNode) -> str:
        """What all choices below `node` begin with."""
        reached = [self.choices[choice] for choice in leaves(node)]
        if len(reached) == 1:
            return reached[0]
        shared = takewhile(lambda pair: pair[0] == pair[1], zip(min(reached), max(reached), strict=False))
        return "".join(character for character, _ in shared) + "…"


class ScoreDecider(Decider):
    """Reads the log-probability of every whole choice in one pass over the trie, and generates nothing.

    `logprobs[i]` is that of choice i: the sum over its tokens, each under the whole distribution.
    """

    max_new_tokens = 0

    def __init__(self, trie: ChoiceTrie, choices: int) -> None:
        self.root = trie.root
        self.tree = inner_nodes(trie.root)
        self.logprobs = [-math.inf] * choices

    @property
    def targets(self) -> Targets:
        return Targets(tuple(self.root.children), normalised=True)

    @property
    def tree_targets(self) -> Sequence[Targets]:
        return [Targets(tuple(row.node.children), normalised=True) for row in self.tree]

    def decide(self, logits: Tensor, of_tree: Sequence[Tensor] = ()) -> Verdict:
        reached = {id(self.root): 0.0}
        for node, logprobs in zip((self.root, *(row.node for row in self.tree)), (logits, *of_tree), strict=True):
            for child, logprob in zip(node.children.values(), logprobs.tolist(), strict=True):
                reached[id(child)] = reached[id(node)] + logprob
                if child.choice is not None:
                    self.logprobs[child.choice] = reached[id(child)]
        return Verdict((), FinishReason.LENGTH)
