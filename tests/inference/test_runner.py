"""What the model is given: rows, padded or not."""

import pytest

from inference.types import SamplingParams
from kernels.attention import ROW_TILE


@pytest.mark.parametrize("pad_rows", [True, False])
async def test_rows_are_padded_to_whole_tiles_unless_that_is_switched_off(make_engine, monkeypatch, pad_rows):
    engine = make_engine(pad_rows=pad_rows)
    transformer = engine.model.transformer
    seen, forward, logits = [], type(transformer).forward, type(transformer).logits

    def watched_forward(self, batch, *rest):
        seen.append((len(batch.token_ids), len(batch.output_rows)))
        return forward(self, batch, *rest)

    def watched_logits(self, hidden):
        seen.append((len(hidden),))
        return logits(self, hidden)

    monkeypatch.setattr(type(transformer), "forward", watched_forward)
    monkeypatch.setattr(type(transformer), "logits", watched_logits)
    await engine.generate((1, 2, 3, 4, 5), SamplingParams(max_tokens=2, ignore_eos=True))
    tile = ROW_TILE
    assert seen == ([(tile, tile), (tile,)] * 2 if pad_rows else [(5, 1), (1,), (1, 1), (1,)])
    assert engine.environment().get("pad_rows", True) is pad_rows
