"""`state`: what a client holds is what the chain has, whatever happens to either of them."""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from tests.drawing import examples
from tests.ethereum.lighting import light_folder
from tests.ethereum.live.growing import SENDER, GrowingChain, emitting_genesis
from tests.ethereum.live.sessions import Node, ValueWatcher, open_node
from tests.live.client import Client
from tests.live.steps import Return, common_steps, take_common_step
from tests.pubsub.recording import RecordingChannel
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.values import feed
from wsnode.ethereum.live.values.watched_values import StateCursor
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.logs.live_values import LiveQuota
from wsnode.jsonrpc.errors import RpcError
from wsnode.pubsub.subscription import ConnectionSubscriptions
from wsnode.server.access.api_keys import ApiKey, KeyLimits
from wsnode.server.limits import Limits
from wsnode.server.scheduling.client_quota import ClientQuota
from wsnode.server.shared import Shared

STORE = b"\xd0" * 20
"""A contract that writes the second word of a call into the slot that the first one names."""
STRANGER = b"\xd1" * 20
NO_CODE = keccak256(b"")
SLOTS = tuple(number.to_bytes(32) for number in range(3))
WATCHED: dict[str, Any] = {
    "accounts": [f"0x{address.hex()}" for address in (SENDER, STRANGER, bytes(20))],
    "slots": {f"0x{STORE.hex()}": [f"0x{slot.hex()}" for slot in SLOTS]},
}
Held = dict[str, dict[str, Any]]


class Grow(msgspec.Struct, frozen=True):
    blocks: Sequence[Sequence[tuple[int, int]]]
    """The slots that the transactions of each block write, and what."""


class Reorganise(msgspec.Struct, frozen=True):
    depth: int
    blocks: Sequence[Sequence[tuple[int, int]]]


class Patch(msgspec.Struct, frozen=True):
    slot: int
    value: int
    balance: int


writes = st.tuples(st.integers(0, 2), st.integers(0, 3))
branches = st.lists(st.lists(writes, max_size=3), min_size=1, max_size=3)
growth = st.builds(Grow, branches) | st.builds(Reorganise, st.integers(1, 4), branches)
patches = st.builds(Patch, st.integers(0, 2), st.integers(0, 3), st.integers(0, 3))
# A block that was built on a patched state is not valid on another one.
patching = st.one_of(growth, patches, common_steps.filter(lambda step: not isinstance(step, Return)))


@pytest.fixture
def storing(tmp_path: Path) -> Iterator[GrowingChain]:
    with Chain.open(tmp_path, storing_genesis(), writer=True, durable=False) as chain:
        yield GrowingChain(chain)


def storing_genesis() -> bytes:
    content = json.loads(emitting_genesis())
    content["alloc"][STORE.hex()] = {"balance": "0x0", "code": "0x6020355f355500"}
    return json.dumps(content).encode()


def blocks_of(step: Grow | Reorganise) -> list[list[Any]]:
    return [[(STORE, (SLOTS[slot], value.to_bytes(32))) for slot, value in some] for some in step.blocks]


def state_of(chain: Chain) -> Held:
    """Return the values at the head, as a complete notification has them."""
    with chain.snapshot() as view:
        block = (view.head.number, view.head.hash)
        accounts: Held = {}
        for text in WATCHED["accounts"]:
            nonce, balance, code_hash = view.state.account(bytes.fromhex(text[2:]), block) or (
                0,
                0,
                bytes(32),
            )
            accounts[text] = {
                "nonce": hex(nonce),
                "balance": hex(balance),
                "codeHash": f"0x{code_hash.hex()}",
            }
        slots = {f"0x{slot.hex()}": f"0x{view.state.storage(STORE, slot, block).hex()}" for slot in SLOTS}
        return {**accounts, f"0x{STORE.hex()}": {"slots": slots}}


class Watcher(ValueWatcher):
    """A client that holds the values, from one connection to the next."""

    def __init__(self, node: Node, *, pauses: bool, expected: Mapping[str, Held] | None = None) -> None:
        """`expected` has the values after each block, by its hash."""
        super().__init__(node, "state", WATCHED, "accounts", pauses=pauses)
        self._expected = expected
        self.held: Held = {}
        self.failed: set[str] = set()
        """Addresses whose values could not be had."""

    def _apply(self, params: dict[str, Any]) -> None:
        self._cursor, result = params["cursor"], params["result"]
        assert list(result)[:3] == ["blockNumber", "blockHash", "timestamp"]
        if "complete" in result:
            assert result["complete"] is True
            self.held = {}
            self.failed = set()
        for address, members in result["accounts"].items():
            if "error" in members:
                assert list(members) == ["error"]
                self.held[address] = {}
                self.failed.add(address)
                continue
            self.failed.discard(address)
            held = self.held.setdefault(address, {})
            slots = members.pop("slots", {})
            assert all(held.get(name) != value for name, value in members.items()), "an equal value"
            held |= members
            if slots:
                held.setdefault("slots", {})
                assert all(held["slots"].get(slot) != value for slot, value in slots.items())
                held["slots"] |= slots
        if self._expected is not None:
            wanted = self._expected[result["blockHash"]]
            held = {address: members for address, members in self.held.items() if members}
            assert held == {name: each for name, each in wanted.items() if name not in self.failed}


async def blocked(_node: Node) -> None:
    """Wait until everything that was sent has arrived."""
    await wait_all_tasks_blocked()


async def run(
    growing: GrowingChain,
    script: Sequence[Any],
    *,
    pauses: bool,
    settle: Callable[[Node], Awaitable[None]] = blocked,
) -> None:
    async with open_node(growing, limits=Limits(outbox_bytes=2048 if pauses else 1 << 20)) as node:
        watchers = [Watcher(node, pauses=pauses) for _ in range(2)]
        for watcher in watchers:
            await watcher.come()
        await settle(node)
        for step in script:
            match step:
                case Grow():
                    growing.reorganise(0, blocks_of(step))
                case Reorganise(depth):
                    growing.reorganise(min(depth, len(growing.blocks)), blocks_of(step))
                case Patch(slot, value, balance):
                    diff = {f"0x{SLOTS[slot].hex()}": f"0x{value:064x}"}
                    accounts = {
                        f"0x{STORE.hex()}": {"stateDiff": diff},
                        f"0x{STRANGER.hex()}": {"balance": hex(balance)},
                    }
                    growing.patch(json.dumps(accounts).encode())
                case _:
                    await take_common_step(growing, node.hub, watchers, step)
        node.hub.advance()
        for watcher in watchers:
            await watcher.come()
            watcher.read_on()
        await settle(node)
        wanted = state_of(growing.chain)
        for watcher in watchers:
            watcher.take()
            assert watcher.held == wanted
            await watcher.go(0)
        assert feed_of(node).cursor is None
        assert len(feed_of(node)) == 0


def feed_of(node: Node) -> feed.StateFeed:
    found = [
        getattr(listener, "__self__", None)
        for listener in node.hub.on_same_head
        if isinstance(getattr(listener, "__self__", None), feed.StateFeed)
    ]
    assert len(found) == 1
    return found[0]  # type: ignore[return-value]


@pytest.fixture(params=["keys", "all"])
def exactness(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Find what changed by the lists of the state, or read all values at each step, as in any doubt."""
    if request.param == "all":
        monkeypatch.setattr(feed, "LIST_BYTES", 0)


@pytest.mark.slow
@pytest.mark.usefixtures("exactness")
@pytest.mark.parametrize("pauses", [False, True], ids=["reads", "reads slowly"])
@settings(
    max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(script=st.lists(growth | common_steps, max_size=14))
def test_a_client_holds_the_values_of_the_head(
    storing: GrowingChain, pauses: bool, script: list[Any]
) -> None:
    storing.clear()
    trio.run(lambda: run(storing, script, pauses=pauses))


@pytest.mark.parametrize("pauses", [False, True], ids=["reads", "reads slowly"])
@settings(
    max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(script=st.lists(patching, max_size=14))
def test_a_client_holds_the_values_of_a_patched_head(
    storing: GrowingChain, pauses: bool, script: list[Any]
) -> None:
    storing.clear()
    trio.run(lambda: run(storing, script, pauses=pauses))


def results(client: Client, name: str) -> list[dict[str, Any]]:
    return [params["result"] for params in client.told[name] if "result" in params]


async def test_the_first_notification_is_complete_and_later_ones_have_what_changed(
    storing: GrowingChain,
) -> None:
    async with open_node(storing) as node:
        client = await node.connect()
        name = await client.subscribe("state", WATCHED)
        first = state_of(storing.chain)
        storing.grow()
        node.hub.advance()
        head = storing.grow([(STORE, (SLOTS[1], SLOTS[2]))])
        node.hub.advance()
        await client.settle()
        complete, changed = results(client, name)
        assert (complete["complete"], complete["accounts"]) == (True, first)
        assert (changed["blockNumber"], changed["blockHash"]) == (hex(head.number), f"0x{head.hash.hex()}")
        assert "complete" not in changed
        assert changed["accounts"][f"0x{STORE.hex()}"] == {
            "slots": {f"0x{SLOTS[1].hex()}": f"0x{SLOTS[2].hex()}"}
        }
        assert set(changed["accounts"][f"0x{SENDER.hex()}"]) == {"nonce", "balance"}
        assert f"0x{STRANGER.hex()}" not in changed["accounts"]
        # Without options no message has a member that geth's notifications lack.
        assert {tuple(params) for params in client.told[name]} == {("subscription", "result")}


async def test_a_reorganisation_is_one_step_with_its_notice_for_who_asked(storing: GrowingChain) -> None:
    write = [(STORE, (SLOTS[0], SLOTS[1]))]
    async with open_node(storing) as node:
        client = await node.connect()
        storing.reorganise(0, [write, write])
        node.hub.advance()
        plain = await client.subscribe("state", WATCHED)
        asking = await client.subscribe("state", {**WATCHED, "reorgs": True, "cursors": True})
        old = storing.blocks[-1].head
        storing.reorganise(2, [[], [], []])
        node.hub.advance()
        await client.settle()
        assert [result["blockNumber"] for result in results(client, plain)] == ["0x2", "0x3"]
        first, notice, last = client.told[asking]
        assert first["cursor"] == notice["cursor"]
        assert StateCursor.parse(notice["cursor"]).head == old
        assert notice["reorg"]["commonAncestor"]["number"] == "0x0"
        assert last["result"] == results(client, plain)[1]


async def test_a_state_that_was_patched_since_or_left_the_chain_is_sent_whole(storing: GrowingChain) -> None:
    async with open_node(storing) as node:
        client = await node.connect()
        name = await client.subscribe("state", {**WATCHED, "cursors": True})
        (first,) = client.told[name]
        storing.grow([(STORE, (SLOTS[0], SLOTS[1]))])
        node.hub.advance()
        await client.settle()
        again = await client.subscribe("state", {**WATCHED, "cursor": first["cursor"]})
        assert "complete" not in results(client, again)[0]
        assert results(client, again)[0]["accounts"] == results(client, name)[1]["accounts"]
        # At the head nothing differs, and the client is told at which block it is.
        second = client.told[name][1]["cursor"]
        same = await client.subscribe("state", {**WATCHED, "cursor": second})
        assert [result["accounts"] for result in results(client, same)] == [{}]
        storing.chain.patch(json.dumps({f"0x{STRANGER.hex()}": {"balance": "0x7"}}).encode())
        node.hub.advance()
        await client.settle()
        patched = client.told[name][2]
        created = {"balance": "0x7", "codeHash": f"0x{NO_CODE.hex()}"}
        assert patched["result"]["accounts"] == {f"0x{STRANGER.hex()}": created}
        assert patched["result"]["blockNumber"] == "0x1"
        stale = await client.subscribe("state", {**WATCHED, "cursor": second})
        assert results(client, stale)[0]["complete"] is True
        storing.reorganise(1, [[]])
        node.hub.advance()
        gone = await client.subscribe("state", {**WATCHED, "cursor": patched["cursor"]})
        assert results(client, gone)[0]["complete"] is True


async def test_one_who_reads_slowly_gets_the_latest_values_after_a_notice(storing: GrowingChain) -> None:
    async with open_node(storing, limits=Limits(outbox_bytes=2048)) as node:
        slow = await node.connect(pauses=True)
        name = await slow.subscribe("state", {**WATCHED, "cursors": True})
        slow.pause()
        for number in range(30):
            storing.grow([(STORE, (SLOTS[0], (number % 2).to_bytes(32)))])
            node.hub.advance()
            await slow.settle()
        slow.go_on()
        await slow.settle()
        told = slow.told[name]
        (notice,) = [params["error"] for params in told if "error" in params]
        assert notice["code"] == -32005
        last = told[-1]["result"]
        assert last["blockNumber"] == hex(30)
        # In blocks, from the last values that were sent to these.
        assert notice["data"]["missed"] == 30 - StateCursor.parse(notice["data"]["cursor"]).head.number > 1
        assert len(told) < 20


async def test_values_are_bounded_by_subscription_connection_and_process(storing: GrowingChain) -> None:
    calls = CallLimits(live_calls_per_subscription=6, live_calls_per_connection=11)
    async with open_node(storing, calls=calls, limits=Limits(live_calls=23)) as node:
        client = await node.connect()
        names = [await client.subscribe("state", WATCHED)]
        twice = {**WATCHED, "accounts": WATCHED["accounts"] * 2}
        refused = (await client.call("eth_subscribe", "state", twice))["error"]
        assert refused["message"] == "too many live calls of a subscription"
        assert (refused["code"], refused["data"]) == (-32005, {"limit": 6, "given": 9})
        refused = (await client.call("eth_subscribe", "state", WATCHED))["error"]
        assert refused["message"] == "too many live calls on this connection"
        assert (refused["code"], refused["data"]) == (-32005, {"limit": 11})
        for _ in range(2):
            other = await node.connect()
            await other.subscribe("state", WATCHED)
        last = await node.connect()
        refused = (await last.call("eth_subscribe", "state", WATCHED))["error"]
        assert refused == {"code": -32005, "message": "too many live calls", "data": {"limit": 23}}
        assert (await client.call("eth_unsubscribe", names[0]))["result"] is True
        await last.subscribe("state", WATCHED)


@pytest.mark.parametrize(("limit", "admitted"), [(24, 2), (22, 1)], ids=["at half", "beyond half"])
async def test_one_client_has_half_of_the_values_of_the_process_on_all_its_connections(
    storing: GrowingChain, limit: int, admitted: int
) -> None:
    async with open_node(storing, limits=Limits(live_calls=limit), keys=AnyKey()) as node:
        for _ in range(admitted):
            client = await node.connect()
            await client.subscribe("state", WATCHED)
        refused = (await (await node.connect()).call("eth_subscribe", "state", WATCHED))["error"]
        assert refused == {"code": -32005, "message": "too many live calls", "data": {"limit": limit}}
        assert node.hub.live_calls == node.server.shared.live_calls.used == 6 * admitted
        await client.leave()
        await (await node.connect()).subscribe("state", WATCHED)


class AnyKey:
    """Whatever key is given, it is this one."""

    def __init__(self) -> None:
        self._key = ApiKey("watcher", KeyLimits(), lambda: 0.0)

    def lookup(self, key: str) -> ApiKey:
        return self._key


async def test_values_of_all_networks_of_a_process_count_together(storing: GrowingChain) -> None:
    shared = Shared(Limits(live_calls=8))
    hubs = Hub(storing.chain), Hub(storing.chain)
    quotas = [LiveQuota(hub, CallLimits()) for hub in hubs]
    channels = [RecordingChannel() for _ in hubs]
    for name, channel in zip(("one", "two"), channels, strict=True):
        quota = ClientQuota(shared, network=name)
        channel.subscriptions = ConnectionSubscriptions(channel, quota)
    give_back = quotas[0].giving_back(channels[0], 5)
    quotas[0].take(channels[0], 5)
    quotas[1].require_room(channels[1], 3)
    with pytest.raises(RpcError, match="too many live calls"):
        quotas[1].require_room(channels[1], 4)
    assert [hub.live_calls for hub in hubs] == [5, 0]
    give_back()
    quotas[1].require_room(channels[1], 8)
    shared.apply(Limits(live_calls=7))
    with pytest.raises(RpcError, match="too many live calls"):
        quotas[1].require_room(channels[1], 8)
    assert (hubs[0].live_calls, shared.live_calls.used) == (0, 0)


async def test_a_subscription_that_is_refused_counts_for_nothing(storing: GrowingChain) -> None:
    async with open_node(storing, limits=Limits(subscriptions=1)) as node:
        client = await node.connect()
        name = await client.subscribe("newHeads")
        refused = (await client.call("eth_subscribe", "state", WATCHED))["error"]
        assert refused["message"] == "subscription limit exceeded"
        assert node.hub.live_calls == 0
        assert (await client.call("eth_unsubscribe", name))["result"] is True
        await client.subscribe("state", WATCHED)
        assert node.hub.live_calls == 6
        await client.leave()
        assert node.hub.live_calls == 0


async def test_a_light_folder_that_follows_no_node_has_no_state(
    storing: GrowingChain, tmp_path: Path
) -> None:
    with light_folder(tmp_path / "light", storing) as light:
        storing.grow()
        light.begin(1)
        async with open_node(GrowingChain(light.chain)) as node:
            client = await node.connect()
            refused = (await client.call("eth_subscribe", "state", WATCHED))["error"]
            assert (refused["code"], refused["data"]) == (4444, {"reason": "no state in a light folder"})
