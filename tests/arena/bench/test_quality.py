import math

import pytest
import torch

from arena.bench.quality import TEXTS, Likeness, compare, overall, read_text


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_long_enough_to_tell_models_apart(name):
    assert len(read_text(name).split()) > 300


def test_a_model_is_like_itself(real_model):
    ids = real_model.tokenizer.encode(read_text("plain"))[:40]
    found = compare("plain", ids, real_model, real_model)
    assert (found.tokens, found.ratio, found.same_top, found.kl) == (39, 1.0, 1.0, 0.0)


def test_perplexity_is_that_of_the_models_own_logits(real_model, monkeypatch):
    ids = real_model.tokenizer.encode("The capital of France is Paris, and that of Italy is Rome.")
    monkeypatch.setattr("arena.bench.quality.ROWS", 8)  # in two passes
    found = compare("x", ids, real_model, real_model)
    transformers = pytest.importorskip("transformers")
    from inference.catalogue import model_folder

    reference = transformers.LlamaForCausalLM.from_pretrained(model_folder("smollm2-135m"), dtype=torch.float32)
    with torch.inference_mode():
        loss = reference(torch.tensor([ids]), labels=torch.tensor([ids])).loss
    assert found.perplexity == pytest.approx(math.exp(loss), rel=1e-4)


def test_the_8_bit_model_is_as_good_as_it_has_to_be(real_model, int8_model):
    ids = real_model.tokenizer.encode(read_text("chess"))[:500]
    found = compare("chess", ids, int8_model, real_model)
    assert found.ratio < 1.015
    assert found.same_top > 0.92
    assert 0 < found.kl < 0.008


def test_all_texts_together_are_weighed_by_their_tokens():
    both = overall([Likeness("a", 10, 4.0, 2.0, 1.0, 0.0), Likeness("b", 30, 4.0, 4.0, 0.6, 0.4)])
    assert both.tokens == 40
    assert both.same_top == pytest.approx(0.7)
    assert both.kl == pytest.approx(0.3)
    assert both.perplexity == pytest.approx(4.0)
    assert both.ratio == pytest.approx(2**0.25)
