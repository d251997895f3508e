"""What all tests share."""

import pytest

from inference.loader import load_model


@pytest.fixture(scope="session")
def real_model():
    """SmolLM2-135M, through the path that a user's first run takes."""
    return load_model("smollm2-135m")


@pytest.fixture(scope="session")
def int8_model():
    """The same in 8 bits."""
    return load_model("smollm2-135m", weights="int8")
