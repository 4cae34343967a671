"""A client that keeps what its subscriptions say is on the chain, whatever becomes of its connections."""

import json
import threading
from types import TracebackType
from typing import Any, Final

from websockets.exceptions import InvalidHandshake, WebSocketException
from websockets.sync.client import ClientConnection, connect

from tests.node_process import PATIENCE
from tests.starknet.block_changes import Json
from tests.starknet.reference.made_blocks import KINDS, MadeBlocks, notifications, without_finality

READS_SLOWLY: Final = -32005
RETRY_SECONDS: Final = 0.05


class View:
    """The items of one subscription: those of the chain, in order, and all that ever came."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.items: list[Json] = []
        self.received: list[Json] = []
        self.reorganisations = 0
        self.cursor: str | None = None

    def apply(self, method: str, params: Any) -> None:
        """Take a notification."""
        if "error" in params:
            # What was missed follows.
            assert params["error"]["code"] == READS_SLOWLY, params
            self.cursor = params["error"]["data"]["cursor"]
            return
        self.cursor, result = params["cursor"], params["result"]
        if method.endswith("Reorg"):
            lowest = result["starting_block_number"]
            self.items = [item for item in self.items if item["block_number"] < lowest]
            self.reorganisations += 1
            return
        assert not self.items or result["block_number"] >= self.items[-1]["block_number"], result
        self.items.append(without_finality(result))
        self.received.append(self.items[-1])


class Watcher:
    """A thread with a connection to a node, which comes back and resumes by cursors when that ends."""

    def __init__(self, url: str, first: int) -> None:
        """Prepare to watch a node from a block on."""
        self._url = url
        self._first = first
        self._views = {kind: View(kind) for kind in KINDS}
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._connection: ClientConnection | None = None
        self._failure: BaseException | None = None
        self.connections = 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Watcher":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        if (connection := self._connection) is not None:
            connection.close()
        self._thread.join(PATIENCE)

    def has_exactly(self, made: MadeBlocks, head: str) -> bool:
        """Return whether each subscription has all of the chain that ends in a block, and nothing else up to
        it.
        """
        if self._failure is not None:
            raise self._failure
        blocks = made.branch(head)
        with self._lock:
            views = [(view.kind, list(view.items)) for view in self._views.values()]
        for kind, items in views:
            first = items[0]["block_number"] if items else self._first
            assert first <= self._first, "it has missed the first blocks"
            wanted = [item for block in blocks[first:] for item in notifications(kind, block)]
            if [item for item in items if item["block_number"] < len(blocks)] != wanted:
                return False
        return True

    def count_false(self, made: MadeBlocks) -> int:
        """Return how many of all items that ever came are of no block that was made."""
        with self._lock:
            received = [(view.kind, list(view.received)) for view in self._views.values()]
        assert all(items for _, items in received)
        return sum(
            item["block_hash"] not in made or item not in notifications(kind, made[item["block_hash"]])
            for kind, items in received
            for item in items
        )

    @property
    def reorganisations(self) -> int:
        """Return how many reorganisations each subscription was sent, the least of all."""
        return min(view.reorganisations for view in self._views.values())

    def _run(self) -> None:
        try:
            while not self._is_over.is_set():
                try:
                    with connect(self._url, max_size=None) as self._connection:
                        self.connections += 1
                        self._converse(self._connection)
                except (OSError, EOFError, InvalidHandshake, WebSocketException):
                    self._is_over.wait(RETRY_SECONDS)
        except BaseException as error:
            self._failure = error

    def _converse(self, connection: ClientConnection) -> None:
        for number, view in enumerate(self._views.values()):
            start = {"block_id": {"block_number": self._first}, "cursors": True}
            params = start if view.cursor is None else {"cursor": view.cursor}
            method = f"starknet_subscribe{view.kind}"
            connection.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        views = list(self._views.values())
        by_identity: dict[str, View] = {}
        for text in connection:
            message = json.loads(text)
            if "method" not in message:
                assert "result" in message, message
                by_identity[message["result"]] = views[message["id"]]
                continue
            with self._lock:
                by_identity[message["params"]["subscription_id"]].apply(message["method"], message["params"])
