"""Redis itself, on a socket in a folder of its own; what it holds is gone with it."""

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

REDIS = shutil.which("redis-server")
needs_redis = pytest.mark.skipif(REDIS is None, reason="there is no redis-server on the path")
STARTING_SECONDS = 60


class RedisServer:
    """A server that can be killed, and started again with nothing in it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "redis"
        self._log = folder / "log"
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self.path}"

    def start(self) -> None:
        assert REDIS is not None
        options = ("--port", "0", "--unixsocket", str(self.path), "--save", "", "--appendonly", "no")
        with self._log.open("ab") as log:
            self._server = subprocess.Popen((REDIS, *options), stdout=log, stderr=log)
        until = time.monotonic() + STARTING_SECONDS
        while not self.answers():
            assert self._server.poll() is None, self._log.read_text()
            assert time.monotonic() < until, self._log.read_text()

    def answers(self) -> bool:
        try:
            return self.ask("PING") == b"+PONG\r\n"
        except OSError:
            return False

    def ask(self, command: str) -> bytes:
        """Return the beginning of the reply to a command without arguments that have spaces."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(STARTING_SECONDS)
            client.connect(str(self.path))
            client.sendall(f"{command}\r\n".encode())
            return client.recv(1 << 16)

    def signal(self, number: int) -> None:
        assert self._server is not None
        self._server.send_signal(number)

    def kill(self) -> None:
        """End it as a power failure would."""
        if self._server is not None:
            self._server.kill()
            self._server.wait()
            self._server = None


@contextmanager
def started_redis() -> Iterator[RedisServer]:
    """Run a server until the end, in a folder whose name is short enough for a socket's."""
    with tempfile.TemporaryDirectory(prefix="redis") as folder:
        server = RedisServer(Path(folder))
        try:
            server.start()
            yield server
        finally:
            server.kill()
