"""A development chain beside anvil's, asked the same."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from tests.ethereum.development.playground import Playground, playground
from tests.node_process import post
from tests.peers.anvil import ask_url, started_anvil


class Pair(msgspec.Struct, frozen=True):
    """Both nodes."""

    ours: Playground
    url: str

    def both(self, method: str, *params: Any) -> tuple[Any, Any]:
        """Return both results."""
        theirs = ask_url(self.url, method, *params)
        assert "result" in theirs, theirs
        return self.ours(method, *params), theirs["result"]

    def equal(self, method: str, *params: Any) -> Any:
        """Return the result, which must be the same."""
        ours, theirs = self.both(method, *params)
        assert ours == theirs, method
        return ours

    def reply_of_anvil(self, method: str, params: Any) -> dict[str, Any]:
        """Return anvil's whole reply to `params` of any form."""
        text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        reply: dict[str, Any] = json.loads(post(self.url, text))
        return reply


@contextmanager
def beside_anvil(folder: Path, *arguments: str) -> Iterator[Pair]:
    """Start anvil with `arguments`, and open a chain in a folder beside it."""
    with started_anvil(*arguments) as url, playground(folder) as ours:
        yield Pair(ours, url)
