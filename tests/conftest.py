"""What all tests share."""

import getpass
import secrets
import shutil
import socket
import subprocess
import time

import pytest
from hypothesis import HealthCheck, settings

from inference.loader import find_model

# How long an example takes says how busy the machine is.
settings.register_profile("no stopwatch", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no stopwatch")


@pytest.fixture(scope="session")
def real_model():
    """SmolLM2-135M, through the path that a user's first run takes."""
    return find_model("smollm2-135m").load()


@pytest.fixture(scope="session")
def int8_model():
    """The same in 8 bits."""
    return find_model("smollm2-135m").load(weights="int8")


MOSQUITTO = shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin:/opt/homebrew/sbin")


class Mosquitto:
    """A real broker on a port of its own, which keeps nothing when it stops."""

    def __init__(self, folder, port=None, options=()):
        self.port = port or free_port()
        self.url = f"mqtt://127.0.0.1:{self.port}"
        self._config = folder / f"mosquitto-{self.port}.conf"
        always = [f"listener {self.port} 127.0.0.1", "persistence false", f"user {getpass.getuser()}"]
        lines = [*always, *(options or ["allow_anonymous true"])]
        self._config.write_text("\n".join(lines) + "\n")
        self._process = None

    def start(self):
        self._process = subprocess.Popen(
            [MOSQUITTO, "-c", str(self._config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self._process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.01)
        raise AssertionError("mosquitto does not listen")

    @property
    def running(self):
        return self._process is not None

    def kill(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def free_port():
    """A port that nobody listens on, and none of those that the system gives to whoever asks for any."""
    while True:
        port = 10_000 + secrets.randbelow(20_000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


@pytest.fixture
def new_broker(tmp_path, monkeypatch):
    """A function that makes a Mosquitto, not started yet. Connections to it end only when it does."""
    if MOSQUITTO is None:
        pytest.skip("the program mosquitto is not installed")
    monkeypatch.setattr("agents.mqtt.broker.TIMEOUT_S", 60.0)
    monkeypatch.setattr("agents.mqtt.broker.KEEPALIVE_S", 600)
    made = []

    def make(**options):
        made.append(Mosquitto(tmp_path, **options))
        return made[-1]

    yield make
    for broker in made:
        broker.kill()


@pytest.fixture
def mosquitto(new_broker):
    return new_broker().start()
