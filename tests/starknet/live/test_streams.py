"""Subscriptions to events, transactions, receipts and statuses: what is sent, and in which order."""

from functools import partial
from itertools import chain
from typing import Any

import pytest
from trio.testing import wait_all_tasks_blocked

from tests.starknet.live.bodies import (
    EMITTERS,
    KEYS,
    SENDERS,
    event_places,
    made_body,
    made_event,
    told_place,
    transaction_hash,
)
from tests.starknet.live.growing import GrowingChain, no_body
from tests.starknet.live.sessions import HeadClient, Node, open_node
from wsnode.pubsub.subscription import PART_BYTES
from wsnode.starknet.felt import felt_text
from wsnode.starknet.rpc import subscriptions
from wsnode.starknet.rpc.methods import FAMILIES
from wsnode.starknet.rpc.subscription_params import MAX_SENDERS

KINDS = ["Events", "NewTransactions", "NewTransactionReceipts", "TransactionStatus"]
NAMES = {"NewTransactions": "NewTransaction"}
"""Notifications whose names end otherwise than the method's."""


@pytest.fixture
def filled(growing: GrowingChain) -> GrowingChain:
    """Return a chain of three blocks with transactions, and more to come."""
    growing.make_body = made_body
    growing.grow(3)
    return growing


async def notice(node: Node) -> None:
    node.hub.advance()
    await wait_all_tasks_blocked()


def results(client: HeadClient, identity: str) -> list[Any]:
    return [message["params"]["result"] for message in client.told[identity]]


def endings(client: HeadClient, identity: str) -> list[str]:
    return [message["method"].partition("_subscription")[2] for message in client.told[identity]]


@pytest.mark.parametrize("family", FAMILIES)
async def test_events_come_in_their_order_with_their_places(filled: GrowingChain, family: str) -> None:
    async with open_node(filled) as node:
        client = await node.connect()
        live = await client.watch(family, "Events")
        filled.grow()
        await notice(node)
        block = filled.blocks[3]
        assert client.told[live][4] == {
            "jsonrpc": "2.0",
            "method": f"{family}_subscriptionEvents",
            "params": {
                "subscription_id": live,
                "result": {
                    **made_event(2, 0),
                    "block_hash": felt_text(block[1]),
                    "block_number": 3,
                    "transaction_hash": transaction_hash(block, 2),
                    "transaction_index": 2,
                    "event_index": 0,
                    "finality_status": "ACCEPTED_ON_L2",
                },
            },
        }
        assert list(map(told_place, results(client, live))) == event_places(block)
        replayed = await client.watch(family, "Events", block_id={"block_number": 1})
        await wait_all_tasks_blocked()
        expected = list(chain.from_iterable(map(event_places, filled.blocks[1:])))
        assert list(map(told_place, results(client, replayed))) == expected


async def test_the_older_version_has_no_places(filled: GrowingChain) -> None:
    async with open_node(filled) as node:
        client = await node.connect(path="/ws/v3/key/rpc/v0_9")
        identity = await client.watch(kind="Events", from_address=EMITTERS[0])
        refused = await client.call_named("starknet_subscribeEvents", from_address=EMITTERS)
        assert refused["error"]["code"] == -32602
        refused = await client.call_named("starknet_subscribeNewTransactions", tags=["INCLUDE_PROOF_FACTS"])
        assert refused["error"]["code"] == -32602
        filled.grow()
        await notice(node)
        told = results(client, identity)
        assert len(told) == 3
        assert all("event_index" not in event and "transaction_index" not in event for event in told)


@pytest.mark.parametrize(
    ("wanted", "matching"),
    [
        pytest.param(
            {"from_address": EMITTERS[0]}, lambda index, number: number % 2 == 0, id="of one contract"
        ),
        pytest.param({"from_address": EMITTERS}, lambda index, number: True, id="of two contracts"),
        pytest.param(
            {"from_address": ["0xdead"]}, lambda index, number: False, id="of a contract without events"
        ),
        pytest.param({"keys": [[KEYS[1]]]}, lambda index, number: index == 1, id="with a first key"),
        pytest.param(
            {"keys": [[], [KEYS[0], KEYS[2]]]}, lambda index, number: number != 1, id="with a second key"
        ),
        pytest.param(
            {"from_address": EMITTERS[1], "keys": [[KEYS[0], KEYS[1]], []]},
            lambda index, number: number % 2 == 1 and index < 2,
            id="of one contract with one of two keys",
        ),
        pytest.param({"finality_status": "PRE_CONFIRMED"}, lambda index, number: True, id="of any finality"),
    ],
)
async def test_a_filter_selects_events(filled: GrowingChain, wanted: dict[str, Any], matching: Any) -> None:
    filled.make_body = partial(made_body, events=3)
    async with open_node(filled) as node:
        client = await node.connect()
        live = await client.watch(kind="Events", **wanted)
        filled.grow()
        await notice(node)
        replayed = await client.watch(kind="Events", block_id={"block_number": 3}, **wanted)
        await wait_all_tasks_blocked()
        places = event_places(filled.blocks[3], events=3)
        expected = [place for place in places if matching(*place[1:])]
        for identity in (live, replayed):
            assert list(map(told_place, results(client, identity))) == expected


async def test_transactions_and_receipts_are_those_of_the_senders(filled: GrowingChain) -> None:
    async with open_node(filled) as node:
        client = await node.connect()
        wanted = {"sender_address": [SENDERS[0], SENDERS[2].upper().replace("X", "x0")]}
        asked: list[tuple[str, dict[str, Any]]] = [
            ("NewTransactions", {}),
            ("NewTransactions", wanted | {"tags": ["INCLUDE_PROOF_FACTS"]}),
            ("NewTransactions", {"finality_status": ["RECEIVED", "CANDIDATE", "PRE_CONFIRMED"]}),
            ("NewTransactionReceipts", {"finality_status": ["PRE_CONFIRMED", "ACCEPTED_ON_L2"]}),
            ("NewTransactionReceipts", wanted),
            ("NewTransactionReceipts", {"finality_status": ["PRE_CONFIRMED"]}),
        ]
        names = [await client.watch(kind=kind, **params) for kind, params in asked]
        filled.grow()
        await notice(node)
        told = [results(client, identity) for identity in names]
        hashes = [transaction_hash(filled.blocks[3], index) for index in range(3)]
        some = [hashes[0], hashes[2]]
        expected = [hashes, some, [], hashes, some, []]
        assert [[result["transaction_hash"] for result in each] for each in told] == expected
        assert told[0][1] == {
            "type": "INVOKE",
            "version": "0x3",
            "sender_address": SENDERS[1],
            "transaction_hash": hashes[1],
            "finality_status": "ACCEPTED_ON_L2",
        }
        assert ["proof_facts" in result for result in told[1]] == [True, False]
        assert told[3][0]["block_number"] == 3
        assert told[3][0]["block_hash"] == felt_text(filled.blocks[3][1])


async def test_a_status_is_told_at_once_and_whenever_a_block_includes_the_transaction(
    filled: GrowingChain,
) -> None:
    known = transaction_hash(filled.blocks[1], 2)
    status = {"finality_status": "ACCEPTED_ON_L2", "execution_status": "SUCCEEDED"}
    async with open_node(filled) as node:
        client = await node.connect()
        identity = await client.watch(kind="TransactionStatus", transaction_hash=known)
        unknown = await client.watch(kind="TransactionStatus", transaction_hash="0xdead")
        await wait_all_tasks_blocked()
        assert results(client, identity) == [{"transaction_hash": known, "status": status}]
        dropped = filled.shrink(2)
        await notice(node)
        assert endings(client, identity)[1:] == ["Reorg"]
        filled.return_to(dropped)
        await notice(node)
        assert endings(client, identity)[2:] == ["TransactionStatus"]
        filled.grow(3)
        await notice(node)
        assert len(client.told[identity]) == 3
        assert endings(client, unknown) == ["Reorg"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_reorganisation_comes_before_the_new_branch(filled: GrowingChain, kind: str) -> None:
    needed = {"transaction_hash": "0xdead"} if kind == "TransactionStatus" else {}
    async with open_node(filled) as node:
        client = await node.connect()
        identity = await client.watch(kind=kind, **needed)
        first, last = filled.blocks[1], filled.blocks[2]
        filled.reorganise(2, 1)
        await notice(node)
        reorganisation, *others = client.told[identity]
        assert reorganisation["method"] == "starknet_subscriptionReorg"
        assert reorganisation["params"]["result"] == {
            "starting_block_hash": felt_text(first[1]),
            "starting_block_number": 1,
            "ending_block_hash": felt_text(last[1]),
            "ending_block_number": 2,
        }
        if kind == "TransactionStatus":
            assert others == []
            return
        assert set(endings(client, identity)[1:]) == {NAMES.get(kind, kind)}
        told = [result["transaction_hash"] for result in results(client, identity)[1:]]
        assert sorted(set(told)) == sorted(transaction_hash(filled.blocks[1], index) for index in range(3))


@pytest.mark.slow
async def test_a_block_larger_than_a_part_is_sent_whole_and_resumed_anywhere(growing: GrowingChain) -> None:
    growing.make_body = partial(made_body, transactions=40, events=9, data=20)
    growing.grow(2)
    async with open_node(growing) as node:
        client = await node.connect()
        live = await client.watch(kind="Events", cursors=True)
        growing.grow(2)
        await notice(node)
        places = [event_places(block, 40, 9) for block in growing.blocks]
        told = client.told[live]
        assert sum(len(str(message)) for message in told) > 3 * PART_BYTES
        assert list(map(told_place, results(client, live))) == places[2] + places[3]
        for count in (1, 9, 10, 200, 360, 361, 719):
            cursor = told[count - 1]["params"]["cursor"]
            resumed = await client.watch(kind="Events", cursor=cursor)
            await wait_all_tasks_blocked()
            rest = list(map(told_place, results(client, resumed)))
            assert rest == (places[2] + places[3])[count:], count


async def test_a_cursor_serves_any_kind_and_loses_nothing(filled: GrowingChain) -> None:
    async with open_node(filled) as node:
        client = await node.connect()
        start: dict[str, Any] = {"block_id": {"block_number": 1}, "cursors": True}
        events = await client.watch(kind="Events", **start)
        transactions = await client.watch(kind="NewTransactions", **start)
        await wait_all_tasks_blocked()
        # Behind the first event of a transaction, that transaction itself is still to come.
        cursor = client.told[events][2]["params"]["cursor"]
        resumed = await client.watch(kind="NewTransactionReceipts", cursor=cursor)
        # Behind a transaction come the next one's events.
        behind = client.told[transactions][0]["params"]["cursor"]
        others = await client.watch(kind="Events", cursor=behind)
        heads = await client.watch(kind="NewHeads", cursor=cursor)
        await wait_all_tasks_blocked()
        hashes = [transaction_hash(block, index) for block in filled.blocks[1:] for index in range(3)]
        assert [result["transaction_hash"] for result in results(client, resumed)] == hashes[1:]
        places = event_places(filled.blocks[1])[2:] + event_places(filled.blocks[2])
        assert list(map(told_place, results(client, others))) == places
        assert [header["block_number"] for header in results(client, heads)] == [1, 2]


async def test_transactions_have_a_beginning_only_with_cursors(filled: GrowingChain) -> None:
    async with open_node(filled) as node:
        client = await node.connect()
        for kind in ("NewTransactions", "NewTransactionReceipts"):
            start: dict[str, Any] = {"block_id": {"block_number": 1}}
            refused = await client.call_named(f"starknet_subscribe{kind}", **start)
            assert refused["error"]["code"] == -32602
            identity = await client.watch(kind=kind, cursors=True, **start)
            await wait_all_tasks_blocked()
            assert len(client.told[identity]) == 6


async def test_a_block_without_transactions_is_owned_up_to(filled: GrowingChain) -> None:
    async with open_node(filled) as node:
        client, other = await node.connect(), await node.connect()
        noticed = await client.watch(kind="Events", cursors=True)
        resumed_from = await client.watch(kind="Events", cursors=True, block_id={"block_number": 2})
        await wait_all_tasks_blocked()
        cursor = client.told[resumed_from][-1]["params"]["cursor"]
        await other.watch(kind="Events")
        filled.make_body = no_body
        filled.grow()
        filled.make_body = made_body
        filled.grow()
        await notice(node)
        error, *events = client.told[noticed]
        assert error["params"]["error"]["code"] == -32000
        assert error["params"]["error"]["data"]["block_number"] == 3
        expected = event_places(filled.blocks[4])
        assert list(map(told_place, [message["params"]["result"] for message in events])) == expected
        again = await client.watch(kind="Events", cursor=cursor)
        await wait_all_tasks_blocked()
        assert ["error" in message["params"] for message in client.told[again]] == [True] + [False] * 6
        received = other.peer.protocol.close_rcvd
        assert received is not None
        assert received.code == 1011


async def test_events_of_a_chain_without_transactions_are_refused(growing: GrowingChain) -> None:
    growing.grow(2)
    async with open_node(growing) as node:
        client = await node.connect()
        for kind in KINDS:
            needed = {"transaction_hash": "0x1"} if kind == "TransactionStatus" else {}
            reply = await client.call_named(f"starknet_subscribe{kind}", **needed)
            assert reply["error"] == {
                "code": -32000,
                "message": "the block was imported without its transactions",
                "data": {"block_number": 1},
            }
        await client.watch()


async def test_senders_keys_and_parameters_are_bounded(
    filled: GrowingChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_node(filled) as node:
        client = await node.connect()
        senders = list(map(hex, range(MAX_SENDERS + 1)))
        identity = await client.watch(kind="NewTransactions", sender_address=senders[:-1])
        for kind in ("NewTransactions", "NewTransactionReceipts"):
            reply = await client.call_named(f"starknet_subscribe{kind}", sender_address=senders)
            assert reply["error"]["code"] == 67
        keys = [["0x1"] * 8] * 2
        await client.watch(kind="Events", keys=keys)
        reply = await client.call_named("starknet_subscribeEvents", keys=[*keys, ["0x1"]])
        assert reply["error"]["code"] == 34
        assert node.hub.parameters == MAX_SENDERS + 16
        for name in ("MAX_PARAMETERS", "MAX_PARAMETERS_A_CONNECTION"):
            with monkeypatch.context() as patch:
                patch.setattr(subscriptions, name, MAX_SENDERS + 17)
                last = await client.watch(kind="TransactionStatus", transaction_hash="0x1")
                reply = await client.call_named("starknet_subscribeTransactionStatus", transaction_hash="0x2")
                assert reply["error"]["code"] == -32005
                await client.call_named("starknet_unsubscribe", subscription_id=last)
        await client.call_named("starknet_unsubscribe", subscription_id=identity)
        assert node.hub.parameters == 16
        await client.leave()
        await wait_all_tasks_blocked()
        assert node.hub.parameters == 0


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("Events", {"finality_status": "ACCEPTED_ON_L1"}),
        ("Events", {"finality_status": ["ACCEPTED_ON_L2"]}),
        ("Events", {"keys": "0x1"}),
        ("Events", {"from_address": 7}),
        ("NewTransactions", {"finality_status": "ACCEPTED_ON_L2"}),
        ("NewTransactions", {"finality_status": ["ACCEPTED_ON_L1"]}),
        ("NewTransactionReceipts", {"finality_status": ["CANDIDATE"]}),
        ("NewTransactionReceipts", {"sender_address": "0x1"}),
        ("TransactionStatus", {}),
        ("TransactionStatus", {"transaction_hash": "0xg"}),
    ],
    ids=str,
)
async def test_other_parameters_are_refused(filled: GrowingChain, kind: str, params: dict[str, Any]) -> None:
    async with open_node(filled) as node:
        client = await node.connect()
        reply = await client.call_named(f"starknet_subscribe{kind}", **params)
        assert reply["error"]["code"] == -32602
