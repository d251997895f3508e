"""What a template costs and how often it is right at once, measured on an engine whose answers are known."""

from __future__ import annotations

import pytest

from agents.prompt_files import PromptLibrary
from arena.bench.prompts import measure_prompt
from arena.resources import data_path
from inference.types import ChoiceReply, FinishReason, Reply, Usage

USAGE = Usage(prompt_tokens=100, cached_tokens=75, forwarded_tokens=30, generated_tokens=4, passes=3)


class Answering:
    """Gives a legal answer in free text at every second question."""

    def __init__(self) -> None:
        self.asked = 0
        self.chosen = 0

    async def generate(self, prompt, params, *, timeout_s=None):
        if params.max_tokens == 1:  # warming up
            return Reply("", (), FinishReason.LENGTH, 0)
        self.asked += 1
        return Reply("O-O-O-O" if self.asked % 2 else self.legal, (), FinishReason.STOP, 0, USAGE)

    async def choose(self, prompt, choices, *, temperature=1.0, seed=None, terminator=None, timeout_s=None):
        self.chosen += 1
        self.legal = choices[0]
        return ChoiceReply(choices[0], (), FinishReason.CHOICE, 0, USAGE, index=0)


@pytest.mark.parametrize("game", ["chess", "janggi"])
async def test_costs_and_legality_are_averages_over_all_plies(game):
    engine = Answering()
    template = PromptLibrary(data_path("prompts")).load("uci-history", game)
    figures = await measure_prompt(engine, template, games=1, plies=6)
    assert (engine.chosen, engine.asked) == (6, 6)
    assert (figures.template, figures.game, figures.legal_first, figures.legal_share) == ("uci-history", game, 3, 0.5)
    for cost in (figures.constrained, figures.free):
        assert (cost.moves, cost.forwarded_tokens, cost.passes, cost.cached_share) == (6, 30, 3, 0.75)


async def test_a_template_that_cannot_be_constrained_is_measured_in_free_text_only():
    engine = Answering()
    engine.legal = '{"move": "none"}'
    figures = await measure_prompt(
        engine, PromptLibrary(data_path("prompts")).load("explain-json", "chess"), games=2, plies=3
    )
    assert figures.constrained is None
    assert (engine.chosen, figures.free.moves, figures.legal_first) == (0, 6, 0)
