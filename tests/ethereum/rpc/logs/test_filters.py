"""Filters that are polled: what they tell is what the store says, all of it, in the end."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from tests.ethereum.live.arrived import Arrived
from tests.ethereum.live.growing import EMITTERS, TOPICS, GrowingChain
from tests.ethereum.live.sessions import LogView
from tests.ethereum.live.test_replay_model import branches, criteria, expected, request_of
from tests.memory_transport import Ask, Client, asking
from tests.slices import result_of
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.logs.filter_changes import ChainFilter, Slices
from wsnode.ethereum.rpc.logs.filter_table import InMemoryFilters
from wsnode.ethereum.rpc.logs.filters import FilterMethods
from wsnode.ethereum.rpc.logs.subscription_options import IdParameters, SubscriptionId
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import RpcError

LOGS = [(EMITTERS[0], TOPICS[:1]), (EMITTERS[1], TOPICS[:2])]


def asker(growing: GrowingChain, limits: CallLimits | None = None) -> tuple[Ask, Hub]:
    hub = Hub(growing.chain)
    registry = build_registry(growing.chain, limits=limits or CallLimits(), hub=hub)
    return asking(Dispatcher(registry, growing.chain.snapshot)), hub


def made(reply: dict[str, Any]) -> str:
    identity: str = reply["result"]
    assert len(identity) == 34
    return identity


@pytest.mark.slow
@settings(
    max_examples=examples(50),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    wanted=criteria,
    limit=st.integers(1, 6),
    script=st.lists(st.tuples(st.integers(0, 4), branches, st.integers(0, 2)), max_size=8),
)
def test_polls_rebuild_the_canonical_logs_whatever_their_limit(
    growing: GrowingChain, wanted: LogFilter, limit: int, script: Sequence[tuple[int, Any, int]]
) -> None:
    growing.clear()
    ask, _hub = asker(growing, CallLimits(logs_results=limit))
    logs, blocks = made(ask("eth_newFilter", request_of(wanted))), made(ask("eth_newBlockFilter"))
    view, hashes = LogView(), list[str]()

    def poll() -> bool:
        found = ask("eth_getFilterChanges", logs)["result"]
        assert len(found) <= limit
        for log in found:
            view.apply({"result": log})
        return bool(found)

    for depth, branch, polls in script:
        growing.reorganise(min(depth, len(growing.blocks)), branch)
        for _ in range(polls):
            poll()
            hashes += ask("eth_getFilterChanges", blocks)["result"]
    while poll():
        pass
    while found := ask("eth_getFilterChanges", blocks)["result"]:
        hashes += found
    assert view.logs == expected(growing, wanted)
    canonical = [f"0x{block.head.hash.hex()}" for block in growing.blocks]
    assert [block_hash for block_hash in hashes if block_hash in canonical] == canonical


def test_all_logs_of_a_filter_are_those_of_get_logs(growing: GrowingChain) -> None:
    ask, _hub = asker(growing)
    growing.grow(LOGS)
    wanted = {"fromBlock": "0x1", "address": f"0x{EMITTERS[1].hex()}"}
    identity = made(ask("eth_newFilter", wanted))
    assert ask("eth_getFilterChanges", identity)["result"] == []
    growing.grow(LOGS)
    found = ask("eth_getFilterLogs", identity)["result"]
    assert found == ask("eth_getLogs", wanted)["result"]
    assert len(found) == 2
    assert ask("eth_getFilterChanges", identity)["result"] == found[1:]


def test_what_is_no_filter_of_logs_has_no_logs(growing: GrowingChain) -> None:
    ask, _hub = asker(growing)
    missing = {"code": -32000, "message": "filter not found"}
    for identity in ("0x1", made(ask("eth_newBlockFilter")), made(ask("eth_newPendingTransactionFilter"))):
        assert ask("eth_getFilterLogs", identity)["error"] == missing
    assert ask("eth_getFilterChanges", "0x1")["error"] == missing


def test_an_uninstalled_filter_is_gone(growing: GrowingChain) -> None:
    ask, _hub = asker(growing)
    identity = made(ask("eth_newBlockFilter"))
    assert [ask("eth_uninstallFilter", identity)["result"] for _ in range(2)] == [True, False]
    assert ask("eth_getFilterChanges", identity)["error"]["message"] == "filter not found"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ([], "missing value for required argument 0"),
        ([None], "missing value for required argument 0"),
        ([{"fromBlock": "pending"}], "pending logs are not supported"),
        ([{"toBlock": "0x2"}], "invalid block range params"),
        ([{"fromBlock": "0x5", "toBlock": "0x2"}], "invalid block range params"),
        ([{"topics": ["0x" + "22" * 32] * 5}], "invalid argument 0: exceed max topics"),
    ],
    ids=lambda value: json.dumps(value)[:40],
)
def test_what_does_not_fit_is_refused_in_geths_words(
    growing: GrowingChain, params: list[Any], message: str
) -> None:
    ask, _hub = asker(growing)
    assert ask("eth_newFilter", *params)["error"] == {"code": -32602, "message": message}


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_filter_lives_five_minutes_behind_its_last_poll(growing: GrowingChain) -> None:
    clock = Clock()
    filters = FilterMethods(Hub(growing.chain).pending, CallLimits(), InMemoryFilters(CallLimits(), clock))
    with growing.chain.snapshot() as view:
        identity = filters.new_block_filter(view).decode().strip('"')
        params = IdParameters(SubscriptionId(identity))
        for _ in range(3):
            clock.now += 299
            assert result_of(filters.changes(view, params)) == b"[]"
        clock.now += 301
        with pytest.raises(RpcError, match="filter not found"):
            result_of(filters.changes(view, params))


def test_there_are_only_so_many_filters(growing: GrowingChain) -> None:
    ask, _hub = asker(growing, CallLimits(filters=2))
    first = made(ask("eth_newBlockFilter"))
    made(ask("eth_newFilter", {}))
    refused = ask("eth_newPendingTransactionFilter")["error"]
    assert refused == {"code": -32005, "message": "too many filters", "data": {"limit": 2}}
    assert ask("eth_uninstallFilter", first)["result"]
    made(ask("eth_newBlockFilter"))


def test_a_key_has_only_its_share_of_filters(growing: GrowingChain) -> None:
    filters = FilterMethods(Hub(growing.chain).pending, CallLimits(filters_per_key=1, filters_parameters=3))
    for name in ("first", "second"):
        with growing.chain.snapshot(Client(key_name=name)) as view:
            filters.new_block_filter(view)
            with pytest.raises(RpcError, match="too many filters"):
                filters.new_block_filter(view)


def in_full(slices: Slices) -> list[Any]:
    """Return what a poll tells, in one piece or in several."""
    told = result_of(slices)
    results: list[Any] = json.loads(told if isinstance(told, bytes) else b"".join(told))
    return results


def test_two_polls_at_once_tell_everything_once(growing: GrowingChain) -> None:
    with growing.chain.snapshot() as view:
        polled = ChainFilter(view)
    growing.reorganise(0, [[]] * 100)
    with growing.chain.snapshot() as view:
        first, second = polled.changes(view, 10_000), polled.changes(view, 10_000)
        next(first)
        next(second)
        assert len(in_full(second)) == 100
        assert in_full(first) == []


def test_a_poll_that_is_overtaken_by_one_of_a_later_view_tells_nothing_again(growing: GrowingChain) -> None:
    filters = FilterMethods(Hub(growing.chain).pending, CallLimits())

    def poll(view: Snapshot) -> Any:
        return filters.changes(view, IdParameters(SubscriptionId(identity)))

    with growing.chain.snapshot() as view:
        identity = json.loads(filters.new_block_filter(view))
    growing.reorganise(0, [[]] * 100)
    with growing.chain.snapshot() as view:
        overtaken, late = poll(view), poll(view)
        next(overtaken)
        growing.grow()
        with growing.chain.snapshot() as later:
            assert len(json.loads(result_of(poll(later)))) == 101
        assert [json.loads(result_of(each)) for each in (overtaken, late)] == [[], []]
    with growing.chain.snapshot() as view:
        assert json.loads(result_of(poll(view))) == []


def test_pending_transactions_are_told_once_and_their_loss_is_told(growing: GrowingChain) -> None:
    ask, hub = asker(growing, CallLimits(logs_results=2))
    hub.pending.announce([Arrived(bytes(32))])
    identity = made(ask("eth_newPendingTransactionFilter"))
    hub.pending.announce([Arrived(bytes([n]) * 32) for n in (1, 2, 3)])

    def poll() -> Any:
        reply = ask("eth_getFilterChanges", identity)
        return reply.get("error") or reply["result"]

    assert [poll() for _ in range(3)] == [["0x" + "01" * 32, "0x" + "02" * 32], ["0x" + "03" * 32], []]
    hub.pending.announce([Arrived(n.to_bytes(32, "big"), size=8 << 20) for n in range(10)])
    assert poll() == {"code": -32005, "message": "pending transactions were missed", "data": {"missed": 6}}
    assert poll() == [f"0x{n:064x}" for n in (6, 7)]
