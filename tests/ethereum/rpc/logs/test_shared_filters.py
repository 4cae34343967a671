"""Filters that several processes poll: here two tables on one file, as two processes have them."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ethereum.live.growing import EMITTERS, TOPICS, GrowingChain
from tests.file_limits import files_of_at_most
from tests.memory_transport import Ask, asking
from tests.store.damaged_bytes import flipped
from wsnode.ethereum.head import Head
from wsnode.ethereum.live.branches import head_of
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.pending_feed import PendingSpec
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.logs.filter_changes import ChainFilter, PendingFilter
from wsnode.ethereum.rpc.logs.filter_table import InMemoryFilters
from wsnode.ethereum.rpc.logs.shared_filters import (
    BOOT_ID,
    FILTERS,
    POLLS,
    SharedFilters,
    open_filters,
    since_boot,
)
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import LIMIT_EXCEEDED, RESOURCE_NOT_FOUND, RpcError
from wsnode.jsonrpc.resource_quota import ClientId
from wsnode.store.environment import Environment

LOG = (EMITTERS[0], TOPICS[:1])
OTHER = (EMITTERS[1], TOPICS[:1])
ADDER = """
import sys
from pathlib import Path
from wsnode.ethereum.rpc.logs.shared_filters import POLLS, open_filters
store = open_filters(Path(sys.argv[1]))
def change(writer):
    writer.put(POLLS, b"x" * 42, b"")
    print("inside", flush=True)
    sys.stdin.read()
store.write(change)
"""


class Caller:
    """One that names a key, or none."""

    service_form = False

    def __init__(self, key_name: str | None = None, client: ClientId | None = None) -> None:
        self.key_name = key_name
        self.client = client


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Environment]:
    environment = open_filters(tmp_path / "filters")
    yield environment
    environment.close()


def worker(growing: GrowingChain, store: Environment, limits: CallLimits | None = None) -> Ask:
    limits = limits or CallLimits()
    table = SharedFilters(store, limits)
    registry = build_registry(growing.chain, limits=limits, hub=Hub(growing.chain), filter_table=table)
    return asking(Dispatcher(registry, growing.chain.snapshot))


def hashes(reply: dict[str, Any]) -> list[str]:
    return [log["blockHash"] for log in reply["result"]]


@pytest.mark.parametrize("method", ["eth_newBlockFilter", "eth_newFilter"])
def test_a_filter_that_stood_on_a_lost_block_says_so_and_goes_on_at_the_head(
    growing: GrowingChain, store: Environment, method: str
) -> None:
    growing.clear()
    growing.reorganise(0, [[LOG], [LOG], [LOG]])
    ask = worker(growing, store)
    identity = ask(method, *({},) * (method == "eth_newFilter"))["result"]
    lost = Position.after(Head(BlockNumber(1), Hash32(bytes(32))))
    SharedFilters(store, CallLimits()).move(identity, None, lost)
    assert ask("eth_getFilterChanges", identity)["error"]["code"] == RESOURCE_NOT_FOUND
    assert ask("eth_getFilterChanges", identity)["result"] == []


def test_polls_of_any_worker_go_on_where_the_last_one_ended(
    growing: GrowingChain, store: Environment
) -> None:
    growing.clear()
    workers = [worker(growing, store) for _ in range(2)]
    logs = workers[0]("eth_newFilter", {"address": "0x" + EMITTERS[0].hex()})["result"]
    blocks = workers[1]("eth_newBlockFilter")["result"]
    told, seen = list[str](), list[str]()
    for number in range(6):
        growing.reorganise(0, [[LOG, OTHER]])
        told += hashes(workers[number % 2]("eth_getFilterChanges", logs))
        seen += workers[(number + 1) % 2]("eth_getFilterChanges", blocks)["result"]
        assert workers[number % 2]("eth_getFilterChanges", logs)["result"] == []
    with growing.chain.snapshot() as view:
        canonical = [view.header(number) for number in range(1, 7)]
        expected = ["0x" + head_of(row).hash.hex() for row in canonical if row is not None]
    assert told == seen == expected
    assert hashes(workers[1]("eth_getFilterLogs", logs)) == expected[-1:]
    assert workers[1]("eth_uninstallFilter", logs)["result"] is True
    assert workers[0]("eth_getFilterChanges", logs)["error"]["message"] == "filter not found"
    assert workers[0]("eth_uninstallFilter", logs)["result"] is False


@pytest.mark.parametrize("is_open", [True, False])
def test_filters_with_a_damaged_row_are_begun_anew(
    growing: GrowingChain, store: Environment, tmp_path: Path, caplog: pytest.LogCaptureFixture, is_open: bool
) -> None:
    ask = worker(growing, store)
    identity = ask("eth_newBlockFilter")["result"]
    with store.read() as reader:
        kept = reader.get(FILTERS, identity.encode())
    assert kept is not None
    with flipped(tmp_path / "filters/data.mdb", identity.encode() + kept, len(identity) + 1):
        if not is_open:
            store.close()
            store = open_filters(tmp_path / "filters")
            ask = worker(growing, store)
        assert ask("eth_getFilterChanges", identity)["error"]["message"] == "filter not found"
        other = ask("eth_newBlockFilter")["result"]
        assert ask("eth_getFilterChanges", other)["result"] == []
    assert "all filters are removed, since their file is damaged: " in caplog.text
    store.close()


def test_of_two_polls_at_once_one_gets_the_results(growing: GrowingChain, store: Environment) -> None:
    growing.clear()
    table = SharedFilters(store, CallLimits())
    with growing.chain.snapshot() as view:
        identity = table.add(ChainFilter(view), Caller())
    first, second = table.find(identity, Caller()), table.find(identity, Caller())
    assert isinstance(first, ChainFilter)
    assert isinstance(second, ChainFilter)
    growing.reorganise(0, [[LOG]])
    with growing.chain.snapshot() as view:
        target = Position.after(view.head)
    assert first.advance(first.position, target)
    assert not second.advance(second.position, target)


def test_filters_that_are_not_polled_go(growing: GrowingChain, store: Environment) -> None:
    now = 1000.0
    table = SharedFilters(store, CallLimits(filter_seconds=10), lambda: now)
    with growing.chain.snapshot() as view:
        polled, left = (table.add(ChainFilter(view), Caller()) for _ in range(2))
    now += 6
    assert table.find(polled, Caller()) is not None
    now += 6
    assert table.find(left, Caller()) is None
    assert table.find(polled, Caller()) is not None
    with store.read() as reader:
        assert (reader.entries(FILTERS), reader.entries(POLLS)) == (1, 1)


def test_bounds_hold_for_all_workers_together(growing: GrowingChain, store: Environment) -> None:
    limits = CallLimits(filters=40, filters_per_key=2)
    tables = [SharedFilters(store, limits) for _ in range(2)]

    def add(number: int, caller: Caller, view: Snapshot) -> str:
        return tables[number % 2].add(ChainFilter(view), caller)

    keyed, stranger = Caller("bot"), Caller(client=ClientId("192.0.2.1"))
    with growing.chain.snapshot() as view:
        first = add(0, keyed, view)
        add(1, keyed, view)
        with pytest.raises(RpcError, match="too many filters"):
            add(0, keyed, view)
        assert tables[1].remove(first, keyed)
        add(1, keyed, view)
        # One client has half of them at most.
        for number in range(20):
            add(number, stranger, view)
        with pytest.raises(RpcError, match="too many filters"):
            add(0, stranger, view)


def test_filters_outlive_a_process_that_is_killed_while_it_writes(
    growing: GrowingChain, tmp_path: Path
) -> None:
    folder = tmp_path / "filters"
    store = open_filters(folder)
    table = SharedFilters(store, CallLimits())
    with growing.chain.snapshot() as view:
        identity = table.add(ChainFilter(view), Caller())
    command = [sys.executable, "-c", ADDER, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"inside\n"
        os.kill(writer.pid, 9)
    assert table.find(identity, Caller()) is not None
    with store.read() as reader:
        assert reader.entries(POLLS) == 1
    store.close()


@pytest.mark.parametrize("identity", ["0x", "", "0x" + "ff" * 16, "x" * 34, "0x" + "ff" * 4000])
def test_an_unknown_id_is_not_found(growing: GrowingChain, store: Environment, identity: str) -> None:
    ask = worker(growing, store)
    reply = ask("eth_getFilterChanges", identity)
    assert "error" in reply
    assert SharedFilters(store, CallLimits()).find(identity, Caller()) is None


@pytest.mark.parametrize("mine", ["bot", None])
@pytest.mark.parametrize("kept", ["file", "memory"])
def test_a_filter_is_of_the_key_that_made_it(
    growing: GrowingChain, store: Environment, kept: str, mine: str | None
) -> None:
    table = SharedFilters(store, CallLimits()) if kept == "file" else InMemoryFilters(CallLimits())
    feed = Hub(growing.chain).pending
    with growing.chain.snapshot() as view:
        for new in (ChainFilter(view), PendingFilter(feed, PendingSpec(False))):
            identity = table.add(new, Caller(mine))
            for other in {"bot", "other", None} - {mine}:
                assert table.find(identity, Caller(other)) is None
                assert not table.remove(identity, Caller(other))
            assert table.find(identity, Caller(mine)) is not None
            assert table.remove(identity, Caller(mine))
            assert table.find(identity, Caller(mine)) is None


def test_filters_are_polled_on_a_full_disk_and_new_ones_refused(
    growing: GrowingChain, store: Environment, caplog: pytest.LogCaptureFixture
) -> None:
    growing.clear()
    ask = worker(growing, store)
    kept, left = (ask("eth_newBlockFilter")["result"] for _ in range(2))
    no_room = {"code": LIMIT_EXCEEDED, "message": "no room for filters"}
    with files_of_at_most(1):
        for _ in range(3):
            assert ask("eth_getFilterChanges", kept)["result"] == []
            assert ask("eth_newBlockFilter")["error"] == no_room
            assert ask("eth_uninstallFilter", left)["error"] == no_room
    assert ask("eth_newBlockFilter")["result"] != kept
    growing.reorganise(0, [[LOG]])
    with files_of_at_most(1):
        # Another worker would give them once more: they stay until it can be said that they were given.
        assert ask("eth_getFilterChanges", kept)["error"] == no_room
    assert len(ask("eth_getFilterChanges", kept)["result"]) == 1
    assert ask("eth_getFilterChanges", kept)["result"] == []
    assert caplog.text.count("filters cannot be written") == 2
    assert "Traceback" not in caplog.text


def test_filters_expire_on_a_full_disk_too(growing: GrowingChain, store: Environment) -> None:
    now = 1000.0
    table = SharedFilters(store, CallLimits(filter_seconds=10), lambda: now)
    with growing.chain.snapshot() as view:
        identity = table.add(ChainFilter(view), Caller())
    with files_of_at_most(1):
        now += 9
        assert table.find(identity, Caller()) is not None
        now += 2
        assert table.find(identity, Caller()) is None


def test_after_a_start_of_the_machine_filters_last_as_if_polled_then(
    growing: GrowingChain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, boot = tmp_path / "filters", tmp_path / "boot"
    store = open_filters(folder)
    later = since_boot() + 1_000_000
    with growing.chain.snapshot() as view:
        identity = SharedFilters(store, CallLimits(), lambda: later).add(ChainFilter(view), Caller())
    store.close()
    boot.write_bytes(BOOT_ID.read_bytes().swapcase()[::-1])
    monkeypatch.setattr("wsnode.ethereum.rpc.logs.shared_filters.BOOT_ID", boot)
    store = open_filters(folder)
    now = since_boot()
    table = SharedFilters(store, CallLimits(filter_seconds=10), lambda: now)
    assert table.find(identity, Caller()) is not None
    now += 11
    assert table.find(identity, Caller()) is None
    with store.read() as reader:
        assert (reader.entries(FILTERS), reader.entries(POLLS)) == (0, 0)
    store.close()
