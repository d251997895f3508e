"""Engines that only pretend: a server in this process, and programs that are started as a peer's would be."""

from __future__ import annotations

import json
import stat
import sys
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from arena.bench.peers.base import PeerSettings


@dataclass
class FakeEndpoint:
    """An OpenAI endpoint that plays the last choice it is given. `asked` are the bodies it got."""

    url: str = ""
    asked: list[dict] = field(default_factory=list)
    status: int = 200
    counted: int = 0  # added to the number of prompt tokens
    text: str | None = None
    hang_up: bool = False  # close each connection after its answer, unannounced


@pytest.fixture
def endpoint():
    fake = FakeEndpoint()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.answer({"data": [{"id": "tiny"}]} if self.path == "/v1/models" else {}, 200)

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fake.asked.append(body)
            choices = (body.get("structured_outputs") or {}).get("choice") or ["free text"]
            usage = {
                "prompt_tokens": len(body["prompt"]) + fake.counted,
                "prompt_tokens_details": {"cached_tokens": len(body["prompt"]) - 7},
            }
            text = choices[-1] if fake.text is None else fake.text
            self.answer({"choices": [{"text": text}], "usage": usage}, fake.status)

        def answer(self, body, status):
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            self.close_connection = fake.hang_up

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_port}/v1"
    yield fake
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def settings(tmp_path):
    """A function that makes settings for peers; the model is an empty folder."""

    def make(**fields):
        defaults = {"model": tmp_path, "threads": 1, "slots": 2, "context": 1200, "memory_mb": 2048}
        return PeerSettings(model_name="tiny", **{**defaults, **fields})

    return make


@pytest.fixture
def program(tmp_path):
    """A function that writes a Python program and makes it executable."""

    def make(name, code):
        path = tmp_path / name
        path.write_text(f"#!{sys.executable}\n{code}", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return make
