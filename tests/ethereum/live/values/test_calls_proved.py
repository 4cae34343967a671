"""`calls` in a light folder: run on proved values, equal to a full node's eth_call at each block named."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from tests.ethereum.lighting import Light
from tests.ethereum.live.growing import EMITTERS, SENDER, STORE_GAS, GrowingChain, under_amsterdam
from tests.ethereum.live.sessions import Node, open_node
from tests.ethereum.live.values.test_calls import (
    GAS,
    WATCHED,
    Watcher,
    balance_of,
    called_genesis,
    feed_of,
    read_of,
    rest,
    results,
)
from tests.ethereum.live.values.test_proved_feed import (
    Upstreams,
    World,
    coming,
    light_folder_of,
    take_light_step,
    upstreams,
)
from tests.ethereum.live.values.test_state import SLOTS, STORE, growth
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.server.limits import Limits

pytestmark = pytest.mark.slow

UNPROVED = -32002
Outcomes = list[dict[str, Any]]


class CallWorld(World):
    """A light folder, its two upstreams, and the outcomes after each block that there was."""

    def __init__(self, light: Light) -> None:
        self.outcomes: dict[str, Outcomes] = {}
        """By the hash of the block."""
        super().__init__(light)

    def note(self) -> None:
        """Take note of the outcomes after the source's head, as the source has them."""
        block_hash = f"0x{self.source.chain.head.hash.hex()}"
        found: Outcomes = []
        for call in WATCHED:
            reply = self.light.ask_source("eth_call", {"gas": hex(GAS), **call}, {"blockHash": block_hash})
            found.append({name: reply[name] for name in reply if name in ("result", "error")})
        self.outcomes[block_hash] = found

    @property
    def latest(self) -> Outcomes:
        """Return the outcomes after the source's head."""
        return self.outcomes[f"0x{self.source.chain.head.hash.hex()}"]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[CallWorld]:
    with light_folder_of(tmp_path, called_genesis()) as light:
        yield CallWorld(light)


@pytest.fixture
def listing(tmp_path: Path) -> Iterator[CallWorld]:
    """Return one whose blocks have access lists."""
    with light_folder_of(tmp_path, under_amsterdam(called_genesis()), gas=STORE_GAS) as light:
        yield CallWorld(light)


@pytest.fixture(params=["world", "listing"])
def world_of_either(request: pytest.FixtureRequest) -> CallWorld:
    """Return one without access lists, and one with them."""
    found: CallWorld = request.getfixturevalue(request.param)
    return found


@asynccontextmanager
async def serving(world: CallWorld, **options: Any) -> AsyncIterator[Node]:
    """Serve the light folder until the block ends."""
    async with open_node(GrowingChain(world.light.chain), **options) as node:
        node.hub.proof_source = world.prover
        yield node


async def follow(node: Node, world: CallWorld, *blocks: Sequence[Any]) -> None:
    """Have the source grow, and the light folder follow; wait until all is told."""
    world.grow(0, blocks)
    world.light.follow()
    node.hub.advance()
    await rest(node)


async def run(world: CallWorld, script: Sequence[Any], *, pauses: bool) -> None:
    limits = Limits(outbox_bytes=4096 if pauses else 1 << 20)
    async with serving(world, limits=limits) as node:
        watchers = [Watcher(node, pauses=pauses) for _ in range(2)]
        for watcher in watchers:
            await watcher.come()
        for step in script:
            await take_light_step(world, node.hub, watchers, step)
        world.have(Upstreams(lies=False, is_gone=False))
        for watcher in watchers:
            await watcher.come()
            watcher.read_on()
        await follow(node, world, [])
        for watcher in watchers:
            watcher.take()
            assert [watcher.held[index] for index in range(len(WATCHED))] == world.latest
            await watcher.go(0)
        for block_hash, held in (told for watcher in watchers for told in watcher.told):
            for index, wanted in enumerate(world.outcomes[block_hash]):
                assert held[index] == wanted or held[index]["error"]["code"] == UNPROVED
        assert (len(feed_of(node)), feed_of(node).table.bytes, node.hub.live_calls) == (0, 0, 0)


@pytest.mark.parametrize("pauses", [False, True], ids=["reads", "reads slowly"])
@settings(
    max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(script=st.lists(growth | coming | upstreams, max_size=12))
def test_a_client_holds_the_outcomes_at_each_block_that_is_named(
    world_of_either: CallWorld, pauses: bool, script: list[Any]
) -> None:
    world_of_either.light.has_lists = True
    trio.run(lambda: run(world_of_either, script, pauses=pauses))


async def test_only_calls_run_whose_proved_values_have_changed(world: CallWorld) -> None:
    async with serving(world) as node:
        client = await node.connect()
        name = await client.subscribe("calls", {"calls": list(map(read_of, SLOTS))})
        await rest(node)
        table, asked = feed_of(node).table, world.asked()
        assert table.runs >= 3
        runs = table.runs
        # A block that changes another contract: the accounts of both sides are proved, and no slot.
        await follow(node, world, [(EMITTERS[0], ())])
        assert (table.runs, world.asked()) == (runs, asked + 2)
        await follow(node, world, [(STORE, (SLOTS[1], SLOTS[2]))])
        assert table.runs == runs + 1
        _first, changed = results(client, name)
        assert changed["results"] == [{"index": 1, "result": f"0x{SLOTS[2].hex()}"}]
        # Another branch, and back: what is read there is compared, whichever branch it is of.
        world.grow(1, [[(STORE, (SLOTS[2], SLOTS[1]))], []])
        await follow(node, world)
        assert table.runs == runs + 3
        assert [entry["index"] for entry in results(client, name)[2]["results"]] == [1, 2]


async def test_access_lists_take_the_place_of_proofs(listing: CallWorld) -> None:
    watched = {"calls": [*map(read_of, SLOTS), balance_of(SENDER)]}
    async with serving(listing) as node:
        client = await node.connect()
        name = await client.subscribe("calls", watched)
        await rest(node)
        table, asked, runs = feed_of(node).table, listing.asked(), feed_of(node).table.runs
        assert asked > 0
        await follow(node, listing, [(STORE, (SLOTS[1], SLOTS[2]))])
        assert table.runs == runs + 2
        # Of a passed block, and of another branch.
        listing.grow(0, [[(STORE, (SLOTS[2], SLOTS[1]))], []])
        await follow(node, listing, [])
        assert table.runs == runs + 4
        listing.grow(2, [[(STORE, (SLOTS[0], SLOTS[1]))], [], []])
        await follow(node, listing)
        changed = [[entry["index"] for entry in result["results"]] for result in results(client, name)]
        assert changed == [[0, 1, 2, 3], [1, 3], [2, 3], [0, 3]]
        assert listing.asked() == asked, "a value was proved that follows from a list"


async def test_what_access_lists_say_counts_for_no_proof(listing: CallWorld) -> None:
    slots = [number.to_bytes(32) for number in range(12)]
    async with serving(listing, calls=CallLimits(live_proofs=4)) as node:
        client = await node.connect()
        names = [await client.subscribe("calls", {"calls": [read_of(slot)]}) for slot in slots]
        for _ in range(60):
            if all(results(client, name) for name in names):
                break
            await follow(node, listing, [])
        asked, late = listing.asked(), feed_of(node).table.late_blocks
        for slot in slots:
            await follow(node, listing, [(STORE, (slot, SLOTS[1]))])
        assert (listing.asked(), feed_of(node).table.late_blocks) == (asked, late)
        for name in names:
            assert [result["results"][0]["result"] for result in results(client, name)] == [
                f"0x{bytes(32).hex()}",
                f"0x{SLOTS[1].hex()}",
            ]


async def test_calls_beyond_the_proofs_of_a_block_run_after_later_ones(world: CallWorld) -> None:
    empty = [{"to": f"0x{number:040x}"} for number in range(0x1001, 0x100A)]
    async with serving(world, calls=CallLimits(live_proofs=4)) as node:
        client = await node.connect()
        names = [await client.subscribe("calls", {"calls": [call]}) for call in empty]
        for _ in range(30):
            if all(results(client, name) for name in names):
                break
            await follow(node, world, [(EMITTERS[0], ())])
        assert all(results(client, name)[0]["results"] == [{"index": 0, "result": "0x"}] for name in names)
        assert feed_of(node).table.late_blocks > 0


async def test_what_no_upstream_proves_is_an_error_until_one_does(world: CallWorld) -> None:
    async with serving(world) as node:
        client = await node.connect()
        name = await client.subscribe("calls", {"calls": [read_of(SLOTS[0])]})
        await rest(node)
        world.have(Upstreams(lies=True, is_gone=False))
        for _ in range(2):
            await follow(node, world, [(STORE, (SLOTS[0], SLOTS[1]))])
        _first, failed = results(client, name)
        assert failed["results"][0]["error"]["code"] == UNPROVED
        world.have(Upstreams(lies=False, is_gone=False))
        await follow(node, world, [])
        assert results(client, name)[2]["results"] == [{"index": 0, "result": f"0x{SLOTS[1].hex()}"}]


async def test_a_cursor_is_resumed_where_its_block_is_still_proved(world: CallWorld) -> None:
    watched = {"calls": list(map(read_of, SLOTS))}
    async with serving(world) as node:
        client = await node.connect()
        name = await client.subscribe("calls", {**watched, "cursors": True})
        await rest(node)
        cursor = client.told[name][0]["cursor"]
        await follow(node, world, [(STORE, (SLOTS[1], SLOTS[2]))])
        again = await client.subscribe("calls", {**watched, "cursor": cursor})
        await rest(node)
        (resumed,) = results(client, again)
        assert "complete" not in resumed
        assert resumed["results"] == [{"index": 1, "result": f"0x{SLOTS[2].hex()}"}]
        world.grow(1, [[], []])
        await follow(node, world)
        gone = await client.subscribe("calls", {**watched, "cursor": client.told[name][1]["cursor"]})
        await rest(node)
        assert results(client, gone)[0]["complete"] is True


async def test_a_light_folder_without_upstreams_refuses_them(world: CallWorld) -> None:
    async with open_node(GrowingChain(world.light.chain)) as node:
        client = await node.connect()
        refused = (await client.call("eth_subscribe", "calls", {"calls": [{}]}))["error"]
        assert (refused["code"], refused["message"]) == (4444, "pruned history unavailable")
