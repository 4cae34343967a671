"""Subscribing to the Starknet chain's heads, as starknet-specs has it, under both names."""

from typing import Any

import pytest
from trio.testing import wait_all_tasks_blocked

from tests.starknet.live.growing import GrowingChain, Place
from tests.starknet.live.sessions import HeadClient, open_node
from tests.starknet.rpc.test_schemas import validate_as
from wsnode.starknet.felt import ZERO, felt_text
from wsnode.starknet.live.position import StarknetPosition
from wsnode.starknet.rpc import subscriptions
from wsnode.starknet.rpc.methods import FAMILIES

INVALID = {"code": 66, "message": "Invalid subscription id"}
NOT_FOUND = {"code": 24, "message": "Block not found"}


def numbers(client: HeadClient, identity: str) -> list[int]:
    return [message["params"]["result"]["block_number"] for message in client.told[identity]]


@pytest.mark.parametrize("family", FAMILIES)
async def test_new_heads_are_told_under_the_names_that_were_asked(growing: GrowingChain, family: str) -> None:
    growing.grow(3)
    async with open_node(growing) as node:
        client = await node.connect()
        identity = await client.watch(family)
        assert client.told[identity] == []
        growing.grow()
        node.hub.advance()
        await wait_all_tasks_blocked()
        (number, block_hash), parent = growing.blocks[3], growing.blocks[2]
        assert client.told[identity] == [
            {
                "jsonrpc": "2.0",
                "method": f"{family}_subscriptionNewHeads",
                "params": {
                    "subscription_id": identity,
                    "result": {
                        "block_hash": felt_text(block_hash),
                        "parent_hash": felt_text(parent[1]),
                        "block_number": number,
                        "new_root": "0x0",
                        "timestamp": 1_700_000_003,
                    },
                },
            }
        ]


async def test_heads_have_the_members_of_the_version_that_the_path_names(growing: GrowingChain) -> None:
    growing.more = {"event_count": 7, "l1_da_mode": "BLOB"}
    growing.grow(3)
    async with open_node(growing) as node:
        clients = [await node.connect(path=f"/ws/v3/key{end}") for end in ("", "/rpc/v0_10", "/rpc/v0_9")]
        watched = [await client.watch(block_id={"block_number": 1}) for client in clients]
        growing.grow()
        node.hub.advance()
        await wait_all_tasks_blocked()
        newest, newer, older = (
            [message["params"]["result"] for message in client.told[identity]]
            for client, identity in zip(clients, watched, strict=True)
        )
    assert [header["block_number"] for header in newest] == [1, 2, 3]
    assert newest == newer == [header | {"event_count": 7} for header in older]
    assert all("event_count" not in header and header["l1_da_mode"] == "BLOB" for header in older)


@pytest.mark.parametrize("family", FAMILIES)
async def test_replaced_blocks_are_told_and_then_the_new_ones(growing: GrowingChain, family: str) -> None:
    growing.grow(5)
    async with open_node(growing) as node:
        client = await node.connect()
        identity = await client.watch(family)
        first, last = growing.blocks[2], growing.blocks[4]
        growing.reorganise(3, 2)
        node.hub.advance()
        await wait_all_tasks_blocked()
        reorganisation, *heads = client.told[identity]
        assert reorganisation["method"] == f"{family}_subscriptionReorg"
        validate_as("REORG_DATA", reorganisation["params"]["result"])
        assert reorganisation["params"] == {
            "subscription_id": identity,
            "result": {
                "starting_block_hash": felt_text(first[1]),
                "starting_block_number": 2,
                "ending_block_hash": felt_text(last[1]),
                "ending_block_number": 4,
            },
        }
        assert [head["params"]["result"]["block_number"] for head in heads] == [2, 3]


def named(place: Place, form: str) -> dict[str, Any]:
    return {"block_number": place[0]} if form == "number" else {"block_hash": felt_text(place[1])}


@pytest.mark.parametrize("form", ["number", "hash"])
async def test_a_block_id_is_the_first_block_that_is_told(growing: GrowingChain, form: str) -> None:
    growing.grow(5)
    async with open_node(growing) as node:
        client = await node.connect()
        names = [await client.watch(block_id=named(place, form)) for place in growing.blocks]
        latest, without = await client.watch(block_id="latest"), await client.watch()
        growing.grow()
        node.hub.advance()
        await wait_all_tasks_blocked()
        for first, identity in enumerate(names):
            assert numbers(client, identity) == list(range(first, 6))
        # The specification: "default is latest".
        assert numbers(client, latest) == numbers(client, without) == [5]


async def test_a_subscription_begins_at_most_1024_blocks_back(growing: GrowingChain) -> None:
    growing.grow(1026)
    async with open_node(growing) as node:
        client = await node.connect()
        back = {"code": 68, "message": "Cannot go back more than 1024 blocks"}
        for form in ("number", "hash"):
            block_id = named(growing.blocks[0], form)
            reply = await client.call_named("starknet_subscribeNewHeads", block_id=block_id)
            assert reply["error"] == back
        identity = await client.watch(block_id={"block_number": 1})
        assert numbers(client, identity) == list(range(1, 1026))
        growing.grow()
        node.hub.advance()
        await wait_all_tasks_blocked()
        assert numbers(client, identity)[-1] == 1026
        assert subscriptions.MAX_BLOCKS_BACK == 1024


@pytest.mark.parametrize("block_id", [{"block_number": 3}, {"block_hash": "0xdead"}], ids=str)
async def test_an_unknown_block_is_not_found(growing: GrowingChain, block_id: dict[str, Any]) -> None:
    growing.grow(3)
    async with open_node(growing) as node:
        client = await node.connect()
        reply = await client.call_named("alt_subscribeNewHeads", block_id=block_id)
        assert reply["error"] == NOT_FOUND


async def test_a_replaced_block_is_not_found_but_its_cursor_goes_on(growing: GrowingChain) -> None:
    growing.grow(4)
    async with open_node(growing) as node:
        client = await node.connect()
        told = await client.watch("alt", block_id={"block_number": 3}, cursors=True)
        cursor = client.told[told][0]["params"]["cursor"]
        replaced = growing.blocks[3]
        growing.reorganise(2, 1)
        node.hub.advance()
        reply = await client.call_named("alt_subscribeNewHeads", block_id=named(replaced, "hash"))
        assert reply["error"] == NOT_FOUND
        resumed = await client.watch("alt", cursor=cursor)
        assert [message["method"] for message in client.told[resumed]] == [
            "alt_subscriptionReorg",
            "alt_subscriptionNewHeads",
        ]
        assert all("cursor" in message["params"] for message in client.told[resumed])


async def test_an_empty_chain_can_be_watched(growing: GrowingChain) -> None:
    async with open_node(growing) as node:
        client = await node.connect()
        identity = await client.watch("alt", block_id="latest")
        reply = await client.call_named("alt_subscribeNewHeads", block_id={"block_number": 0})
        assert reply["error"] == NOT_FOUND
        growing.grow(2)
        node.hub.advance()
        await wait_all_tasks_blocked()
        assert numbers(client, identity) == [0, 1]


REFUSED: dict[str, dict[str, Any]] = {
    "pending": {"block_id": "pending"},
    "pre_confirmed": {"block_id": "pre_confirmed"},
    "l1_accepted": {"block_id": "l1_accepted"},
    "no block": {"block_id": {}},
    "a number": {"block_id": 5},
    "a malformed cursor": {"cursor": "x"},
    "both": {"block_id": "latest", "cursor": str(StarknetPosition(0, ZERO))},
}


@pytest.mark.parametrize("params", REFUSED.values(), ids=REFUSED)
async def test_what_names_no_beginning_is_refused(growing: GrowingChain, params: dict[str, Any]) -> None:
    growing.grow()
    async with open_node(growing) as node:
        client = await node.connect()
        for family in FAMILIES:
            reply = await client.call_named(f"{family}_subscribeNewHeads", **params)
            assert (reply["error"]["code"], reply["error"]["message"]) == (-32602, "Invalid params")
            assert reply["error"]["data"]["reason"]


async def test_a_cursor_of_an_unknown_block_is_refused(growing: GrowingChain) -> None:
    growing.grow()
    async with open_node(growing) as node:
        client = await node.connect()
        reply = await client.call_named(
            "alt_subscribeNewHeads", cursor=str(StarknetPosition(7, b"\x05" * 32))
        )
        assert reply["error"] == {
            "code": -32001,
            "message": "the cursor's block is unknown",
            "data": {"block_number": 7, "block_hash": felt_text(b"\x05" * 32)},
        }


async def test_nothing_is_told_once_it_was_unsubscribed(growing: GrowingChain) -> None:
    async with open_node(growing) as node:
        client, other = await node.connect(), await node.connect()
        identity = await client.watch("starknet")
        for method in ("alt_unsubscribe", "starknet_unsubscribe"):
            assert (await other.call_named(method, subscription_id=identity))["error"] == INVALID
        assert (await client.call_named("starknet_unsubscribe", subscription_id=identity))["result"] is True
        assert (await client.call_named("starknet_unsubscribe", subscription_id=identity))["error"] == INVALID
        growing.grow()
        node.hub.advance()
        await wait_all_tasks_blocked()
        assert client.told[identity] == []


async def test_starknet_takes_parameters_by_position_and_alt_by_name_only(growing: GrowingChain) -> None:
    growing.grow(2)
    async with open_node(growing) as node:
        client = await node.connect()
        reply = await client.call("starknet_subscribeNewHeads", {"block_number": 1})
        assert numbers(client, reply["result"]) == [1]
        assert (await client.call("starknet_unsubscribe", reply["result"]))["result"] is True
        for method in ("alt_subscribeNewHeads", "alt_unsubscribe"):
            assert (await client.call(method, "latest"))["error"]["code"] == -32602


@pytest.mark.parametrize("family", FAMILIES)
async def test_over_http_there_are_no_notifications(growing: GrowingChain, family: str) -> None:
    async with open_node(growing) as node:
        for name in ("subscribeNewHeads", "unsubscribe"):
            reply = await node.post(f"{family}_{name}", {"subscription_id": "0x1"})
            assert reply["error"] == {"code": -32601, "message": "notifications not supported"}


async def test_no_head_is_told_before_the_reply(growing: GrowingChain) -> None:
    growing.grow(3)
    async with open_node(growing) as node:
        client = await node.connect()
        await client.watch(block_id={"block_number": 0})
        assert [message.get("method") for message in client.messages] == [
            None,
            *["starknet_subscriptionNewHeads"] * 3,
        ]
