"""A chain with more logs than a client that does not read has room for."""

import json
import re
import time
import urllib.request
from collections.abc import Callable
from typing import Any, Final

from tests.node_process import PATIENCE, Node, post

EMITTER: Final = "0x" + "e0" * 20
LOGS: Final = 28
EMIT_LONG_LOGS: Final = "0x" + "6120005fa0" * LOGS
"""PUSH2 0x2000, PUSH0, LOG0: logs of 8 KiB, which are 16 in JSON."""
EMIT_A_LOG: Final = "0x5f5fa0"
LONG_BLOCKS: Final = 18
"""About 8 MiB of logs: as much as the kernel and an outbox hold."""


class Chain:
    """A development node with a contract whose calls make logs."""

    def __init__(self, http_url: str, code: str = EMIT_A_LOG) -> None:
        self._url = http_url
        self.call("anvil_setCode", EMITTER, code)
        self._sender = self.call("eth_accounts")[0]
        self.sent: list[str] = []
        """The hashes of all that was emitted."""

    def call(self, method: str, *params: Any) -> Any:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        reply = json.loads(post(self._url, json.dumps(request)))
        assert "result" in reply, reply
        return reply["result"]

    @property
    def height(self) -> int:
        return int(self.call("eth_blockNumber"), 16)

    def emit(self) -> None:
        """Send a call, which is a block of its own."""
        call = {"from": self._sender, "to": EMITTER, "gas": hex(3_000_000)}
        self.sent.append(self.call("eth_sendTransaction", call))

    def emit_until(self, what: str, condition: Callable[[], Any], pause: float) -> None:
        """Emit, at least once, until the condition holds; it has time for that after each emission."""
        deadline = time.monotonic() + PATIENCE
        while True:
            assert time.monotonic() < deadline, f"never: {what}"
            self.emit()
            end = time.monotonic() + pause
            while time.monotonic() < end:
                if condition():
                    return
                time.sleep(0.05)

    def logs(self) -> list[tuple[int, int]]:
        """Return the places of all logs."""
        return [place(log) for log in self.call("eth_getLogs", {"address": EMITTER, "fromBlock": "0x0"})]

    def fill(self, has_filled: Callable[[], Any]) -> None:
        """Produce more than there is room for: first most of it, then little by little."""
        for _ in range(LONG_BLOCKS):
            self.emit()
        while True:
            self.call("hardhat_mine", "0x80")
            self.call("anvil_setCode", EMITTER, EMIT_A_LOG)
            for _ in range(8):
                self.emit()
            if has_filled():
                return
            self.call("anvil_setCode", EMITTER, EMIT_LONG_LOGS)
            self.emit()


def place(log: dict[str, Any]) -> tuple[int, int]:
    return int(log["blockNumber"], 16), int(log["logIndex"], 16)


def fallen_behind(node: Node) -> float:
    with urllib.request.urlopen(node.bare(node.http_url) + "metrics", timeout=PATIENCE) as reply:
        text = reply.read().decode()
    found = re.search(r"^wsnode_subscriptions_lagged_total (\S+)$", text, re.MULTILINE)
    assert found is not None, text
    return float(found[1])
