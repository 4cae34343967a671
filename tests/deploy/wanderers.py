"""Clients that move between nodes behind a balancer, and see whether what they were promised is kept."""

import json
import random
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from http.client import HTTPException
from typing import Any, Final

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

SECONDS: Final = 10.0
SHORTEST_STAY: Final = 0.3
MAX_STAY: Final = 2.0

Place = tuple[int, str, int]
"""A log's block by number and hash, and its index."""


class MissedError(Exception):
    """A node lacks what the client has seen, or is about to stop: another one is asked."""


class Wanderer(threading.Thread):
    """One client, with one connection after another and requests over HTTP between them."""

    def __init__(self, address: str, emitter: str, seed: int) -> None:
        super().__init__(daemon=True)
        self._address = address
        self._emitter = emitter
        self._random = random.Random(seed)
        self._is_over = threading.Event()
        self.cursor: str | None = None
        self.logs: list[Place] = []
        """The logs that it believes in, in the chain's order."""
        self.seen = ""
        """The last block that it has seen, as `NUMBER:HASH`."""
        self.broken: list[str] = []
        """Promises that were not kept."""
        self.visits = self.removals = self.misses = self.requests = self.shorter = 0

    def end(self) -> None:
        """Make no more connections."""
        self._is_over.set()

    def run(self) -> None:
        """Move on until the end."""
        while not self._is_over.is_set():
            try:
                self._ask_over_http()
                self._visit()
            except MissedError:
                self.misses += 1
                # Its end leaves that node with the fewest connections: at once it would get the same one.
                self._pause()
            except (OSError, HTTPException, WebSocketException):
                # The node has gone, also in the middle of a reply, or is behind: 503.
                self._pause()
            except Exception as error:
                self.broken.append(repr(error))
                return

    def _pause(self) -> None:
        time.sleep(self._random.uniform(0.02, 0.2))

    def _visit(self) -> None:
        query = f"?min_block={self.seen}" if self.seen else ""
        stay = time.monotonic() + self._random.uniform(SHORTEST_STAY, MAX_STAY)
        with connect(f"ws://{self._address}/{query}", open_timeout=SECONDS, max_size=None) as node:
            self.visits += 1
            asked = _Asking(node, self)
            self._check(asked.batch(self._questions()))
            begin = {"cursor": self.cursor} if self.cursor else {"fromBlock": "earliest", "cursors": True}
            asked.call("eth_subscribe", "logs", {"address": self._emitter, **begin})
            while (left := stay - time.monotonic()) > 0:
                with suppress(TimeoutError):
                    asked.take(json.loads(node.recv(timeout=left)))

    def _questions(self) -> list[dict[str, Any]]:
        """Return calls of one batch, which sees one head, about the last block that was seen."""
        number, _, block_hash = self.seen.partition(":")
        calls: list[tuple[str, list[Any]]] = [("eth_blockNumber", [])]
        if self.seen:
            calls.append(("eth_getBlockByHash", [block_hash, False]))
            calls.append(("eth_getBlockByNumber", [hex(int(number)), False]))
        return [
            {"jsonrpc": "2.0", "id": place, "method": method, "params": params}
            for place, (method, params) in enumerate(calls)
        ]

    def _check(self, replies: list[dict[str, Any]]) -> int:
        """Check the replies, and return the head's number: nothing may be older than what was seen.

        Raises:
            MissedError: The chain has grown shorter, and others have higher blocks already.
        """
        if any("error" in reply for reply in replies):
            raise MissedError(str(replies))
        head, *blocks = (reply["result"] for reply in replies)
        if self.seen:
            self._check_blocks(int(head, 16), *blocks)
        return int(head, 16)

    def _check_blocks(self, head: int, seen: Any, canonical: Any) -> None:
        number = self.seen.partition(":")[0]
        if seen is None:
            self.broken.append(f"null for {self.seen}")
        elif head < int(number) and canonical is not None:
            self.broken.append(f"{head} after {self.seen}")
        elif head >= int(number) and canonical is None:
            self.broken.append(f"no block {number} at {head}")
        # A lower head is one of a reorganisation that dropped the block.
        self.shorter += head < int(number)

    def _ask_over_http(self) -> None:
        demand = {"wsnode-min-block": self.seen} if self.seen else {}
        headers = {"Content-Type": "application/json", **demand}
        body = json.dumps(self._questions()).encode()
        request = urllib.request.Request(f"http://{self._address}/", body, headers)
        with urllib.request.urlopen(request, timeout=SECONDS) as reply:
            number, block = self._check(json.loads(reply.read())), reply.headers["wsnode-block"]
        self.requests += 1
        if number != int(block.partition(":")[0]):
            self.broken.append(f"{number} said to be of {block}")
        self.seen = block

    def take(self, params: dict[str, Any]) -> None:
        """Take a notification of logs."""
        if "result" not in params:
            return
        log = params["result"]
        place = int(log["blockNumber"], 16), log["blockHash"], int(log["logIndex"], 16)
        if log["removed"]:
            self.removals += 1
            if not self.logs or self.logs.pop() != place:
                self.broken.append(f"{place} is taken back out of order")
        elif place in self.logs[-64:]:
            self.broken.append(f"{place} twice")
        else:
            self.logs.append(place)
            if place[0] >= int(self.seen.partition(":")[0] or 0):
                self.seen = f"{place[0]}:{place[1]}"
        self.cursor = params["cursor"]


class _Asking:
    """Calls on one connection, whose notifications go to the wanderer."""

    def __init__(self, node: ClientConnection, wanderer: Wanderer) -> None:
        self._node = node
        self._wanderer = wanderer
        self._count = 0

    def call(self, method: str, *params: Any) -> Any:
        """Return the result.

        Raises:
            MissedError: The node refuses because it lacks a block or is about to stop.
        """
        self._count += 1
        request = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}
        reply = self._reply(request)
        if "error" in reply:
            if reply["error"]["code"] in (-32001, -32005):
                raise MissedError(reply["error"]["message"])
            raise AssertionError(reply)
        return reply["result"]

    def batch(self, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the replies to a batch."""
        replies: list[dict[str, Any]] = self._reply(requests)
        return replies

    def _reply(self, request: Any) -> Any:
        self._node.send(json.dumps(request))
        while True:
            message = json.loads(self._node.recv(timeout=SECONDS))
            if isinstance(message, list) or "id" in message:
                return message
            self.take(message)

    def take(self, message: dict[str, Any]) -> None:
        """Take what is no reply."""
        if message.get("method") == "eth_subscription":
            self._wanderer.take(message["params"])
