"""What the server refuses, and what every answer carries."""

import socket

import pytest

from arena.web.guard import host_name, names_of

PATHS = (
    "/",
    "/games",
    "/games/1",
    "/games/1/data.json",
    "/games/1/events",
    "/runs/1/live",
    "/static/pages.css",
    "/nix",
)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
@pytest.mark.parametrize("path", ["/", "/games/1", "/static/pages.css"])
def test_nothing_but_get_and_head_is_answered(sample, sample_path, method, path):
    before = sample_path.read_bytes()
    answer = sample.send(method, path, {"Content-Length": "2"}, b"{}")
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
    assert sample_path.read_bytes() == before


@pytest.mark.parametrize("path", PATHS)
def test_head_is_get_without_a_body(sample, path):
    answer = sample.send("HEAD", path)
    assert answer.body == b""
    assert answer.status == (404 if path == "/nix" else 200)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:80",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "127.0.0.2",
        "0.0.0.0",
        "[::2]",
        "[::1]evil.example",
        "localhost:80:80",
        "localhost:x",
        "",
        None,
    ],
)
def test_other_names_than_loopback_s_are_refused(sample, host):
    answer = sample.get("/", Host=host)
    assert answer.status in (400, 421)  # 400: without any Host it is no HTTP/1.1 request
    assert b"sample" not in answer.body


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1234", "127.0.0.1", "[::1]", "[::1]:8000"])
def test_loopback_s_own_names_are_answered(sample, host):
    assert sample.get("/", Host=host).status == 200


def test_a_server_that_others_may_reach_answers_to_any_name():
    assert names_of("0.0.0.0") is None
    assert names_of("192.168.1.5") is None
    assert names_of("127.0.0.5") == {"127.0.0.5", "127.0.0.1", "localhost", "::1"}
    assert names_of("LocalHost") == {"127.0.0.1", "localhost", "::1"}


def test_host_names_are_read_without_port_and_brackets():
    assert host_name("A.example:80") == "a.example"
    assert host_name("[::1]:80") == "::1"
    assert host_name("::1") == ""  # an address with colons needs its brackets
    assert host_name("x:") == ""


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e%2f%2e%2e%2f%2e%2e%2fpyproject.toml",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/..%5capp.py",
        "/static/%00",
        "/static/",
        "/replay/../viewmodel.py",
        "/replay/template.html%00.css",
        "/sample.db",
        "/../sample.db",
    ],
)
def test_paths_lead_nowhere_but_to_our_own_files(sample, path):
    assert sample.get(path).status == 404


@pytest.mark.parametrize(
    "path",
    [
        "/games/0",
        "/games/7",
        "/games/-1",
        "/games/1.5",
        "/games/1e3",
        "/games/0x1",
        "/games/%31%20",
        "/games/%D9%A3",
        f"/games/{2**63}",
        "/games/" + "9" * 5000,
        f"/games/{10**40}/data.json",
        f"/games/{10**40}/events",
        f"/games/1/board.svg?ply={10**40}",
        "/games/1/board.svg?ply=34",
        "/games/1/board.svg?ply=-1",
        "/games/1/board.svg?ply=",
        "/games?before=x",
        f"/games?before={10**40}",
        "/?before=-1",
        "/games?run=" + "9" * 4500,
        "/games?run=x'%20OR%201=1--",
        "/runs/2",
        "/runs/nobody",
        "/runs/%3Cscript%3E",
        f"/runs/{10**40}",
        f"/runs/{'9' * 5000}/engine",
        "/runs/nobody/live",
        "/runs/nobody/live/events",
        "/runs/nobody/standings",
        "/runs/nobody/engine",
    ],
)
def test_what_is_not_in_the_record_is_not_found(sample, path):
    answer = sample.get(path)
    assert answer.status == 404
    assert "Not found" in answer.text or "Games" in answer.text


def test_every_answer_forbids_foreign_and_inline_content(sample):
    for path in (*PATHS[:4], *PATHS[5:]):
        headers = sample.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'"), path
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in headers


def test_a_picture_may_style_itself_but_runs_nothing(sample):
    policy = sample.get("/games/1/board.svg").headers["content-security-policy"]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; sandbox"


def test_a_request_that_is_no_http_leaves_the_server_well(sample):
    host, port = sample.netloc.split(":")
    with socket.create_connection((host, int(port)), timeout=120) as connection:
        connection.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 400")
    assert sample.get("/").status == 200
