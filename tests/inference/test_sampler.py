import math

import pytest
import torch

from inference.deciders import GenerateDecider
from inference.sampler import log_probabilities, sample
from inference.types import FinishReason, SamplingParams

LOGITS = torch.tensor([1.0, 3.0, 2.0, -1.0])


def shares(**params):
    """Shares of 2,000 evenly spread numbers that each token gets."""
    counts = [0] * len(LOGITS)
    for i in range(2000):
        counts[sample(LOGITS, **{"temperature": 1.0, "top_k": 0, "top_p": 1.0, **params}, u=(i + 0.5) / 2000)] += 1
    return [count / 2000 for count in counts]


def softmax(values):
    weights = [math.exp(v) for v in values]
    return [w / sum(weights) for w in weights]


def test_plain_sampling_gives_each_token_its_probability():
    assert shares() == pytest.approx(softmax(LOGITS.tolist()), abs=1e-3)
    assert shares(temperature=2.0) == pytest.approx(softmax((LOGITS / 2).tolist()), abs=1e-3)


def test_top_k_keeps_the_k_most_likely():
    a, b = softmax([3.0, 2.0])
    assert shares(top_k=2) == pytest.approx([0, a, b, 0], abs=1e-3)
    assert shares(top_k=1) == [0, 1, 0, 0]


def test_top_p_keeps_the_smallest_set_that_reaches_it():
    p = sorted(softmax(LOGITS.tolist()), reverse=True)
    assert shares(top_p=p[0] - 1e-6) == [0, 1, 0, 0]
    a, b = softmax([3.0, 2.0])
    assert shares(top_p=p[0] + 1e-6) == pytest.approx([0, a, b, 0], abs=1e-3)


@pytest.mark.parametrize("top_k", [1, 7, 500, 0])
@pytest.mark.parametrize("top_p", [0.97, 0.5, 1e-6])
def test_what_is_kept_of_many_tokens_is_what_a_plain_count_keeps(top_k, top_p):
    logits = torch.randint(-30, 30, (300,), generator=torch.Generator().manual_seed(top_k)) / 8.0  # with many ties
    probabilities = softmax(logits.tolist())
    ranked = sorted(range(300), key=lambda token: (-probabilities[token], token))[: top_k or 300]
    mass, kept = sum(probabilities[token] for token in ranked), []
    while ranked and sum(probabilities[token] for token in kept) < top_p * mass - 1e-12:
        kept.append(ranked.pop(0))
    drawn = [sample(logits, temperature=1.0, top_k=top_k, top_p=top_p, u=(i + 0.5) / 3000) for i in range(3000)]
    assert set(drawn) <= set(kept)
    assert drawn == sorted(drawn, key=kept.index)
    assert (drawn[0], drawn[-1]) == (kept[0], kept[-1]) or len(kept) > 50


def test_temperature_zero_takes_the_largest_and_the_lower_id_of_equals():
    assert sample(torch.tensor([1.0, 5.0, 5.0]), temperature=0.0, top_k=0, top_p=1.0, u=0.9) == 1


def test_the_smallest_temperature_takes_the_largest():
    for temperature in (1e-3, 1e-300, 5e-324):
        assert sample(LOGITS, temperature=temperature, top_k=0, top_p=1.0, u=0.999) == 1


def test_a_token_without_probability_is_never_taken():
    logits = torch.tensor([-math.inf, 0.3, 0.7, -math.inf])
    assert sample(logits, temperature=1.0, top_k=0, top_p=1.0, u=0.0) == 1
    assert sample(logits, temperature=1.0, top_k=0, top_p=1.0, u=1 - 2**-53) == 2


def test_log_probabilities_are_of_the_whole_distribution():
    assert log_probabilities(LOGITS, [1, 3]) == pytest.approx([math.log(softmax(LOGITS.tolist())[i]) for i in (1, 3)])


class Words:
    """Tokens are bytes of a UTF-8 text."""

    eos_ids = frozenset({0})

    def decode(self, ids):
        return bytes(ids).decode("utf-8", errors="replace")


def feed(decider, text):
    for byte in text:
        verdict = decider.decide(torch.nn.functional.one_hot(torch.tensor(byte), 256).float())
        yield decider.text[: decider.stable]
        if verdict.finish is not None:
            return


def test_half_a_character_and_the_start_of_a_stop_string_are_held_back():
    decider = GenerateDecider(SamplingParams(max_tokens=50, stop=("END",)), 0, Words())
    shown = list(feed(decider, "é ENEND!".encode()))
    assert shown == ["", "é", "é ", "é ", "é ", "é EN", "é EN", "é EN"]
    assert (decider.text, decider.finish_reason) == ("é EN", FinishReason.STOP)


def test_the_start_of_a_stop_string_is_held_back_also_before_half_a_character():
    decider = GenerateDecider(SamplingParams(max_tokens=50, stop=("\n수",)), 0, Words())
    shown = list(feed(decider, "a\n나\n수".encode()))
    assert shown == ["a", "a", "a", "a", "a\n나", "a\n나", "a\n나", "a\n나", "a\n나"]
    assert decider.text == "a\n나"


def test_the_end_of_text_token_ends_the_text_and_is_not_part_of_it():
    decider = GenerateDecider(SamplingParams(max_tokens=50), 0, Words())
    list(feed(decider, b"hi\0more"))
    assert (decider.text, decider.token_ids, decider.finish_reason) == ("hi", [104, 105], FinishReason.STOP)
