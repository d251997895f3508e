"""What all tests share."""

import getpass
import shutil
import socket
import subprocess
import time

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
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.01)
        raise AssertionError("mosquitto does not listen")

    def kill(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def new_broker(tmp_path):
    """A function that makes a Mosquitto, not started yet."""
    if MOSQUITTO is None:
        pytest.skip("the program mosquitto is not installed")
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
