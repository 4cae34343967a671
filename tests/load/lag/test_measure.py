"""Subscribers to a node whose notifications are known."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection

from tests.load.answering import answering, refusal, reply, silent
from wsnode.load.lag.drive import DriveError, choose
from wsnode.load.lag.measure import LagPlan, LagResult, measure_lag
from wsnode.load.lag.notice import CALLS, HEADS, LOGS
from wsnode.load.node_reader import NodeReader
from wsnode.load.report import lag as report

ANVIL = {"evm_mine", "eth_subscribe"}
GETH = {"eth_accounts", "eth_sendTransaction", "eth_subscribe"}


class Development:
    """A node that makes a block at each call, and tells each head to the first subscriber twice.

    A run ends once the last one heard of the last block: what is sent before that is read by then.
    """

    def __init__(self, methods: set[str], logs: int = 0, *, doubles: bool = True) -> None:
        self.calls: list[str] = []
        self.most_blocks = 1 << 62
        self._methods = methods
        self._logs = logs
        self._doubles = doubles
        self._lock = threading.Lock()
        self._blocks = 0
        self._subscribers: list[tuple[ServerConnection, str]] = []
        self.watched: list[str] = []
        """The data of calls that were subscribed to."""

    def converse(self, connection: ServerConnection) -> None:
        for message in connection:
            request = json.loads(message)
            method = request["method"]
            with self._lock:
                self.calls.append(method)
                if method not in self._methods or (method == "evm_mine" and self._blocks >= self.most_blocks):
                    connection.send(refusal(request, "no such method"))
                    continue
                if method == "eth_subscribe":
                    self._subscribers.append((connection, request["params"][0]))
                    calls = request["params"][1]["calls"] if request["params"][0] == CALLS else []
                    self.watched += (call["data"] for call in calls)
                elif method != "eth_accounts":
                    self._make_block()
                connection.send(reply(request, ["0x1"] if method == "eth_accounts" else "0x1"))
                if method == "eth_subscribe" and request["params"][0] == CALLS:
                    first = {"blockHash": f"{self._blocks:#066x}", "complete": True, "results": []}
                    params = {"subscription": "0x1", "result": first}
                    connection.send(json.dumps({"method": "eth_subscription", "params": params}))

    def _make_block(self) -> None:
        self._blocks += 1
        block = f"{self._blocks:#066x}"
        for place, (connection, kind) in enumerate(self._subscribers):
            doubled = self._doubles and place == 0
            for result in self._results(block, kind, times=2 if doubled else 1):
                params = {"subscription": hex(place), "result": result}
                # Those of a run before have left.
                with suppress(ConnectionClosed):
                    connection.send(json.dumps({"method": "eth_subscription", "params": params}))

    def _results(self, block: str, kind: str, times: int) -> Iterator[dict[str, Any]]:
        if kind == HEADS:
            yield from [{"hash": block}] * times
        elif kind == CALLS:
            yield {"blockHash": block, "results": [{"index": 0, "result": block}]}
        else:
            yield from ({"blockHash": block, "logIndex": hex(index)} for index in range(self._logs))


@contextmanager
def development(
    methods: set[str], logs: int = 0, *, doubles: bool = True
) -> Iterator[tuple[str, Development]]:
    node = Development(methods, logs, doubles=doubles)
    with answering(node.converse) as url:
        yield url, node


def measured(url: str, plan: LagPlan) -> LagResult:
    return measure_lag(url, plan, silent)


def test_each_subscriber_hears_of_each_block_and_doubled_ones_are_counted() -> None:
    with development(ANVIL) as (url, node):
        lag = measured(url, LagPlan(subscribers=3, interval=0.01, seconds=0.3))
    blocks = lag.tally.blocks
    assert lag.drive == "evm_mine"
    assert blocks == node.calls.count("evm_mine") - 1 > 0
    assert lag.tally.heard == {HEADS: 3 * blocks}
    assert lag.tally.doubled == {HEADS: blocks}
    assert (lag.tally.missed.total(), lag.tally.unheard, lag.lost) == (0, 0, [])
    assert len(lag.tally.after_call.latencies[HEADS]) == 3 * blocks
    # This node tells its subscribers first.
    assert lag.tally.before_reply > 0


def test_logs_come_from_transactions_of_the_nodes_own_account() -> None:
    plan = LagPlan(subscribers=2, kinds=(HEADS, LOGS), logs=5, interval=0.01, seconds=0.2)
    with development(GETH | ANVIL, logs=5, doubles=False) as (url, node):
        lag = measured(url, plan)
    assert lag.drive == "eth_sendTransaction"
    assert "evm_mine" not in node.calls
    assert lag.tally.heard == {HEADS: 2 * lag.tally.blocks, LOGS: 10 * lag.tally.blocks}
    assert (lag.tally.missed.total(), lag.tally.doubled.total()) == (0, 0)


def test_each_subscriber_hears_of_its_calls() -> None:
    plan = LagPlan(subscribers=2, kinds=(HEADS, CALLS), calls=3, interval=0.01, seconds=0.2)
    with development(ANVIL, doubles=False) as (url, node):
        lag = measured(url, plan)
    assert lag.tally.heard == {HEADS: 2 * lag.tally.blocks, CALLS: 2 * lag.tally.blocks}
    assert (lag.tally.missed.total(), lag.tally.doubled.total()) == (0, 0)
    assert len(set(node.watched)) == len(node.watched) == 6
    lines = list(report.lines([lag], plan))
    assert "\nlag: 2 subscribers of newHeads and calls (3 each), 0.2 s" in lines
    assert any(line.startswith("calls after the first") for line in lines)


def test_a_node_that_makes_no_blocks_is_listened_to() -> None:
    with development({"eth_subscribe"}) as (url, _node):
        lag = measured(url, LagPlan(subscribers=2, seconds=0.1))
    assert (lag.drive, lag.tally.blocks) == (None, 0)
    (line,) = (line for line in report.lines([lag], LagPlan()) if line.endswith("made by others"))
    assert line.startswith("0 blocks in ")


def test_a_refused_subscription_is_an_error() -> None:
    with development(set()) as (url, _node), pytest.raises(ConnectionError, match="eth_subscribe: -32000 no"):
        measured(url, LagPlan(subscribers=1, seconds=0.1))


@pytest.mark.parametrize(
    ("way", "logs", "methods", "words"),
    [
        ("mine", 0, {"eth_subscribe"}, "anvil_mine: -32000 no such method"),
        ("send", 0, ANVIL, "eth_accounts: -32000 no such method"),
        ("mine", 1, ANVIL, "--drive send"),
    ],
)
def test_a_way_that_a_node_does_not_offer_is_an_error(
    way: str, logs: int, methods: set[str], words: str
) -> None:
    with (
        development(methods) as (url, _node),
        NodeReader(url) as asker,
        pytest.raises(DriveError, match=words),
    ):
        choose(asker, way, logs)


def test_a_node_that_makes_no_more_blocks_has_results_until_then() -> None:
    with development(ANVIL, doubles=False) as (url, node):
        node.most_blocks = 4
        lag = measured(url, LagPlan(subscribers=2, interval=0.0, seconds=60))
    assert lag.failure == "evm_mine: -32000 no such method"
    assert lag.tally.heard == {HEADS: 2 * 3}


def test_the_user_may_end_it() -> None:
    with development({"eth_subscribe"}) as (url, _node):
        lag = measure_lag(url, LagPlan(subscribers=1, seconds=600), lambda _text: True)
    assert lag.seconds < 600


def test_the_results_are_told_in_each_form() -> None:
    plan = LagPlan(subscribers=2, kinds=(HEADS, LOGS), logs=2, interval=0.01, seconds=0.1)
    with development(GETH, logs=2, doubles=False) as (url, _node):
        found = [measured(url, plan) for _ in range(2)]
    told = json.loads(json.dumps(report.document(found, plan)))
    for node, lag in zip(told["nodes"], found, strict=True):
        assert node["kinds"]["logs"]["heard"] == 4 * lag.tally.blocks
        assert node["kinds"]["logs"]["missed"] == 0
    lines = list(report.lines(found, plan))
    assert any(line.startswith("B logs after the call") for line in lines)
    page = report.page(found, plan)
    assert page.count("<svg") == 6
    assert "B newHeads" in page
