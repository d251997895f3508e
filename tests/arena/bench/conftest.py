"""The load in the tokens of the default model."""

import pytest

from agents.prompt_files import PromptLibrary
from arena.bench.workload import Load, make_workload
from arena.resources import data_path


@pytest.fixture(scope="session")
def make_load(real_model):
    """A function that makes the requests of a load."""
    history = PromptLibrary(data_path("prompts")).load("uci-history", "chess")

    def make(**fields):
        return make_workload(history, real_model.tokenizer, Load(**{"in_flight": 2, "plies": 4, **fields}))

    return make
