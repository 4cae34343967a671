"""`calls`: what a client holds is what eth_call returns, whatever happens to the chain or to the client."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from tests.drawing import examples
from tests.ethereum.live.growing import EMITTERS, SENDER, GrowingChain, emitting_genesis
from tests.ethereum.live.sessions import Node, ValueWatcher, open_node
from tests.ethereum.live.values.test_state import (
    SLOTS,
    STORE,
    STRANGER,
    Grow,
    Patch,
    Reorganise,
    blocks_of,
    growth,
    patching,
)
from tests.live.client import Client
from tests.live.steps import common_steps, take_common_step
from tests.node_process import PATIENCE
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.live.values import calls as feed
from wsnode.ethereum.live.values.calls import CallFeed
from wsnode.ethereum.live.values.feed import LIST_BYTES
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.state import LiveBytes
from wsnode.server.access.api_keys import ApiKey, KeyLimits
from wsnode.server.limits import Limits

STORE_CODE = "36602014600e576020355f3555005b5f355480600314602057 5f5260205ff3005b5f5260205ffd".replace(
    " ", ""
)
"""Writes the second word of a call into the slot of the first; returns the slot of a single word.

A slot that holds 3 makes it revert with that word.
"""
BALANCES = b"\xd2" * 20
"""A contract that returns the balance of an account."""
CLOCK = b"\xd3" * 20
"""A contract that returns the block's number."""
CHOOSING = b"\xd4" * 20
"""A contract that returns the balance of one of some accounts, which the last slot of the other one names."""
CHOSEN = 0xBEEF00
CHOOSING_CODE = f"60025f526020602060205f73{STORE.hex()}5afa5060205162{CHOSEN:06x}01315f5260205ff3"
GAS = 50_000_000


def hexed(data: bytes) -> str:
    return f"0x{data.hex()}"


def read_of(slot: bytes) -> dict[str, str]:
    return {"to": hexed(STORE), "data": hexed(slot)}


def balance_of(address: bytes) -> dict[str, str]:
    return {"to": hexed(BALANCES), "input": f"0x{bytes(12).hex()}{address.hex()}"}


WATCHED: list[dict[str, str]] = [
    *map(read_of, SLOTS),
    balance_of(SENDER),
    balance_of(STRANGER),
    read_of(SLOTS[0]),
    {"from": hexed(STRANGER), "to": hexed(STORE), "data": hexed(SLOTS[1]), "value": "0x2"},
    {"to": hexed(STORE), "data": hexed(SLOTS[2]), "gas": "0x5300"},
    {"to": hexed(CLOCK)},
    {"data": "0x600a5f5360015ff3"},
    {"to": hexed(CHOOSING)},
]


@pytest.fixture
def storing(tmp_path: Path) -> Iterator[GrowingChain]:
    with Chain.open(tmp_path, called_genesis(), writer=True, durable=False) as chain:
        yield GrowingChain(chain)


def called_genesis() -> bytes:
    content = json.loads(emitting_genesis())
    codes = {STORE: STORE_CODE, BALANCES: "5f35315f5260205ff3", CLOCK: "435f5260205ff3"}
    codes[CHOOSING] = CHOOSING_CODE
    for place in range(4):
        content["alloc"][f"{CHOSEN + place:040x}"] = {"balance": hex(1000 + place)}
    for address, code in codes.items():
        content["alloc"][address.hex()] = {"balance": "0x0", "code": f"0x{code}"}
    return json.dumps(content).encode()


def feed_of(node: Node) -> CallFeed:
    owners = [work.__self__ for work in node.hub.background]  # type: ignore[attr-defined]
    (found,) = {owner for owner in owners if isinstance(owner, CallFeed)}
    return found


async def rest(node: Node) -> None:
    """Wait until no call is due, and all that was sent has arrived."""
    for _ in range(3):
        await wait_all_tasks_blocked()
        await feed_of(node).wait_rest()
    await wait_all_tasks_blocked()


async def outcomes(client: Client, block: Any) -> list[dict[str, Any]]:
    """Return what eth_call makes of the watched calls, each with the gas of a live call."""
    found: list[dict[str, Any]] = []
    for call in WATCHED:
        reply = await client.call("eth_call", {"gas": hex(GAS), **call}, block)
        found.append({name: reply[name] for name in reply if name in ("result", "error")})
    return found


class Watcher(ValueWatcher):
    """A client that holds the outcomes, from one connection to the next."""

    def __init__(self, node: Node, *, pauses: bool) -> None:
        super().__init__(node, "calls", {"calls": WATCHED}, "results", pauses=pauses)
        self.held: dict[int, dict[str, Any]] = {}
        self.told: list[tuple[str, dict[int, dict[str, Any]]]] = []
        """After each notification, the block that it names and what is held."""

    def _apply(self, params: dict[str, Any]) -> None:
        self._cursor, result = params["cursor"], params["result"]
        assert list(result)[:3] == ["blockNumber", "blockHash", "timestamp"]
        if "complete" in result:
            assert result["complete"] is True
            self.held = {}
        indices = [entry.pop("index") for entry in result["results"]]
        assert indices == sorted(set(indices))
        for index, entry in zip(indices, result["results"], strict=True):
            assert self.held.get(index) != entry, "an equal outcome"
            self.held[index] = entry
        self.told.append((result["blockHash"], dict(self.held)))


async def run(growing: GrowingChain, script: Sequence[Any], *, pauses: bool, checks: bool) -> None:
    async with open_node(growing, limits=Limits(outbox_bytes=4096 if pauses else 1 << 20)) as node:
        watchers = [Watcher(node, pauses=pauses) for _ in range(2)]
        for watcher in watchers:
            await watcher.come()
        await rest(node)
        for step in script:
            match step:
                case Grow():
                    growing.reorganise(0, blocks_of(step))
                case Reorganise(depth):
                    growing.reorganise(min(depth, len(growing.blocks)), blocks_of(step))
                case Patch(slot, value, balance):
                    diff = {hexed(SLOTS[slot]): f"0x{value:064x}"}
                    accounts = {hexed(STORE): {"stateDiff": diff}, hexed(STRANGER): {"balance": hex(balance)}}
                    growing.patch(json.dumps(accounts).encode())
                case _:
                    await take_common_step(growing, node.hub, watchers, step)
        node.hub.advance()
        for watcher in watchers:
            await watcher.come()
            watcher.read_on()
        await rest(node)
        other = await node.connect()
        wanted = await outcomes(other, "latest")
        for watcher in watchers:
            watcher.take()
            assert [watcher.held[index] for index in range(len(WATCHED))] == wanted
            await watcher.go(0)
        if checks:
            canonical = {hexed(block.head.hash) for block in growing.blocks}
            for block_hash, held in (told for watcher in watchers for told in watcher.told):
                if block_hash in canonical:
                    there = await outcomes(other, {"blockHash": block_hash})
                    assert [held[index] for index in range(len(WATCHED))] == there
        await rest(node)
        table = feed_of(node).table
        assert (len(feed_of(node)), table.bytes, table.each_block, table.has_due) == (0, 0, 0, False)


IN_EITHER_MODE = [
    pytest.param(False, LIST_BYTES, id="reads"),
    pytest.param(True, LIST_BYTES, id="reads slowly"),
    pytest.param(False, 0, id="all calls at each step"),
]
"""Whether a client pauses, and the bytes of the lists by which the calls of a step are found."""


@pytest.fixture(params=["keys", "all", "slices"])
def exactness(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Find what changed by the lists of the state, or run all calls at each step, as in any doubt.

    With slices of a single run, blocks come between the runs of one subscription.
    """
    if request.param != "keys":
        monkeypatch.setattr(feed, "LIST_BYTES", 0)
    if request.param == "slices":
        monkeypatch.setattr(feed, "SLICE_SECONDS", 0.0)


@pytest.mark.slow
@pytest.mark.usefixtures("exactness")
@pytest.mark.parametrize("pauses", [False, True], ids=["reads", "reads slowly"])
@settings(
    max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(script=st.lists(growth | common_steps, max_size=12))
def test_a_client_holds_the_outcomes_at_each_block_that_it_is_told(
    storing: GrowingChain, pauses: bool, script: list[Any]
) -> None:
    storing.clear()
    trio.run(lambda: run(storing, script, pauses=pauses, checks=True))


@pytest.mark.slow
@pytest.mark.parametrize(("pauses", "list_bytes"), IN_EITHER_MODE)
@settings(
    max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(script=st.lists(patching, max_size=12))
def test_a_client_holds_the_outcomes_of_a_patched_head(
    storing: GrowingChain,
    pauses: bool,
    list_bytes: int,
    monkeypatch: pytest.MonkeyPatch,
    script: list[Any],
) -> None:
    monkeypatch.setattr(feed, "LIST_BYTES", list_bytes)
    storing.clear()
    # The state that a block had before it was patched cannot be asked any more.
    trio.run(lambda: run(storing, script, pauses=pauses, checks=False))


def results(client: Client, name: str) -> list[dict[str, Any]]:
    return [params["result"] for params in client.told[name] if "result" in params]


async def test_the_first_notification_is_complete_and_later_ones_have_what_changed(
    storing: GrowingChain,
) -> None:
    async with open_node(storing) as node:
        client = await node.connect()
        name = await client.subscribe("calls", {"calls": WATCHED})
        await rest(node)
        first = await outcomes(client, "latest")
        head = storing.grow([(STORE, (SLOTS[1], (3).to_bytes(32)))])
        node.hub.advance()
        await rest(node)
        complete, changed = results(client, name)
        assert complete["complete"] is True
        assert complete["results"] == [{"index": index, **entry} for index, entry in enumerate(first)]
        assert (changed["blockNumber"], changed["blockHash"]) == (hex(head.number), hexed(head.hash))
        assert "complete" not in changed
        # The slot that makes it revert, the balance of the sender of the transaction, and the number.
        assert [entry["index"] for entry in changed["results"]] == [1, 3, 8]
        assert changed["results"][0]["error"]["code"] == 3
        assert {tuple(params) for params in client.told[name]} == {("subscription", "result")}


async def test_a_block_that_concerns_no_call_runs_none(storing: GrowingChain) -> None:
    async with open_node(storing) as node:
        client = await node.connect()
        # The last one is a creation by the zero address, to which the fees of each block go.
        creation = {"data": "0x600a5f5360015ff3"}
        watched = {"calls": [read_of(SLOTS[0]), balance_of(STRANGER), creation]}
        name = await client.subscribe("calls", watched)
        await rest(node)
        before = feed_of(node).table.runs
        for _ in range(3):
            storing.grow([(STORE, (SLOTS[1], SLOTS[2]))])
            node.hub.advance()
            await rest(node)
        assert feed_of(node).table.runs == before == 3
        storing.grow([(STORE, (SLOTS[0], SLOTS[2]))])
        node.hub.advance()
        await rest(node)
        assert feed_of(node).table.runs == before + 1
        assert len(results(client, name)) == 2


async def test_a_step_aside_runs_only_the_calls_that_read_what_either_branch_or_a_patch_changed(
    storing: GrowingChain,
) -> None:
    write = [[(STORE, (SLOTS[slot], (7 + slot).to_bytes(32)))] for slot in range(3)]
    patched = {hexed(STORE): {"stateDiff": {hexed(SLOTS[2]): f"0x{9:064x}"}}}
    async with open_node(storing) as node:
        client = await node.connect()
        storing.reorganise(0, [[], write[0]])
        node.hub.advance()
        name = await client.subscribe("calls", {"calls": list(map(read_of, SLOTS))})
        await rest(node)
        table = feed_of(node).table
        # A patch, listed with its block; another block, a longer branch, and back to the first block.
        changes: list[tuple[Callable[[], object], int]] = [
            (lambda: storing.chain.patch(json.dumps(patched).encode()), 2),
            (lambda: storing.reorganise(1, [write[1]]), 3),
            (lambda: storing.reorganise(1, [[], write[1], write[1]]), 1),
            (lambda: storing.shrink(3), 1),
            (storing.grow, 0),
        ]
        for change, runs in changes:
            before = table.runs
            change()
            node.hub.advance()
            await rest(node)
            assert table.runs == before + runs
        held = ["0x"] * 3
        for entry in (entry for result in results(client, name) for entry in result["results"]):
            held[entry["index"]] = entry["result"]
        assert held == [hexed(bytes(32))] * 3


async def test_a_subscription_is_never_mixed_and_does_not_starve(
    storing: GrowingChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "SLICE_SECONDS", 0.0)
    async with open_node(storing) as node:
        client = await node.connect()
        calls = [{"to": hexed(CLOCK), "data": hexed(bytes([number]))} for number in range(6)]
        name = await client.subscribe("calls", {"calls": calls})
        await rest(node)
        table = feed_of(node).table
        with trio.fail_after(PATIENCE):
            while len(results(client, name)) < 4:
                # A block after each run: none leaves time for all six.
                runs = table.runs
                storing.grow()
                node.hub.advance()
                while table.runs == runs:
                    await trio.lowlevel.checkpoint()
        await rest(node)
        told = results(client, name)
        assert table.late_blocks > 0
        assert told[-1]["blockNumber"] == hex(len(storing.blocks))
        for result in told:
            number = hexed(int(result["blockNumber"], 16).to_bytes(32))
            assert [entry["result"] for entry in result["results"]] == [number] * 6


async def test_calls_run_once_the_logs_of_their_block_are_delivered(
    storing: GrowingChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wsnode.pubsub.fan_out.SLICE_SECONDS", -1.0)
    async with open_node(storing) as node:
        clients = [await node.connect() for _ in range(8)]
        names = [await each.subscribe("logs", {}) for each in clients]
        name = await clients[0].subscribe("calls", {"calls": [{"to": hexed(CLOCK)}]})
        await rest(node)
        looks = feed_of(node).looks
        storing.grow([(EMITTERS[0], ())])
        node.hub.advance()
        assert node.hub.fan_out.queued_bytes
        while node.hub.fan_out.queued_bytes:
            assert feed_of(node).looks == looks
            await trio.lowlevel.checkpoint()
        await rest(node)
        assert all(len(each.told[log]) == 1 for each, log in zip(clients, names, strict=True))
        assert [result["blockNumber"] for result in results(clients[0], name)] == ["0x0", "0x1"]


async def test_a_call_that_never_ends_holds_back_no_other_client(storing: GrowingChain) -> None:
    limits = CallLimits(live_call_gas=10**15, call_gas_blocks=10**9, call_seconds=3600)
    endless = [{"data": "0x5b5f56", "gas": hex(10**15 - number)} for number in range(3)]
    async with open_node(storing, calls=limits) as node:
        heavy, light = await node.connect(), await node.connect()
        waiting = await heavy.subscribe("calls", {"calls": endless})
        name = await light.subscribe("calls", {"calls": [{"to": hexed(CLOCK)}]})
        with trio.fail_after(PATIENCE):
            for number in range(1, 9):
                storing.grow()
                node.hub.advance()
                while not (told := results(light, name)) or told[-1]["blockNumber"] != hex(number):
                    await trio.lowlevel.checkpoint()
        later = results(light, name)[1:] if told[0]["blockNumber"] == "0x0" else results(light, name)
        assert [result["blockNumber"] for result in later] == [hex(number) for number in range(1, 9)]
        assert not results(heavy, waiting)
        await heavy.leave()
        await light.leave()
        table = feed_of(node).table
        assert (len(feed_of(node)), table.bytes, table.has_due) == (0, 0, False)


async def test_clients_that_leave_while_their_calls_run_leave_nothing(
    storing: GrowingChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "SLICE_SECONDS", 0.0)
    async with open_node(storing) as node:
        table = feed_of(node).table
        for _ in range(3):
            client = await node.connect()
            runs = table.runs
            await client.subscribe("calls", {"calls": WATCHED})
            while table.runs == runs:
                await trio.lowlevel.checkpoint()
            await client.leave()
            assert (len(feed_of(node)), table.bytes, table.each_block, table.has_due) == (0, 0, 0, False)
        again = await node.connect()
        name = await again.subscribe("calls", {"calls": WATCHED})
        await rest(node)
        assert len(results(again, name)[0]["results"]) == len(WATCHED)


async def test_equal_calls_of_all_connections_run_once(storing: GrowingChain) -> None:
    async with open_node(storing) as node:
        clients = [await node.connect() for _ in range(3)]
        forms = [
            {"to": hexed(STORE), "data": hexed(SLOTS[0])},
            {"input": hexed(SLOTS[0]), "to": hexed(STORE)},
            {"TO": hexed(STORE), "data": hexed(SLOTS[0]), "value": "0x0"},
        ]
        names = [
            await client.subscribe("calls", {"calls": [form]})
            for client, form in zip(clients, forms, strict=True)
        ]
        await rest(node)
        assert feed_of(node).table.runs == 1
        told = [results(client, name) for client, name in zip(clients, names, strict=True)]
        assert told[0] == told[1] == told[2]


async def test_a_resumed_subscription_is_told_what_differs(storing: GrowingChain) -> None:
    async with open_node(storing) as node:
        client = await node.connect()
        watched = {"calls": [read_of(SLOTS[0]), read_of(SLOTS[1])]}
        name = await client.subscribe("calls", {**watched, "cursors": True})
        await rest(node)
        (first,) = client.told[name]
        assert (await client.call("eth_unsubscribe", name))["result"] is True
        storing.grow([(STORE, (SLOTS[1], SLOTS[2]))])
        node.hub.advance()
        again = await client.subscribe("calls", {**watched, "cursor": first["cursor"]})
        await rest(node)
        (second,) = client.told[again]
        assert second["result"]["results"] == [{"index": 1, "result": hexed(SLOTS[2])}]
        assert "complete" not in second["result"]
        same = await client.subscribe("calls", {**watched, "cursor": second["cursor"]})
        await rest(node)
        assert [result["results"] for result in results(client, same)] == [[]]
        storing.chain.patch(json.dumps({hexed(STRANGER): {"balance": "0x7"}}).encode())
        node.hub.advance()
        stale = await client.subscribe("calls", {**watched, "cursor": second["cursor"]})
        await rest(node)
        assert results(client, stale)[0]["complete"] is True


async def test_a_reorganisation_is_one_step_with_its_notice_for_who_asked(storing: GrowingChain) -> None:
    write = [(STORE, (SLOTS[0], SLOTS[1]))]
    watched = {"calls": [read_of(SLOTS[0])]}
    async with open_node(storing) as node:
        client = await node.connect()
        storing.reorganise(0, [write, write])
        node.hub.advance()
        plain = await client.subscribe("calls", watched)
        asking = await client.subscribe("calls", {**watched, "reorgs": True, "cursors": True})
        await rest(node)
        storing.reorganise(2, [[], [], []])
        node.hub.advance()
        await rest(node)
        assert [result["blockNumber"] for result in results(client, plain)] == ["0x2", "0x3"]
        first, notice, last = client.told[asking]
        assert first["cursor"] == notice["cursor"]
        assert notice["reorg"]["commonAncestor"]["number"] == "0x0"
        assert last["result"] == results(client, plain)[1]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        pytest.param({"calls": []}, "calls is empty", id="no call"),
        pytest.param({}, "input.calls", id="no list"),
        pytest.param({"calls": [{}, {"to": "0x1"}]}, "calls[1]", id="an address"),
        pytest.param({"calls": [{"gas": hex(GAS + 1)}]}, "at most 50000000 gas", id="gas"),
        pytest.param({"calls": [{"chainId": "0x99"}]}, "calls[0]: chainId", id="another chain"),
        pytest.param({"calls": [{}], "fromBlock": "0x0"}, "unknown member fromBlock", id="from a block"),
        pytest.param({"calls": [{}], "cursor": "nonsense"}, "cursor", id="a cursor"),
    ],
)
async def test_what_is_malformed_is_named_and_registers_nothing(
    storing: GrowingChain, argument: Any, message: str
) -> None:
    async with open_node(storing) as node:
        client = await node.connect()
        error = (await client.call("eth_subscribe", "calls", argument))["error"]
        assert error["code"] == -32602
        assert message in error["message"]
        assert node.hub.live_calls == feed_of(node).table.bytes == 0


async def test_calls_and_their_bytes_are_bounded(storing: GrowingChain) -> None:
    limits = CallLimits(live_calls_per_subscription=2, live_bytes=5000)
    async with open_node(storing, calls=limits) as node:
        client = await node.connect()
        refused = (await client.call("eth_subscribe", "calls", {"calls": [{}, {}, {}]}))["error"]
        assert (refused["code"], refused["message"]) == (-32005, "too many live calls of a subscription")
        large = {"to": hexed(STORE), "data": "0x" + "00" * 5000}
        refused = (await client.call("eth_subscribe", "calls", {"calls": [large]}))["error"]
        assert (refused["code"], refused["message"]) == (-32005, "too many bytes of live calls")
        assert refused["data"] == {"limit": 5000}
        name = await client.subscribe("calls", {"calls": [read_of(SLOTS[0])]})
        await rest(node)
        assert node.hub.live_calls == 1
        assert (await client.call("eth_unsubscribe", name))["result"] is True
        assert node.hub.live_calls == feed_of(node).table.bytes == 0


class OneKey:
    """A key that may make four calls at once, and none again for a long time."""

    def __init__(self) -> None:
        limits = KeyLimits(requests_per_second=1 / 3600, burst=4)
        self._key = ApiKey("watcher", limits, lambda: 0.0)

    def lookup(self, key: str) -> ApiKey:
        return self._key


async def test_calls_beyond_the_rate_of_a_key_are_refused_and_register_nothing(storing: GrowingChain) -> None:
    async with open_node(storing, keys=OneKey()) as node:
        client = await node.connect()
        # The subscription is a call itself.
        name = await client.subscribe("calls", {"calls": [read_of(SLOTS[0]), read_of(SLOTS[1])]})
        await rest(node)
        refused = (await client.call("eth_subscribe", "calls", {"calls": [read_of(SLOTS[2])]}))["error"]
        assert refused["code"] == -32005
        await rest(node)
        assert node.hub.live_calls == feed_of(node).table.runs == 2
        # What runs again is not charged.
        storing.grow([(STORE, (SLOTS[0], SLOTS[2]))])
        node.hub.advance()
        await rest(node)
        assert len(results(client, name)) == 2


async def test_a_call_that_reads_more_than_it_may_runs_with_each_block(storing: GrowingChain) -> None:
    async with open_node(storing, calls=CallLimits(live_reads=1)) as node:
        client = await node.connect()
        await client.subscribe("calls", {"calls": [read_of(SLOTS[0])]})
        await rest(node)
        table = feed_of(node).table
        assert (table.runs, table.each_block) == (1, 1)
        storing.grow()
        node.hub.advance()
        await rest(node)
        assert (table.runs, table.each_block) == (2, 1)


async def test_bytes_of_calls_of_all_networks_of_a_process_count_together(storing: GrowingChain) -> None:
    limits, large = CallLimits(live_bytes=10_000), {"calls": [{"data": "0x" + "00" * 6000}]}
    live_bytes = LiveBytes()
    async with (
        open_node(storing, calls=limits, live_bytes=live_bytes) as one,
        open_node(storing, calls=limits, live_bytes=live_bytes) as other,
    ):
        first, second = await one.connect(), await other.connect()
        name = await first.subscribe("calls", large)
        await rest(one)
        refused = (await second.call("eth_subscribe", "calls", large))["error"]
        assert (refused["code"], refused["message"]) == (-32005, "too many bytes of live calls")
        assert (await first.call("eth_unsubscribe", name))["result"] is True
        await second.subscribe("calls", large)
        await rest(other)
        assert results(second, next(iter(second.told)))[0]["results"] == [{"index": 0, "result": "0x"}]
