"""The block that upstreams are building is served on our head, and never on an older one."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.starknet.rpc.test_schemas import validate
from tests.sync.starknet.made_chain import (
    ACCOUNT,
    CHAIN_ID,
    TOKEN,
    Json,
    MadeBlock,
    MadeChain,
    MadeNode,
)
from tests.sync.starknet.world import World, followed
from wsnode.starknet.felt import felt_bytes
from wsnode.sync.follow.storage_retry import StorageRetry
from wsnode.sync.follow.sync_report import SyncStage
from wsnode.sync.starknet import pre_confirmed_tracker as module
from wsnode.sync.starknet.pre_confirmed import Base, decode_pre_confirmed
from wsnode.sync.starknet.pre_confirmed_tracker import PreConfirmedTracker
from wsnode.untrusted.decoding import MalformedError

pytestmark = pytest.mark.slow

TAGS = ("pending", "pre_confirmed")
OFTEN = {"pre_confirmed_interval": 0.01}


@pytest.fixture
def made() -> MadeChain:
    chain = MadeChain()
    # The next block has two transactions.
    chain.grow(4)
    return chain


def base_of(made: MadeChain) -> Base:
    head = made.head
    return Base(head.number, felt_bytes(head.hash), felt_bytes(head.block["new_root"]))


def decoded(made: MadeChain, shown: MadeBlock) -> Any:
    block, update = (json.dumps(part).encode() for part in (shown.block, shown.update))
    return decode_pre_confirmed(block, update, base_of(made), CHAIN_ID)


async def at_head(world: World, made: MadeChain) -> None:
    await world.until_at(made)
    await world.until(lambda: world.follower.stage is SyncStage.LIVE)


async def shows(world: World, count: int) -> None:
    """Wait until the pre-confirmed block has a number of transactions."""

    def is_shown() -> bool:
        with world.chain.snapshot() as view:
            block = view.pre_confirmed
        return block is not None and len(block.body.hashes) == count

    await world.until(is_shown)


async def test_every_method_reads_the_block_under_way(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    node = MadeNode(made, nursery)
    shown = node.under_way = made.under_way(2)
    pairs, number = shown.block["transactions"], shown.block["block_number"]
    hashes = [pair["receipt"]["transaction_hash"] for pair in pairs]
    with_hashes = [
        pair["transaction"] | {"transaction_hash": each} for pair, each in zip(pairs, hashes, strict=True)
    ]
    header = {name: value for name, value in shown.block.items() if name != "transactions"}
    async with followed(tmp_path, {"a": node}, **OFTEN) as world:
        await at_head(world, made)
        await shows(world, 2)

        async def ask(method: str, *params: Any) -> Any:
            result = await world.call(f"starknet_{method}", *params)
            validate(f"starknet_{method}", result)
            return result

        for tag in TAGS:
            assert await ask("getBlockWithReceipts", tag) == shown.block
            assert await ask("getBlockWithTxs", tag) == header | {"transactions": with_hashes}
            assert await ask("getBlockWithTxHashes", tag) == header | {"transactions": hashes}
            assert await ask("getBlockTransactionCount", tag) == 2
            assert await ask("getTransactionByBlockIdAndIndex", tag, 1) == with_hashes[1]
            assert await ask("getNonce", tag, ACCOUNT) == shown.update["state_diff"]["nonces"][0]["nonce"]
            (slot,) = shown.update["state_diff"]["storage_diffs"][0]["storage_entries"]
            assert await ask("getStorageAt", TOKEN, slot["key"], tag) == slot["value"]
            flagged = await ask("getStorageAt", TOKEN, slot["key"], tag, ["INCLUDE_LAST_UPDATE_BLOCK"])
            assert flagged == {"value": slot["value"], "last_update_block": number}
            # It writes nothing there.
            assert await ask("getStorageAt", TOKEN, "0x4", tag) == hex(5)
            update = await ask("getStateUpdate", tag)
            assert update.keys() == {"state_diff"}
            assert update["state_diff"]["storage_diffs"] == shown.update["state_diff"]["storage_diffs"]
        for index, each in enumerate(hashes):
            assert await ask("getTransactionByHash", each) == with_hashes[index]
            assert await ask("getTransactionReceipt", each) == pairs[index]["receipt"] | {
                "block_number": number
            }
            told = {"finality_status": "PRE_CONFIRMED", "execution_status": "SUCCEEDED"}
            assert await ask("getTransactionStatus", each) == told
        old_root = made.head.block["new_root"]
        assert (await world.call("starknet_getStateUpdate", "pending", version="v0_9"))[
            "old_root"
        ] == old_root
        flat = await world.call("alt_getStateUpdate", block_id="pending")
        assert flat["old_root"] == old_root
        assert flat["state_diff"]["storage_diffs"] == [{"address": TOKEN, **slot}]
        # Nothing of it is in the head's state.
        assert (await world.call("starknet_getNonce", "latest", ACCOUNT)) == hex(5)


async def test_contracts_and_classes_of_the_block_are_there(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    # The next block declares and deploys, but has no transactions: its class is stored already.
    made.grow(1)
    node = MadeNode(made, nursery)
    shown = made.under_way(0)
    class_hash = next(iter(made.classes))
    shown.update["state_diff"] = shown.update["state_diff"] | {
        "deployed_contracts": [{"address": "0xd1", "class_hash": class_hash}]
    }
    node.under_way = shown
    async with followed(tmp_path, {"a": node}, **OFTEN) as world:
        await at_head(world, made)
        await shows(world, 0)
        assert await world.call("starknet_getClassHashAt", "pre_confirmed", "0xd1") == class_hash
        assert await world.call("starknet_getClassAt", "pre_confirmed", "0xd1") == made.classes[class_hash]
        assert await world.call("starknet_getClass", "pre_confirmed", class_hash) == made.classes[class_hash]
        assert await world.call("starknet_getNonce", "pre_confirmed", "0xd1") == "0x0"
        assert (await world.call("starknet_getNonce", "latest", "0xd1"))["code"] == 20


@pytest.mark.parametrize("size", [1, 2, 3, 1024])
@pytest.mark.parametrize("first", [{"block_number": 0}, "pre_confirmed"])
async def test_pages_of_events_go_on_into_the_block(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain, size: int, first: Any
) -> None:
    node = MadeNode(made, nursery)
    shown = node.under_way = made.under_way(2)
    async with followed(tmp_path, {"a": node}, **OFTEN) as world:
        await at_head(world, made)
        await shows(world, 2)
        wanted: Json = {"from_block": first, "to_block": "pre_confirmed", "chunk_size": size}
        found: list[Json] = []
        token: Json = {}
        while True:
            page = await world.call("starknet_getEvents", wanted | token)
            assert len(page["events"]) <= size
            found += page["events"]
            if "continuation_token" not in page:
                break
            token = {"continuation_token": page["continuation_token"]}
        blocks = [shown] if first == "pre_confirmed" else [*made.blocks, shown]
        assert [event["data"] for event in found] == [
            event["data"]
            for block in blocks
            for pair in block.block["transactions"]
            for event in pair["receipt"]["events"]
        ]
        assert ["block_hash" in event for event in found[-4:]] == [False] * 4
        upto = await world.call("starknet_getEvents", wanted | {"to_block": "latest", "chunk_size": 1024})
        assert len(upto["events"]) == len(found) - 4


async def test_the_block_is_given_up_with_its_head(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    node = MadeNode(made, nursery)
    node.under_way = made.under_way(2)
    async with followed(tmp_path, {"a": node}, **OFTEN) as world:
        await at_head(world, made)
        await shows(world, 2)
        # The upstream goes on showing the block that it has sealed.
        await node.grow()
        await at_head(world, made)
        for tag in TAGS:
            told = await world.call("starknet_getBlockWithTxHashes", tag)
            assert (told["block_number"], told["transactions"]) == (made.head.number + 1, [])
        node.under_way = made.under_way(0)
        await shows(world, 0)


async def test_only_pre_confirmed_is_unknown_while_the_chain_is_behind(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    node = MadeNode(made, nursery)
    node.under_way = made.under_way(1)
    async with followed(tmp_path, {"a": node}, **OFTEN) as world:
        await at_head(world, made)
        await shows(world, 1)
        await node.tell(block_number=made.head.number + 50, block_hash="0xfade")
        await world.until(lambda: world.follower.stage is SyncStage.CATCHING_UP)
        await world.until(lambda: world.chain.followed is not None and not world.chain.followed.pre_confirmed)
        for method, params in (
            ("getStateUpdate", ()),
            ("getBlockWithTxs", ()),
            ("getNonce", (ACCOUNT,)),
        ):
            error = await world.call(f"starknet_{method}", "pre_confirmed", *params)
            assert error == {"code": 24, "message": "Block not found"}
        wanted = {"to_block": "pre_confirmed", "chunk_size": 1}
        assert (await world.call("starknet_getEvents", wanted))["code"] == 24
        told = await world.call("alt_getStateUpdate", block_id="pending")
        assert told["old_root"] == made.head.block["new_root"]
        assert not any(told["state_diff"].values())
        assert await world.call("starknet_getNonce", "pending", ACCOUNT) == hex(5)


async def test_polling_can_be_turned_off(tmp_path: Path, nursery: trio.Nursery, made: MadeChain) -> None:
    node = MadeNode(made, nursery)
    node.under_way = made.under_way(2)
    async with followed(tmp_path, {"a": node}, pre_confirmed_interval=0) as world:
        await at_head(world, made)
        for tag in TAGS:
            told = await world.call("starknet_getBlockWithTxHashes", tag)
            assert (told["block_number"], told["transactions"]) == (made.head.number + 1, [])
            assert (await world.call("starknet_getStateUpdate", tag))["old_root"] == made.head.block[
                "new_root"
            ]
        named = [dict(params).get("block_id") for _, params in node.provider.calls]
        assert not any(tag in named for tag in TAGS)


def test_the_parts_of_a_block_make_it(made: MadeChain) -> None:
    for count in (0, 1, 2):
        block = decoded(made, made.under_way(count))
        assert len(block.body.hashes) == count
        assert block.number == made.head.number + 1


Change = Callable[[MadeBlock], None]


def _number(shown: MadeBlock) -> None:
    shown.block["block_number"] += 1


def _root(shown: MadeBlock) -> None:
    shown.update["old_root"] = "0x1"


def _later(shown: MadeBlock) -> None:
    shown.update["state_diff"]["nonces"] = [{"contract_address": ACCOUNT, "nonce": "0x77"}]


def _another(shown: MadeBlock) -> None:
    shown.update["state_diff"]["nonces"] = [{"contract_address": "0x99", "nonce": "0x7"}]


def _shorter(shown: MadeBlock) -> None:
    del shown.block["transactions"][:]


@pytest.mark.parametrize("change", [_number, _root, _later, _another, _shorter])
def test_replies_that_do_not_belong_together_are_not_taken(made: MadeChain, change: Change) -> None:
    shown = made.under_way(2)
    change(shown)
    assert decoded(made, shown) is None


def _calldata(shown: MadeBlock) -> None:
    shown.block["transactions"][1]["transaction"]["calldata"][0] = "0xbad"


def _hash(shown: MadeBlock) -> None:
    shown.block["transactions"][0]["receipt"]["transaction_hash"] = "0x1"


def _sender(shown: MadeBlock) -> None:
    shown.block["transactions"][0]["transaction"]["sender_address"] = 7


def _time(shown: MadeBlock) -> None:
    shown.block["timestamp"] = "now"


def _slots(shown: MadeBlock) -> None:
    shown.update["state_diff"]["storage_diffs"] = {"0x1": 2}


def _kind(shown: MadeBlock) -> None:
    shown.block["transactions"][0]["transaction"]["type"] = "PRAYER"


def _prices(shown: MadeBlock) -> None:
    del shown.block["l1_gas_price"]


@pytest.mark.parametrize("change", [_calldata, _hash, _sender, _time, _slots, _kind, _prices])
def test_what_is_malformed_or_has_another_hash_is_refused(made: MadeChain, change: Change) -> None:
    shown = made.under_way(2)
    change(shown)
    with pytest.raises(MalformedError):
        decoded(made, shown)


async def test_the_upstream_with_most_transactions_is_taken_and_kept(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = {name: MadeNode(made, nursery) for name in "ab"}
    async with followed(tmp_path, nodes) as world:
        await at_head(world, made)
        await world.until(lambda: sum(each.head is not None for each in world.follower.upstreams) == 2)
        state = world.chain.followed
        assert state is not None
        retry = StorageRetry(lambda: None)
        tracker = PreConfirmedTracker(world.chain, state, world.follower.upstreams, CHAIN_ID, 0, retry)

        async def taken(**counts: int) -> int | None:
            for name, node in nodes.items():
                node.under_way = made.under_way(counts[name]) if name in counts else None
            await tracker.step()
            return None if state.pre_confirmed is None else len(state.pre_confirmed.body.hashes)

        assert await taken(a=1, b=2) == 2
        assert await taken(a=1) == 1
        held = state.pre_confirmed
        # A tie changes nothing, nor does the same answer again.
        assert await taken(a=1, b=1) == 1
        assert state.pre_confirmed is held
        # The sequencer may drop a transaction.
        assert await taken(a=0) == 0
        # A failed poll empties the block only once the last good one is too old.
        assert await taken() == 0
        monkeypatch.setattr(module, "MAX_AGE", -1.0)
        assert await taken() is None
        assert await taken(b=2) == 2
        false = made.under_way(2)
        false.block = copy.deepcopy(false.block)
        _calldata(false)
        nodes["a"].under_way, nodes["b"].under_way = false, made.under_way(1)
        await tracker.step()
        assert state.pre_confirmed is not None
        assert len(state.pre_confirmed.body.hashes) == 1
