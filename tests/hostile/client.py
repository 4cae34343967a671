"""An honest client: it follows heads and logs on one connection, makes calls, and checks all messages.

The connection is that of an ordinary library, with its defaults: it leaves a node that does not answer a ping
within twenty seconds.
"""

import json
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.hostile.source import DEEPEST, LOGS, Scene, balance_call
from tests.hostile.views import Heads, Logs, Message, ViewError, difference, digest_of

CALL_SECONDS = 0.5
RESUME_CALLS = 20
"""Calls until a subscription is ended, and another one goes on at its cursor."""
SETTLED = 2 * DEEPEST
"""Blocks below the last one, at least, that a client takes for final."""
SEARCHED_BLOCKS = 10
PATIENCE = 120.0
PING_SECONDS = 20.0
"""The library's own; other tests are more patient."""
TURN_SECONDS = 0.05
KEPT_FAILURES = 20


class Report(NamedTuple):
    """What a client has to say in the end."""

    name: str
    failures: Sequence[str]
    notices: Counter[str]
    """Of reading too slowly and of reorganisations, by what they are."""
    waits: Sequence[float]
    """Seconds to each reply."""
    resumed: int
    close: int | None
    """The code with which the node said goodbye."""


class Ending:
    """The chain in the end, once that is known."""

    def __init__(self) -> None:
        self.hashes: Sequence[str] = ()
        self.logs: Sequence[bytes] = ()
        self.failures: Sequence[str] = ()
        self._known = threading.Event()

    def be(self, hashes: Sequence[str], logs: Sequence[bytes], failures: Sequence[str]) -> None:
        """Let clients come to their end; `failures` are those of asking for the chain."""
        self.hashes, self.logs, self.failures = hashes, logs, failures
        self._known.set()

    def is_known(self) -> bool:
        """Return whether clients should come to their end."""
        return self._known.is_set()


class Following:
    """A subscription: where it is, and what takes its notifications."""

    def __init__(self, kind: str, options: Message, take: Callable[[Message], None]) -> None:
        self.kind, self.take = kind, take
        self.identity: str | None = None
        self.cursor: str | None = None
        self._options = options

    def params(self, first: int) -> list[object]:
        """Return those of `eth_subscribe`: to begin at a block, or to go on."""
        start = {"cursor": self.cursor} if self.cursor else {"fromBlock": hex(first), "cursors": True}
        return [self.kind, {**self._options, **start}]


class Client:
    """One connection, with at most one call in flight."""

    def __init__(self, url: str, source: str, scene: Scene, number: int) -> None:
        self.name = f"client {number} at {source}"
        self._scene = scene
        self._socket = connect(url, max_size=None, ping_timeout=PING_SECONDS, source_address=(source, 0))
        self._heads, self._logs = Heads(scene.first), Logs()
        reorgs = {"reorgs": True} if number % 2 else {}
        self._followings = (
            Following("newHeads", reorgs, self._heads.take),
            Following("logs", {"address": scene.contract, **reorgs}, self._logs.take),
        )
        self._recent: deque[tuple[int, str]] = deque(maxlen=64)
        """Blocks with logs, and transactions that left them."""
        self._failures: list[str] = []
        self._notices = Counter[str]()
        self._waits: list[float] = []
        self._calls = number
        self._resumed = 0
        self._identity = 0
        self._began = 0.0
        self._judge: Callable[[Any], None] | None = None
        """What takes the result of the call in flight."""

    def live(self, ending: Ending) -> None:
        """Follow the chain until its end, and compare all received events with it."""
        try:
            self._follow(ending)
            self._wait_rest(ending)
        except ConnectionClosed as error:
            self._fail(f"the connection ended: {error}")
        self._failures += ending.failures
        self._failures += difference("heads", self._heads.hashes, ending.hashes)
        self._failures += difference("logs", self._logs.digests, ending.logs)

    def _follow(self, ending: Ending) -> None:
        due = time.monotonic() + CALL_SECONDS
        for following in self._followings:
            self._subscribe(following)
            while self._judge:
                self._receive(TURN_SECONDS)
        while not ending.is_known() or self._judge:
            if self._judge is None and time.monotonic() >= due:
                due = time.monotonic() + CALL_SECONDS
                self._begin_call()
            self._receive(TURN_SECONDS)

    def _wait_rest(self, ending: Ending) -> None:
        """Wait for what is still on its way, but not for ever."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and not self._has_all(ending):
            self._receive(TURN_SECONDS)

    def wait_close(self) -> int | None:
        """Return the code with which the node says goodbye."""
        try:
            while True:
                self._socket.recv(PATIENCE)
        except ConnectionClosed as error:
            return error.rcvd.code if error.rcvd else None
        except TimeoutError:
            return None

    def report(self, close: int | None) -> Report:
        """Return what happened."""
        return Report(self.name, self._failures, self._notices, self._waits, self._resumed, close)

    def _has_all(self, ending: Ending) -> bool:
        if (len(self._heads.hashes), len(self._logs.digests)) != (len(ending.hashes), len(ending.logs)):
            return False
        return self._heads.hashes == ending.hashes and self._logs.digests == ending.logs

    def _fail(self, text: str) -> None:
        if len(self._failures) < KEPT_FAILURES:
            self._failures.append(text)

    # What it asks.

    def _ask(self, judge: Callable[[Any], None], method: str, *params: object) -> None:
        self._identity += 1
        self._judge, self._began = judge, time.monotonic()
        request = {"jsonrpc": "2.0", "id": self._identity, "method": method, "params": params}
        self._socket.send(json.dumps(request))

    def _begin_call(self) -> None:
        self._calls += 1
        if not self._calls % RESUME_CALLS:
            self._resume(self._followings[self._calls // RESUME_CALLS % 2])
            return
        ask = (self._ask_balance, self._ask_token, self._ask_logs, self._ask_receipt)[self._calls % 4]
        ask()

    def _subscribe(self, following: Following) -> None:
        def judge(identity: str) -> None:
            following.identity = identity

        self._ask(judge, "eth_subscribe", *following.params(self._scene.first))

    def _resume(self, following: Following) -> None:
        def judge(was_there: bool) -> None:
            self._expect("eth_unsubscribe", was_there, True)
            following.identity = None
            self._subscribe(following)
            self._resumed += 1

        self._ask(judge, "eth_unsubscribe", following.identity)

    def _ask_balance(self) -> None:
        expected = self._scene.balance
        params = (self._scene.owner, "latest")
        self._ask(lambda result: self._expect("eth_getBalance", result, expected), "eth_getBalance", *params)

    def _ask_token(self) -> None:
        expected = self._scene.holding
        params = (balance_call(self._scene.token, self._scene.sender), "latest")
        self._ask(lambda result: self._expect("eth_call", result, expected), "eth_call", *params)

    def _ask_logs(self) -> None:
        if (last := self._settled()) < self._scene.first:
            self._ask_balance()
            return
        first = max(self._scene.first, last - SEARCHED_BLOCKS + 1)
        bounds = {"fromBlock": hex(first), "toBlock": hex(last)}

        def judge(result: list[Message]) -> None:
            self._expect("eth_getLogs", [*map(digest_of, result)], self._logs.between(first, last))

        self._ask(judge, "eth_getLogs", {"address": self._scene.contract, **bounds})

    def _ask_receipt(self) -> None:
        settled = [place for place in self._recent if place[0] <= self._settled()]
        if not settled:
            self._ask_balance()
            return
        number, transaction = settled[-1]

        def judge(result: Message) -> None:
            found = {*map(digest_of, result["logs"])}
            mine = found.intersection(self._logs.between(number, number))
            self._expect("logs of eth_getTransactionReceipt", (len(found), found), (LOGS, mine))

        self._ask(judge, "eth_getTransactionReceipt", transaction)

    def _settled(self) -> int:
        """Return the last block that will stay, and of which all logs have come."""
        return min(self._heads.last, self._logs.last) - SETTLED

    def _expect(self, method: str, result: object, expected: object) -> None:
        if result != expected:
            self._fail(f"{method}: {str(result)[:200]} instead of {str(expected)[:200]}")

    # Received messages.

    def _receive(self, seconds: float) -> None:
        try:
            message = json.loads(self._socket.recv(seconds))
        except TimeoutError:
            self._look_at_patience()
            return
        if message.get("method") == "eth_subscription":
            self._notified(message["params"])
        elif self._judge and message.get("id") == self._identity:
            self._answered(message)
        else:
            self._fail(f"an unexpected message: {str(message)[:200]}")

    def _look_at_patience(self) -> None:
        if self._judge and time.monotonic() > self._began + PATIENCE:
            self._fail(f"no reply in {PATIENCE:g} s")
            self._judge = None

    def _answered(self, message: Message) -> None:
        judge, self._judge = self._judge, None
        self._waits.append(time.monotonic() - self._began)
        if "result" not in message or judge is None:
            self._fail(f"an error: {str(message)[:300]}")
        elif message["result"] is None:
            self._fail("null instead of a result")
        else:
            judge(message["result"])

    def _notified(self, params: Message) -> None:
        found = [each for each in self._followings if each.identity == params["subscription"]]
        if not found:
            self._fail(f"an unknown subscription: {str(params)[:200]}")
            return
        (following,) = found
        try:
            self._take(following, params)
        except ViewError as error:
            self._fail(f"{following.kind}: {error}")
        following.cursor = params.get("cursor", following.cursor)

    def _take(self, following: Following, params: Message) -> None:
        if "error" in params:
            self._notices[f"{following.kind} {params['error']['code']}"] += 1
        elif "reorg" in params:
            self._notices[f"{following.kind} reorg"] += 1
            if following.kind == "newHeads":
                self._heads.reorganise(params["reorg"])
        else:
            following.take(params["result"])
            self._remember(params["result"])

    def _remember(self, result: Message) -> None:
        """Keep a log's transaction, to ask for its receipt."""
        if "logIndex" not in result:
            return
        place = int(result["blockNumber"], 16), result["transactionHash"]
        if result["removed"]:
            self._recent = deque((each for each in self._recent if each != place), self._recent.maxlen)
        elif not self._recent or self._recent[-1] != place:
            self._recent.append(place)
