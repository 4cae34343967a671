"""A followed Starknet chain is that of its upstreams: through reorganisations, restarts and lies."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.doctor.damage import Silence
from tests.sync.starknet.made_chain import NOT_SAID, Json, Lie, MadeChain, MadeNode
from tests.sync.starknet.world import followed
from wsnode.doctor.examine import examine
from wsnode.starknet.body import events_of
from wsnode.starknet.felt import felt_bytes
from wsnode.sync.follow.sync_report import SyncStage
from wsnode.sync.starknet import follower

pytestmark = pytest.mark.slow


def hashes(made: MadeChain, first: int = 0) -> dict[int, str]:
    return {block.number: block.hash for block in made.blocks[first:]}


@pytest.fixture
def made() -> MadeChain:
    chain = MadeChain()
    chain.grow(4)
    return chain


async def test_a_full_folder_has_every_block_from_the_first_on(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    made.grow(35)
    node = MadeNode(made, nursery)
    async with followed(tmp_path, {"a": node}) as world:
        await world.until_at(made)
        assert world.stored() == hashes(made)
        assert world.follower.writer.checks_roots
        await world.until(lambda: world.follower.stage is SyncStage.LIVE)
        await node.grow(2)
        await world.until_at(made)
        assert world.stored() == hashes(made)


async def test_a_light_folder_begins_at_the_head_and_fills_its_window_downwards(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    made.grow(45)
    node = MadeNode(made, nursery)
    async with followed(tmp_path, {"a": node}, window=20) as world:
        await world.until_at(made)
        assert node.asked["getBlockWithReceipts"] <= 2
        head = made.head.number
        await world.until(lambda: world.stored() == hashes(made, head - 19))
        await node.grow(3)
        await world.until_at(made)
        await world.until(lambda: world.stored() == hashes(made, head - 16))
        # Its classes are there, and nothing is left of the blocks that the window has left.
        with world.chain.snapshot() as view:
            assert view.missing_classes() == []
            gone = made.blocks[head - 18]
            assert view.body(gone.number) is None
            assert view.diff_text(gone.number) is None


async def test_a_window_that_reaches_the_first_block_ends_there(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    async with followed(tmp_path, {"a": MadeNode(made, nursery)}, window=100) as world:
        await world.until(lambda: world.stored() == hashes(made))


async def test_state_at_the_window_is_that_of_the_chain_after_pruning(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    made.grow(20)
    node = MadeNode(made, nursery)
    async with followed(tmp_path, {"a": node}, window=10) as world:
        await world.until(lambda: len(world.stored()) == 10)
        await node.grow(15)
        await world.until(lambda: world.stored() == hashes(made, made.head.number - 9))
        account = felt_bytes("0xacc")
        with world.chain.snapshot() as view:
            for block in made.blocks[-10:]:
                nonce = felt_bytes(block.update["state_diff"]["nonces"][0]["nonce"])
                assert view.nonce_at(account, block.number) == nonce
            # A slot that a block of the window's past has written, and none since.
            slot = view.storage_at(felt_bytes("0x1"), felt_bytes(hex(16)), made.head.number)
            assert slot is not None
            assert slot[1] == 16
    (found,) = examine(tmp_path / "ours", Silence()).values()
    assert found.faults == {}
    assert found.checked["blocks"] == 10


@pytest.mark.parametrize("window", [None, 100])
async def test_reorganisations_are_followed(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain, window: int | None
) -> None:
    made.grow(5)
    node = MadeNode(made, nursery)
    async with followed(tmp_path, {"a": node}, window=window) as world:
        await world.until(lambda: world.stored() == hashes(made))
        for depth, count in ((1, 1), (2, 4), (5, 6), (3, 2), (1, 30)):
            await node.reorganise(depth, count)
            await world.until_at(made)
            assert world.stored() == hashes(made)
        assert world.follower.reorganisations == 5
        with world.chain.snapshot() as view:
            for block in made.blocks:
                body = view.body(block.number)
                assert body is not None
                told = [each["receipt"]["events"] for each in block.block["transactions"]]
                assert [len(events_of(receipt)) for receipt in body.receipts] == list(map(len, told))


async def test_a_branch_below_a_light_folders_first_block_makes_it_begin_again(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    made.grow(20)
    node = MadeNode(made, nursery)
    async with followed(tmp_path, {"a": node}, window=5) as world:
        await world.until(lambda: world.stored() == hashes(made, made.head.number - 4))
        await node.reorganise(10, 12)
        await world.until_at(made)
        await world.until(lambda: world.stored() == hashes(made, made.head.number - 4))


async def test_an_upstream_that_only_lags_takes_nothing_back(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    behind = made.copy()
    made.grow(3)
    nodes = {"a": MadeNode(made, nursery), "b": MadeNode(behind, nursery)}
    async with followed(tmp_path, nodes, window=50) as world:
        await world.until_at(made)
        await nodes["b"].tell()
        await nodes["a"].grow()
        await world.until_at(made)
        assert world.follower.reorganisations == 0


async def test_two_must_agree(tmp_path: Path, nursery: trio.Nursery, made: MadeChain) -> None:
    other = made.copy()
    nodes = {"a": MadeNode(made, nursery), "b": MadeNode(other, nursery)}
    async with followed(tmp_path, nodes, agree=2) as world:
        await world.until_at(made)
        # Either node may have been asked for the blocks so far; the next ones are those of `a` alone.
        asked = nodes["a"].asked["getBlockWithReceipts"]
        await nodes["a"].grow(2)
        await world.until(lambda: nodes["a"].asked["getBlockWithReceipts"] > asked)
        assert world.follower.writer.head == other.head.number
        other.blocks = list(made.blocks)
        await nodes["b"].tell()
        await world.until_at(made)
        assert world.stored() == hashes(made)


async def test_a_follower_goes_on_after_a_restart_and_an_outage(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    node = MadeNode(made, nursery)
    async with followed(tmp_path, {"a": node}, window=100) as world:
        await world.until(lambda: world.stored() == hashes(made))
    made.reorganise(2, 40)
    node.provider.is_gone = True
    async with followed(tmp_path, {"a": node}, window=100) as world:
        await world.until(lambda: world.state_of("a")[0] == "unreachable")
        node.provider.is_gone = False
        await world.until_at(made)
        await world.until(lambda: world.stored() == hashes(made))


async def test_a_cut_connection_is_opened_again(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    node = MadeNode(made, nursery)
    async with followed(tmp_path, {"a": node}) as world:
        await world.until_at(made)
        await node.provider.close()
        made.grow(2)
        await world.until_at(made)


async def test_without_announcements_the_head_is_asked_for(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    node = MadeNode(made, nursery)
    node.announces = False
    async with followed(tmp_path, {"a": node}) as world:
        await world.until_at(made)
        made.grow()
        await world.until_at(made)


def leave_out_an_event(name: str, result: Json) -> Any:
    if name == "getBlockWithReceipts" and result["transactions"]:
        result["transactions"][0]["receipt"]["events"].pop()
        return result
    return NOT_SAID


def change_calldata(name: str, result: Json) -> Any:
    if name == "getBlockWithReceipts" and result["transactions"]:
        result["transactions"][0]["transaction"]["calldata"].append("0x1")
        return result
    return NOT_SAID


def revert(name: str, result: Json) -> Any:
    if name == "getBlockWithReceipts" and result["transactions"]:
        result["transactions"][0]["receipt"] |= {"execution_status": "REVERTED", "revert_reason": "none"}
        return result
    return NOT_SAID


def shorten_difference(name: str, result: Json) -> Any:
    if name == "getStateUpdate":
        result["state_diff"]["nonces"] = []
        return result
    return NOT_SAID


def change_parent(name: str, result: Json) -> Any:
    return result | {"parent_hash": "0xbad"} if name == "getBlockWithReceipts" else NOT_SAID


def change_root(name: str, result: Json) -> Any:
    changed = name in ("getBlockWithReceipts", "getStateUpdate")
    return result | {"new_root": "0xbad"} if changed else NOT_SAID


def change_old_root(name: str, result: Json) -> Any:
    return result | {"old_root": "0xbad"} if name == "getStateUpdate" else NOT_SAID


def change_class(name: str, result: Json) -> Any:
    return result | {"sierra_program": ["0x1"]} if name == "getClass" else NOT_SAID


def malform(name: str, result: Json) -> Any:
    return result | {"timestamp": "soon"} if name == "getBlockWithReceipts" else NOT_SAID


def tell_another(name: str, result: Json) -> Any:
    return result | {"block_hash": "0x5"} if name == "getStateUpdate" else NOT_SAID


LIES: list[Any] = [
    pytest.param(leave_out_an_event, "block_hash", id="event"),
    pytest.param(change_calldata, "transaction_hash", id="calldata"),
    pytest.param(revert, "block_hash", id="receipt"),
    pytest.param(shorten_difference, "block_hash", id="difference"),
    pytest.param(change_parent, "block_hash", id="parent"),
    pytest.param(change_root, "block_hash", id="root"),
    pytest.param(change_old_root, "old_root", id="old root"),
    pytest.param(change_class, "hashes to", id="class"),
    pytest.param(malform, "timestamp", id="malformed"),
    pytest.param(tell_another, "the state update is of block 0x5", id="update of another block"),
]


@pytest.mark.parametrize(("lie", "why"), LIES)
async def test_beside_an_honest_upstream_nothing_false_is_stored(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain, lie: Lie, why: str
) -> None:
    honest, liar = MadeNode(made, nursery), MadeNode(made, nursery)
    async with followed(tmp_path, {"honest": honest, "liar": liar}, window=100) as world:
        await world.until(lambda: world.stored() == hashes(made))
        liar.lie = lie
        honest.provider.is_gone = True
        await honest.provider.close()
        # A number that three divides has a class, and none but that has a transaction.
        made.grow(6)
        await world.until(lambda: world.state_of("liar")[0] == "quarantined")
        assert why in world.state_of("liar")[1]
        honest.provider.is_gone = False
        await world.until_at(made)
        assert world.stored() == hashes(made)


async def test_an_only_upstream_is_followed_again_after_its_lie(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    node = MadeNode(made, nursery)
    async with followed(tmp_path, {"a": node}) as world:
        await world.until_at(made)
        head = made.head.number
        node.lie = leave_out_an_event
        await node.grow(3)
        await world.until(lambda: world.state_of("a")[0] == "quarantined")
        assert world.follower.writer.head <= head + 1
        node.lie = lambda _name, _result: NOT_SAID
        await world.until_at(made)


async def test_a_head_that_nobody_has_is_not_followed(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    node = MadeNode(made, nursery)
    async with followed(tmp_path, {"a": node}) as world:
        await world.until_at(made)
        await node.tell(block_number=2**62, block_hash="0x7")
        await node.grow()
        await world.until_at(made)
        assert world.stored() == hashes(made)


@pytest.mark.parametrize(
    ("member", "told", "why"),
    [
        ("version", "0.8.1", "speaks RPC 0.8.1, wsnode needs 0.9 or 0.10"),
        ("version", "1.0.0", "speaks RPC 1.0.0, wsnode needs 0.9 or 0.10"),
        ("version", "new", "is no version"),
        ("chain_id", "SN_MAIN", "it is a node of SN_MAIN, not of SN_TEST"),
    ],
)
async def test_a_node_of_another_chain_or_version_is_quarantined(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain, member: str, told: str, why: str
) -> None:
    node = MadeNode(made, nursery)
    setattr(node, member, told)
    async with followed(tmp_path, {"a": node}) as world:
        await world.until(lambda: why in world.state_of("a")[1])
        assert world.stored() == {}


async def test_a_branch_below_what_l1_has_accepted_is_not_followed(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    node = MadeNode(made, nursery)
    node.l1_accepted = 3
    async with followed(tmp_path, {"a": node}) as world:
        await world.until_at(made)
        world.follower._head_tracker.floor = await world.follower._ask_l1()
        assert world.follower.l1_accepted is not None
        before = world.stored()
        await node.reorganise(3, 5)
        await world.until(lambda: "final on L1" in world.state_of("a")[1])
        assert world.stored() == before
        await world.until(lambda: world.follower.stage is SyncStage.STOPPED)


async def test_a_first_start_knows_the_last_block_accepted_on_l1_without_another_poll(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "L1_UNKNOWN_SECONDS", math.inf)
    node = MadeNode(made, nursery)
    node.l1_accepted = 2
    async with followed(tmp_path, {"a": node}) as world:
        await world.until(lambda: world.follower.l1_accepted is not None)
        assert (await world.call("starknet_getBlockWithTxHashes", "l1_accepted"))["block_number"] == 2


async def test_the_last_block_accepted_on_l1_is_served(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "L1_UNKNOWN_SECONDS", 0.01)
    node = MadeNode(made, nursery)
    node.l1_accepted = 2
    async with followed(tmp_path, {"a": node}) as world:
        await world.until_at(made)
        state = world.chain.followed
        assert state is not None
        await world.until(lambda: state.l1_accepted is not None)
        told = await world.call("starknet_getBlockWithReceipts", "l1_accepted")
        accepted = made.blocks[2].block
        assert (told["block_number"], told["status"]) == (2, "ACCEPTED_ON_L1")
        finalities = {pair["receipt"]["finality_status"] for pair in told["transactions"]}
        assert finalities == {"ACCEPTED_ON_L1"}
        transaction = accepted["transactions"][0]["receipt"]["transaction_hash"]
        status = await world.call("starknet_getTransactionStatus", transaction)
        assert status["finality_status"] == "ACCEPTED_ON_L1"
        above = await world.call("starknet_getBlockWithReceipts", {"block_number": 4})
        assert above["status"] == "ACCEPTED_ON_L2"
        # A block that is not ours is none.
        state.l1_accepted = (2, b"\1" * 32)
        assert (await world.call("starknet_getBlockWithTxs", "l1_accepted"))["code"] == 24
