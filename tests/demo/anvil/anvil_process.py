"""`wsnode anvil` in a process of its own, started as anvil's users start anvil."""

import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.node_process import COMMAND, PATIENCE
from tests.peers.anvil import ask_url

# Copies its input, calls the console with it, and reverts if the input has an odd number of bytes.
SAYING = (
    "0x602c80600b6000396000f3"
    "365f5f375f5f365f73000000000000000000636f6e736f6c652e6c6f675afa5060013616602857005b5f5ffd"
)


class InAnvilsPlace:
    """A running `wsnode anvil`: its URL, and what it has printed."""

    def __init__(self, process: subprocess.Popen[str], stderr: Path) -> None:
        self.process = process
        self._stderr = stderr
        self.lines: list[str] = []
        self.url = ""
        self._rest = threading.Thread(target=self._read)

    def begin(self) -> None:
        """Read the output until it says where it listens, and the rest beside."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if line.startswith("Listening on "):
                self.url = f"http://{line.split()[-1]}/"
                self._rest.start()
                return
        raise AssertionError(f"it ended before it listened: {self._stderr.read_text()}")

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.lines += (line.rstrip("\n") for line in self.process.stdout)

    def answer(self, method: str, *params: Any) -> Any:
        """Return the whole reply."""
        return ask_url(self.url, method, *params)

    def __call__(self, method: str, *params: Any) -> Any:
        """Return the result."""
        reply = self.answer(method, *params)
        assert "error" not in reply, reply
        return reply["result"]

    def send(self, **members: Any) -> Any:
        """Return the receipt of a transaction, of the first account's unless it names another."""
        sender = members.pop("sender", None) or self("eth_accounts")[0]
        return self("eth_getTransactionReceipt", self("eth_sendTransaction", {"from": sender, **members}))

    def ended(self) -> list[str]:
        """Return all lines of standard output, after the process has ended."""
        self.process.terminate()
        assert self.process.wait(PATIENCE) == 0
        if self._rest.ident is not None:
            self._rest.join()
        return self.lines

    @property
    def stderr(self) -> str:
        """Return what is on standard error so far."""
        return self._stderr.read_text()


@contextmanager
def in_anvils_place(
    tmp_path: Path, *arguments: str, command: Sequence[str] = (*COMMAND, "anvil")
) -> Iterator[InAnvilsPlace]:
    """Start `wsnode anvil`, or anvil by its `command`, on a free port, and stop it in the end."""
    stderr = tmp_path / "stderr.txt"
    with (
        stderr.open("w") as file,
        subprocess.Popen(
            [*command, "--port", "0", *arguments], stdout=subprocess.PIPE, stderr=file, text=True
        ) as process,
    ):
        started = InAnvilsPlace(process, stderr)
        try:
            started.begin()
            yield started
        finally:
            process.terminate()
            process.wait(PATIENCE)
