"""geth itself, on the playground's chain, making no blocks."""

import json
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple

from tests.geth_process import STARTING_SECONDS, started_geth


class Geth(NamedTuple):
    """A node that was started."""

    url: str
    socket_url: str

    def ask(self, method: str, *params: Any) -> dict[str, Any]:
        """Return a reply without its envelope."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        posted = urllib.request.Request(
            self.url, json.dumps(request).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(posted, timeout=STARTING_SECONDS) as reply:
            members: dict[str, Any] = json.load(reply)
        return {name: members[name] for name in members.keys() & {"result", "error"}}


@contextmanager
def geth(folder: Path, *, period: int = 100_000) -> Iterator[Geth]:
    """Run geth until the end; it has one empty block on the genesis.

    It makes a block every `period` seconds, or of each transaction where that is 0: then it has no block.
    """
    options = ("--dev.period", str(period), "--http.api", "eth,txpool,debug")
    with (
        as_file(files("wsnode.demo") / "genesis.json") as genesis,
        started_geth(folder, genesis, *options) as addresses,
    ):
        yield _at_block(Geth(*addresses), "0x1" if period else "0x0")


def _at_block(node: Geth, first: str) -> Geth:
    end = time.monotonic() + STARTING_SECONDS
    while node.ask("eth_blockNumber") != {"result": first}:
        assert time.monotonic() < end, "geth makes no block"
        time.sleep(0.1)
    return node
