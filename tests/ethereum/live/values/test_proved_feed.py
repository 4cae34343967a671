"""`state` in a light folder: proved by other nodes, equal to theirs after each block that is named."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from tests.drawing import examples
from tests.ethereum.development.forks import MemoryClient
from tests.ethereum.lighting import Light, light_folder
from tests.ethereum.live.growing import (
    EMITTERS,
    LOG_GAS,
    SENDER,
    STORE_GAS,
    GrowingChain,
    under_amsterdam,
)
from tests.ethereum.live.sessions import Node, open_node
from tests.ethereum.live.values.test_state import (
    SLOTS,
    STORE,
    STRANGER,
    WATCHED,
    Grow,
    Held,
    Reorganise,
    Watcher,
    blocks_of,
    growth,
    results,
    state_of,
    storing_genesis,
)
from tests.live.client import Client
from tests.live.steps import Breathe, Leave, Notice, Resume, Settle, take_common_step
from tests.sync.proofs.test_fetcher import damage
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.values.proved_feed import ProvedStateFeed
from wsnode.ethereum.live.values.watched_values import StateCursor
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.server.limits import Limits
from wsnode.sync.proofs.blocks import LightFolderProofStore
from wsnode.sync.proofs.client import ProofClient
from wsnode.sync.proofs.fetcher import ProofFetcher

pytestmark = pytest.mark.slow

FIRST = 1
PROOF = "eth_getProof"
STORED = f"0x{STORE.hex()}"
WATCHED_STORE: dict[str, Any] = {"slots": WATCHED["slots"]}


class Lists(msgspec.Struct, frozen=True):
    """Later blocks come with their access lists, or without them."""

    are_there: bool


class Upstreams(msgspec.Struct, frozen=True):
    """One upstream lies or not, the other one answers or not."""

    lies: bool
    is_gone: bool


class Full:
    """The chain that proves the values, as a node in this process."""

    def __init__(self, light: Light) -> None:
        self._light = light

    def raw(self, method: str, params: list[Any]) -> Any:
        return self._light.ask_source(method, *params)


class World:
    """A light folder, its two upstreams, and the values after each block that there was."""

    def __init__(self, light: Light) -> None:
        self.light = light
        self.source = light.source
        self.clients = [MemoryClient(Full(light), name) for name in ("first", "second")]
        self.prover = ProofFetcher(ProofClient(lambda: self.clients, LightFolderProofStore(light.chain)))
        self.expected: dict[str, Held] = {}
        self.source.grow()
        self.note()
        light.begin(FIRST)

    def note(self) -> None:
        """Take note of the values after the source's head."""
        with self.source.chain.snapshot() as view:
            self.expected[f"0x{view.head.hash.hex()}"] = state_of(self.source.chain)

    def grow(self, depth: int, blocks: Sequence[Sequence[Any]]) -> None:
        """Replace the source's last blocks by others."""
        self.source.shrink(min(depth, len(self.source.blocks) - FIRST))
        for block in blocks:
            self.source.grow(block)
            self.note()

    def have(self, step: Upstreams) -> None:
        for client in self.clients:
            client.memory.lie = damage if step.lies else lambda _method, _params, result: result
            client.memory.is_gone = step.is_gone

    def asked(self, method: str = PROOF) -> int:
        return sum((client.memory.asked for client in self.clients), Counter[str]())[method]


@contextmanager
def light_folder_of(folder: Path, genesis: bytes, *, gas: int = LOG_GAS) -> Iterator[Light]:
    """Open a full chain, whose transactions have some gas each, and a light folder beside it."""
    with (
        Chain.open(folder / "full", genesis, writer=True, durable=False) as chain,
        light_folder(folder / "light", GrowingChain(chain, gas=gas), 1000, genesis) as light,
    ):
        yield light


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with light_folder_of(tmp_path, storing_genesis()) as light:
        yield World(light)


@pytest.fixture(params=["cancun", "amsterdam"])
def world_of_either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Return one whose blocks have no access lists, and one whose blocks have them."""
    genesis, gas = storing_genesis(), LOG_GAS
    if request.param == "amsterdam":
        genesis, gas = under_amsterdam(genesis), STORE_GAS
    with light_folder_of(tmp_path, genesis, gas=gas) as light:
        yield World(light)


class Serving:
    """A node over the light folder, whose subscriptions have what proves values."""

    def __init__(self, node: Node, world: World) -> None:
        self.node = node
        self.world = world
        node.hub.proof_source = world.prover
        feeds: list[Any] = [run.__self__ for run in node.hub.background]  # type: ignore[attr-defined]
        (self.feed,) = (feed for feed in feeds if isinstance(feed, ProvedStateFeed))

    async def follow(self) -> None:
        """Make the source's head the head, and wait until all is told."""
        self.world.light.follow()
        self.node.hub.advance()
        await self.settle()

    async def settle(self) -> None:
        self.node.hub.advance()
        await wait_all_tasks_blocked()
        # Threads are no tasks.
        while any(self._is_late(watch.place) for watch in self.feed.watches.values()):
            await trio.lowlevel.checkpoint()
        await wait_all_tasks_blocked()

    def _is_late(self, place: Any) -> bool:
        return place is None or place.cursor.head != self.node.hub.head

    async def rest(self) -> None:
        """Wait until no more values are asked for."""
        while not self.feed.is_idle:
            await trio.lowlevel.checkpoint()
        await wait_all_tasks_blocked()

    async def subscribe(self, client: Client, *params: Any) -> str:
        """Return the name of a subscription that has its first values."""
        name = await client.subscribe("state", *params)
        while not client.told[name]:
            await trio.lowlevel.checkpoint()
        return name


@asynccontextmanager
async def serving(world: World, **options: Any) -> AsyncIterator[Serving]:
    """Serve the light folder until the block ends."""
    async with open_node(GrowingChain(world.light.chain), **options) as node:
        yield Serving(node, world)


async def take_light_step(world: World, hub: Hub, watchers: Sequence[Any], step: Any) -> None:
    """Take a step of the source that the light folder follows, of its upstreams, or of the watchers."""
    match step:
        case Grow():
            world.grow(0, blocks_of(step))
            world.light.follow()
        case Reorganise(depth):
            world.grow(depth, blocks_of(step))
            world.light.follow()
        case Upstreams():
            world.have(step)
        case Lists(are_there):
            world.light.has_lists = are_there
        case _:
            await take_common_step(world.source, hub, watchers, step)


async def run(world: World, script: Sequence[Any], *, pauses: bool) -> None:
    limits = Limits(outbox_bytes=2048 if pauses else 1 << 20)
    async with serving(world, limits=limits) as serves:
        watchers = [Watcher(serves.node, pauses=pauses, expected=world.expected) for _ in range(2)]
        for watcher in watchers:
            await watcher.come()
        for step in script:
            if isinstance(step, Settle):
                await serves.settle()
            else:
                await take_light_step(world, serves.node.hub, watchers, step)
        world.have(Upstreams(lies=False, is_gone=False))
        world.grow(0, [[]])
        for watcher in watchers:
            await watcher.come()
            watcher.read_on()
        await serves.follow()
        wanted = state_of(world.source.chain)
        for watcher in watchers:
            watcher.take()
            assert not watcher.failed
            assert watcher.held == wanted
            await watcher.go(0)
        assert not serves.feed.watches
        assert serves.node.hub.live_calls == 0


upstreams = st.builds(Upstreams, st.booleans(), st.booleans()) | st.builds(Lists, st.booleans())
coming = st.one_of(
    st.builds(Leave, st.integers(0, 1), st.integers(0, 6)),
    st.builds(Resume, st.integers(0, 1)),
    st.builds(Notice),
    st.builds(Breathe, st.integers(1, 40)),
    st.builds(Settle),
)


@pytest.mark.parametrize("pauses", [False, True], ids=["reads", "reads slowly"])
@settings(
    max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(script=st.lists(growth | coming | upstreams, max_size=12))
def test_a_client_holds_the_proved_values_of_each_block_that_is_named(
    world_of_either: World, pauses: bool, script: list[Any]
) -> None:
    world_of_either.light.has_lists = True
    trio.run(lambda: run(world_of_either, script, pauses=pauses))


async def test_only_the_slots_of_changed_storage_are_proved(world: World) -> None:
    world.grow(0, [[(STORE, (SLOTS[2], SLOTS[1]))]])
    world.light.follow()
    async with serving(world) as serves:
        client = await serves.node.connect()
        name = await serves.subscribe(client, WATCHED)
        accounts = len(WATCHED["accounts"]) + 1
        # The accounts, then the slots of the one that has storage.
        assert world.asked() == accounts + 1
        codes = world.asked("eth_getCode")
        world.grow(0, [[]])
        await serves.follow()
        # The block changed nothing, so its state is that of its parent.
        assert world.asked() == accounts + 1
        world.grow(0, [[(EMITTERS[0], ())]])
        await serves.follow()
        assert world.asked() == 2 * accounts + 1
        world.grow(0, [[(STORE, (SLOTS[1], SLOTS[2]))]])
        await serves.follow()
        assert world.asked() == 3 * accounts + 2
        # Code changes almost never.
        assert world.asked("eth_getCode") == codes
        first, _spent, last = results(client, name)
        assert (first["complete"], first["accounts"]) == (True, world.expected[first["blockHash"]])
        assert last["accounts"][STORED] == {"slots": {f"0x{SLOTS[1].hex()}": f"0x{SLOTS[2].hex()}"}}
        assert set(last["accounts"][f"0x{SENDER.hex()}"]) == {"nonce", "balance"}
        assert f"0x{STRANGER.hex()}" not in last["accounts"]


async def test_many_slots_of_an_account_are_asked_for_in_several_messages(world: World) -> None:
    world.grow(0, [[(STORE, (SLOTS[2], SLOTS[1]))]])
    world.light.follow()
    async with serving(world) as serves:
        client = await serves.node.connect()
        slots = [hex(number) for number in range(65)]
        name = await serves.subscribe(client, {"slots": {STORED: slots}})
        # The account, and twice slots of it.
        assert world.asked() == 3
        (first,) = results(client, name)
        assert len(first["accounts"][STORED]["slots"]) == 65


async def test_watches_beyond_the_proofs_of_a_block_have_their_turn_at_the_next(world: World) -> None:
    # Of a slot its account is proved too.
    calls = CallLimits(live_proofs=4)
    async with serving(world, calls=calls) as serves:
        clients = [await serves.node.connect() for _ in range(3)]
        names = []
        for number, client in enumerate(clients):
            watched = {"slots": {f"0x{number + 1:040x}": ["0x0", "0x1"]}}
            names.append(await client.subscribe("state", watched))
        await wait_all_tasks_blocked()
        told = Counter[str]()
        for _ in range(6):
            world.grow(0, [[(EMITTERS[0], ())]])
            world.light.follow()
            serves.node.hub.advance()
            await serves.rest()
            told.update(name for client, name in zip(clients, names, strict=True) if results(client, name))
        assert all(told[name] for name in names)
        assert serves.node.hub.live_late_blocks > 0
        refused = (await clients[0].call("eth_subscribe", "state", WATCHED))["error"]
        assert refused["message"] == "too many live calls of a subscription"
        assert (refused["code"], refused["data"]) == (-32005, {"limit": 4, "given": 7})


async def test_what_no_upstream_proves_is_an_error_until_one_does(world: World) -> None:
    async with serving(world) as serves:
        client = await serves.node.connect()
        name = await serves.subscribe(client, {**WATCHED_STORE, "cursors": True})
        world.have(Upstreams(lies=True, is_gone=False))
        for _ in range(2):
            world.grow(0, [[(STORE, (SLOTS[0], SLOTS[1]))]])
            await serves.follow()
        told = client.told[name]
        assert len(told) == 2, "an error that lasts is sent once"
        error = told[1]["result"]["accounts"][STORED]["error"]
        assert error["code"] == -32002
        assert all(reason.startswith("wrong") for reason in error["data"]["upstreams"].values())
        late = await serves.subscribe(client, WATCHED_STORE)
        assert results(client, late)[0]["accounts"][STORED]["error"]["code"] == -32002
        world.have(Upstreams(lies=False, is_gone=False))
        world.grow(0, [[]])
        await serves.follow()
        last = told[2]["result"]
        assert last["accounts"] == {STORED: world.expected[last["blockHash"]][STORED]}
        # Who had an error had no values, and is sent all of them.
        again = await serves.subscribe(client, {**WATCHED_STORE, "cursor": told[1]["cursor"]})
        assert results(client, again)[0]["complete"] is True


async def test_a_cursor_is_resumed_where_its_block_is_still_proved(world: World) -> None:
    async with serving(world) as serves:
        client = await serves.node.connect()
        name = await serves.subscribe(client, {**WATCHED, "cursors": True})
        first = client.told[name][0]["cursor"]
        world.grow(0, [[(STORE, (SLOTS[0], SLOTS[1]))]])
        await serves.follow()
        again = await serves.subscribe(client, {**WATCHED, "cursor": first})
        (resumed,) = results(client, again)
        assert "complete" not in resumed
        assert resumed["accounts"] == results(client, name)[1]["accounts"]
        second = client.told[name][1]["cursor"]
        world.grow(1, [[], []])
        await serves.follow()
        gone = await serves.subscribe(client, {**WATCHED, "cursor": second, "reorgs": True})
        assert results(client, gone)[0]["complete"] is True
        old = StateCursor.parse(second).head
        world.grow(1, [[(STORE, (SLOTS[0], SLOTS[2]))]])
        await serves.follow()
        _complete, notice, last = client.told[gone]
        assert notice["reorg"]["commonAncestor"]["number"] == hex(old.number)
        assert last["result"]["accounts"][STORED] == {"slots": {f"0x{SLOTS[0].hex()}": f"0x{SLOTS[2].hex()}"}}
