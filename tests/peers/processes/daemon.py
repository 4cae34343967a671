"""A node in a process of its own that is killed and started again at the same address."""

import json
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Any, Self

from tests.node_process import PATIENCE


class Daemon:
    """A command that serves JSON-RPC at `url`; what it logs is appended to a file."""

    def __init__(self, command: Sequence[str], url: str, log: Path) -> None:
        self.url = url
        self._command = command
        self._log = log
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Return once it answers."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(self._command, stdout=log, stderr=log)
        end = time.monotonic() + PATIENCE
        while not self._answers():
            assert self.process.poll() is None, f"it ended: {self._last_lines()}"
            assert time.monotonic() < end, f"it does not start: {self._last_lines()}"
            time.sleep(0.05)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Return once it has ended."""
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(PATIENCE)
            self.process = None

    def kill_and_start(self) -> None:
        """Kill it at whatever it is doing, and start it again."""
        self.stop(signal.SIGKILL)
        self.start()

    def ask(self, method: str, *params: Any) -> Any:
        """Return the result of a call."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        request = urllib.request.Request(self.url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            reply = json.load(answer)
        assert "error" not in reply, (method, params, reply)
        return reply["result"]

    def head(self) -> tuple[int, str]:
        """Return the number and the hash of its head."""
        found = self.ask("eth_getBlockByNumber", "latest", False)
        return int(found["number"], 16), found["hash"]

    def _answers(self) -> bool:
        try:
            self.ask("eth_chainId")
        except (OSError, HTTPException, ValueError):
            return False
        return True

    def _last_lines(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-20:])
