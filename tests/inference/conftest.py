"""A tiny random model with a byte tokenizer, which makes engine tests instant."""

import pytest
import torch

from inference.engine import Engine, EngineConfig
from inference.errors import InvalidRequestError
from inference.loader import LoadedModel
from inference.models.config import ModelConfig
from inference.models.transformer import Transformer
from inference.models.weights import assemble, tensor_shapes

BYTES, END_OF_TURN, START_OF_TURN = 256, 256, 257


class ByteTokenizer:
    """A token a byte, and two special tokens around each message."""

    vocab_size = 258
    eos_ids = frozenset({END_OF_TURN})
    end_of_turn_id = END_OF_TURN
    special_ids = frozenset({END_OF_TURN, START_OF_TURN})

    def encode(self, text):
        return list(text.encode())

    def decode(self, ids):
        return bytes(i for i in ids if i < BYTES).decode("utf-8", errors="replace")

    def encode_messages(self, messages):
        ids = []
        for role, content in messages:
            ids += [START_OF_TURN, *f"{role}\n{content}".encode(), END_OF_TURN]
        return (*ids, START_OF_TURN, *b"assistant\n")

    def encode_choices(self, prompt_ids, choices):
        if "" in choices:
            raise InvalidRequestError("an empty choice")
        return [tuple(choice.encode()) for choice in choices]


def make_tiny_model(context_length=4096, seed=0):
    config = ModelConfig(
        family="llama",
        vocab_size=ByteTokenizer.vocab_size,
        hidden_size=32,
        intermediate_size=48,
        layers=2,
        heads=4,
        kv_heads=2,
        head_dim=8,
        context_length=context_length,
        tie_embeddings=True,
    )
    generator = torch.Generator().manual_seed(seed)
    weights = {
        name: torch.ones(shape) if len(shape) == 1 else torch.randn(shape, generator=generator) * 0.3
        for name, shape in tensor_shapes(config).items()
    }
    transformer = Transformer(config, assemble(config, weights.__getitem__, dtype=torch.float32, device="cpu"))
    return LoadedModel(
        name="tiny", transformer=transformer, tokenizer=ByteTokenizer(), config=config, checksum="tiny-random"
    )


@pytest.fixture(scope="session")
def tiny_model():
    return make_tiny_model()


@pytest.fixture
def make_engine(tiny_model):
    """Starts engines on the tiny model with the settings asked for, and closes them after the test."""
    started = []

    def make(model=tiny_model, **settings):
        engine = Engine(
            EngineConfig(**{"page_size": 8, "pages": 1000, "max_batch_tokens": 64, **settings}), model=model
        )
        engine.start()
        started.append(engine)
        return engine

    yield make
    for engine in started:
        engine.close()
