"""Clients that move between the nodes behind a balancer, and record notifications and replies."""

import json
import random
import threading
import time
import urllib.error
import urllib.request
from abc import abstractmethod
from collections import Counter
from contextlib import suppress
from http.client import HTTPException
from typing import Any, Final

from eth_account import Account
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import ClientConnection, connect

from tests.cluster.faults.histories import Answer, Failed, Header, Log, Mark, Place, Reorganised, Sent

SECONDS: Final = 15.0
"""For an answer: longer than a pause lasts."""
MAX_STAY: Final = 8.0
SEND_SECONDS: Final = 0.3
BEHIND: Final = -32001
STOPPING: Final = "the node is about to stop"
HARMLESS: Final = (-32005, -32006)
"""The client was too slow, and what it missed follows; the node restarts."""
INTERNAL_ERROR: Final = 1011
RECIPIENT: Final = "0x" + "22" * 20


class Client(threading.Thread):
    """Asks again and again, whatever happens to the connection."""

    def __init__(self, name: str, address: str, seed: int) -> None:
        super().__init__(name=name, daemon=True)
        self.address = address
        self.random = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []
        """Of the client itself, which ended with them."""
        self._is_over = threading.Event()

    def end(self) -> None:
        self._is_over.set()

    def run(self) -> None:
        while not self._is_over.is_set():
            try:
                self.visit()
            except (OSError, HTTPException, WebSocketException, NodeLaggingError):
                # The node has gone, also in the middle of a reply, is behind, or lacks what another one has.
                self.counts["refused or cut"] += 1
                self._is_over.wait(self.random.uniform(0.05, 0.5))
            except Exception as error:
                self.failures.append(f"{self.name}: {error!r}")
                return

    @property
    def is_over(self) -> bool:
        return self._is_over.is_set()

    @abstractmethod
    def visit(self) -> None:
        """Ask once, or be connected for a while."""

    def post(self, content: Any, **headers: str) -> tuple[Any, str]:
        """Return the reply, and the block on which it was computed."""
        told = {"Content-Type": "application/json", **headers}
        request = urllib.request.Request(f"http://{self.address}/", json.dumps(content).encode(), told)
        with urllib.request.urlopen(request, timeout=SECONDS) as reply:
            return json.loads(reply.read()), reply.headers["wsnode-block"]


class NodeLaggingError(Exception):
    """A node does not have a block that the client has seen."""


class Subscriber(Client):
    """Continues one subscription by its cursor on one connection after another."""

    KIND: str

    def __init__(self, name: str, address: str, seed: int) -> None:
        super().__init__(name, address, seed)
        self.cursor: str | None = None

    def begin(self) -> dict[str, Any]:
        """Return the options of the first subscription, beyond the cursor's."""
        return {}

    @abstractmethod
    def take(self, params: dict[str, Any]) -> None:
        """Record a notification."""

    @abstractmethod
    def fail(self, reason: str) -> None:
        """Record what should never be told."""

    def visit(self) -> None:
        stay = time.monotonic() + self.random.uniform(0.3, MAX_STAY)
        try:
            with connect(f"ws://{self.address}/", open_timeout=SECONDS, max_size=None) as node:
                self._subscribe(node)
                self.counts["resumptions"] += self.cursor is not None
                self._listen(node, stay)
        except ConnectionClosed as error:
            if error.rcvd is not None and error.rcvd.code == INTERNAL_ERROR:
                self.fail(f"closed with {error.rcvd.code}: {error.rcvd.reason}")
            raise

    def _subscribe(self, node: ClientConnection) -> None:
        begin = {"fromBlock": "earliest", "cursors": True} if self.cursor is None else {"cursor": self.cursor}
        params = [self.KIND, {**begin, **self.begin()}]
        node.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": params}))
        reply = json.loads(node.recv(timeout=SECONDS))
        if "error" in reply:
            self.counts[reply["error"]["message"]] += 1
            if reply["error"]["code"] == BEHIND or reply["error"]["message"] == STOPPING:
                raise NodeLaggingError(reply["error"]["message"])
            self.fail(str(reply["error"]))

    def _listen(self, node: ClientConnection, stay: float) -> None:
        while (left := stay - time.monotonic()) > 0 and not self.is_over:
            with suppress(TimeoutError):
                params = json.loads(node.recv(timeout=left))["params"]
                if "error" in params:
                    self._take_error(params["error"])
                else:
                    self.take(params)
                    self.cursor = params["cursor"]

    def _take_error(self, error: dict[str, Any]) -> None:
        self.counts[error["message"]] += 1
        if error["code"] not in HARMLESS:
            self.fail(str(error))


class LogSubscriber(Subscriber):
    """Has the logs of a contract."""

    KIND = "logs"

    def __init__(self, name: str, address: str, seed: int, emitter: str) -> None:
        super().__init__(name, address, seed)
        self._emitter = emitter
        self.told: list[Log | Failed] = []

    def begin(self) -> dict[str, Any]:
        return {"address": self._emitter}

    def take(self, params: dict[str, Any]) -> None:
        self.told.append(Log(place_of(params["result"]), params["result"]["removed"]))

    def fail(self, reason: str) -> None:
        self.told.append(Failed(reason))


class HeadSubscriber(Subscriber):
    """Has the chain of heads, with notices of reorganisations."""

    KIND = "newHeads"

    def __init__(self, name: str, address: str, seed: int) -> None:
        super().__init__(name, address, seed)
        self.told: list[Header | Reorganised | Failed] = []

    def begin(self) -> dict[str, Any]:
        return {"reorgs": True}

    def take(self, params: dict[str, Any]) -> None:
        if "reorg" in params:
            told = params["reorg"]
            dropped = [mark_of(each) for each in told["dropped"]]
            self.told.append(Reorganised(mark_of(told["commonAncestor"]), dropped))
        else:
            self.told.append(Header(mark_of(params["result"]), params["result"]["parentHash"]))

    def fail(self, reason: str) -> None:
        self.told.append(Failed(reason))


def mark_of(block: dict[str, Any]) -> Mark:
    return int(block["number"], 16), block["hash"]


def place_of(log: dict[str, Any]) -> Place:
    return int(log["blockNumber"], 16), log["blockHash"], int(log["logIndex"], 16)


class Demanding(Client):
    """Demands the block that it has seen last, over HTTP and in handshakes."""

    def __init__(self, name: str, address: str, seed: int) -> None:
        super().__init__(name, address, seed)
        self._seen: Mark | None = None
        self.told: list[Answer] = []

    def visit(self) -> None:
        if self._seen is not None and self.random.random() < 0.5:
            replies = self._shake_hands(self._seen)
        else:
            replies = self._ask_over_http()
        if any("error" in reply for reply in replies):
            raise NodeLaggingError(str(replies))
        head = replies[0]["result"]
        if self._seen is not None:
            is_known = replies[1]["result"] is not None
            self.told.append(Answer(self._seen, int(head["number"], 16), is_known=is_known))
        self._seen = mark_of(head)
        time.sleep(self.random.uniform(0.0, 0.2))

    def _shake_hands(self, seen: Mark) -> Any:
        url = f"ws://{self.address}/?min_block={seen[0]}:{seen[1]}"
        with connect(url, open_timeout=SECONDS, max_size=None) as node:
            node.send(json.dumps(self._questions()))
            return json.loads(node.recv(timeout=SECONDS))

    def _ask_over_http(self) -> Any:
        demand = {} if self._seen is None else {"wsnode-min-block": f"{self._seen[0]}:{self._seen[1]}"}
        return self.post(self._questions(), **demand)[0]

    def _questions(self) -> list[dict[str, Any]]:
        """Return calls of one batch, which has one head."""
        calls: list[tuple[str, list[Any]]] = [("eth_getBlockByNumber", ["latest", False])]
        if self._seen is not None:
            calls.append(("eth_getBlockByHash", [self._seen[1], False]))
        return [
            {"jsonrpc": "2.0", "id": place, "method": method, "params": params}
            for place, (method, params) in enumerate(calls)
        ]


class Sender(Client):
    """Sends a transfer through the replicas until it is in a block, and then the next one."""

    def __init__(self, name: str, address: str, seed: int, key: str, begin: float) -> None:
        super().__init__(name, address, seed)
        self._key = key
        self.account: str = Account.from_key(key).address
        self._begin = begin
        self.told: list[Sent] = []
        self.raw: dict[str, str] = {}
        """The transactions that were acknowledged, by their hashes."""

    def visit(self) -> None:
        nonce = self._call("eth_getTransactionCount", self.account, "latest")
        if "result" in nonce:
            self._send(int(nonce["result"], 16))
        time.sleep(SEND_SECONDS)

    def _send(self, nonce: int) -> None:
        transfer = {"to": RECIPIENT, "value": 1, "gas": 21000, "gasPrice": 10**11, "nonce": nonce}
        signed = Account.from_key(self._key).sign_transaction({**transfer, "chainId": 31337})
        raw = "0x" + signed.raw_transaction.hex()
        reply = self._call("eth_sendRawTransaction", raw)
        if "result" in reply:
            self.raw[reply["result"]] = raw
            self.told.append(Sent(reply["result"], time.monotonic() - self._begin))
        else:
            self.counts[reply["error"]["message"].partition(":")[0]] += 1

    def _call(self, method: str, *params: Any) -> Any:
        return self.post({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})[0]
