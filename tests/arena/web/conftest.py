"""A server over the test's record, and a client that sends exactly what it is told to."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import pytest

from arena.events import AttemptRecord, DecisionRecord
from arena.store.records import NewAgent, NewGame
from arena.store.runs import create_run
from arena.web.sample import write_sample
from arena.web.serve import serving


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)


class Client:
    """One request a connection; paths and headers go out as they are."""

    def __init__(self, url):
        self.url = url.rstrip("/")
        self.netloc = urlsplit(url).netloc

    def send(self, method, path, headers=None, body=None):
        connection = http.client.HTTPConnection(self.netloc, timeout=120)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in {"Host": self.netloc, **(headers or {})}.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            headers = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, headers, answer.read())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.send("GET", path, headers)

    def events(self, path):
        """The events of a stream as JSON, one after the other, for as long as it is read."""
        connection = http.client.HTTPConnection(self.netloc, timeout=120)
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.status == 200
        assert answer.getheader("content-type").startswith("text/event-stream")
        try:
            while line := answer.readline():
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])
        finally:
            connection.close()


@pytest.fixture
def web(database, db_path):
    """A client of a server over the test's own record."""
    with serving(db_path) as url:
        yield Client(url)


@pytest.fixture(scope="session")
def sample_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("web") / "sample.db"
    write_sample(path)
    return path


@pytest.fixture(scope="session")
def sample(sample_path):
    """A client of a server over the sample record, which nobody writes to."""
    with serving(sample_path) as url:
        yield Client(url)


HOSTILE = "<script>document.title='taken'</script>" + "A" * 10_000 + "\u202e\x1b[2J"


@pytest.fixture
def hostile(database, scribe, new_run):
    """A run, filled by its Scribe, in which everything that others wrote tries to be markup and is very long."""
    agents = (NewAgent(HOSTILE, "llm"), NewAgent("<b>bob</b>", "random"))
    game = NewGame(0, HOSTILE, "<b>bob</b>", "chess", 1, 200, "threefold", opening="<i>o</i>")
    run = scribe()
    run.run = create_run(database, replace(new_run(), agents=agents, games=(game,)))
    decision = DecisionRecord(options=((HOSTILE, 0.5), ("<b>bob</b>", 0.25)), taken=1)
    run.write(run.started(2), run.played(2, "e2e4", attempts=(AttemptRecord(text=HOSTILE),), decisions=(decision,)))
    run.write(run.failed(2, text=HOSTILE, failure="unparsable", detail="<u>no move</u>"))
    run.write(run.ended(2, "1-0", "forfeit-unparsable", detail="<img src=x onerror=alert(1)>"))
    return run
