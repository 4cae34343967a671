"""Subscriptions to what no stored block has: the block under way, and transactions that are sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.live.node import LiveNode
from tests.starknet.live.sessions import HeadClient
from tests.sync.starknet.made_chain import ACCOUNT, TOKEN, Json, MadeChain, MadeNode
from tests.sync.starknet.world import World, followed_for_server
from tests.upstream.providers import Error
from wsnode.server.access.router import Network
from wsnode.server.limits import Limits
from wsnode.server.server import Server
from wsnode.starknet import followed as module
from wsnode.starknet.followed import SENT_SECONDS, SentTransactions
from wsnode.starknet.rpc.methods import FAMILIES, build_registry
from wsnode.starknet.snapshot import SPEC_VERSIONS
from wsnode.sync.follow.sync_report import SyncStage

OFTEN = {"pre_confirmed_interval": 0.01}
ANY = ["RECEIVED", "CANDIDATE", "PRE_CONFIRMED", "ACCEPTED_ON_L2"]
BOUND = {"max_amount": "0x1", "max_price_per_unit": "0x1"}
INVOKE: Json = {
    "type": "INVOKE",
    "version": "0x3",
    "signature": ["0x1"],
    "nonce": "0x7",
    "tip": "0x0",
    "resource_bounds": {"l1_gas": BOUND, "l2_gas": BOUND, "l1_data_gas": BOUND},
    "paymaster_data": [],
    "nonce_data_availability_mode": "L1",
    "fee_data_availability_mode": "L1",
    "sender_address": ACCOUNT,
    "calldata": ["0x0A"],
    "account_deployment_data": [],
}


@pytest.fixture
def made() -> MadeChain:
    chain = MadeChain()
    # The next block has two transactions.
    chain.grow(4)
    return chain


class Scene:
    """A follower at its upstream's head, and the server of its chain."""

    def __init__(self, world: World, node: MadeNode, served: LiveNode[HeadClient]) -> None:
        self.world, self.node, self.served = world, node, served

    async def until(self, condition: Callable[[], bool]) -> None:
        await self.world.until(condition)

    async def until_shown(self, count: int) -> None:
        """Wait until the block under way has a number of transactions here."""
        state = self.world.chain.followed
        assert state is not None
        await self.until(
            lambda: state.pre_confirmed is not None and len(state.pre_confirmed.body.hashes) == count
        )


@asynccontextmanager
async def scene(
    folder: Path, made: MadeChain, nursery: trio.Nursery, **settings: Any
) -> AsyncIterator[Scene]:
    node = MadeNode(made, nursery)
    async with followed_for_server(folder, {"a": node}, **OFTEN) as world:
        network = Network(
            "test",
            build_registry(hub=world.hub),
            world.chain.snapshot,
            fan_out=world.hub.fan_out,
            rpc_versions=tuple(SPEC_VERSIONS),
        )
        async with trio.open_nursery() as own:
            served = LiveNode(Server([network], Limits()), own, HeadClient)
            await world.until_at(made)
            await world.until(lambda: world.follower.stage is SyncStage.LIVE)
            yield Scene(world, node, served)
            own.cancel_scope.cancel()


def told(client: HeadClient, identity: str) -> list[Any]:
    return [message["params"]["result"] for message in client.told[identity]]


def finalities(client: HeadClient, identity: str) -> list[tuple[str, str]]:
    """Return hash and finality of each notification."""
    return [
        (result["transaction_hash"], result.get("finality_status") or result["status"]["finality_status"])
        for result in told(client, identity)
    ]


def sealed(made: MadeChain) -> list[Json]:
    """Return the transactions and receipts of the next block."""
    chain = made.copy()
    chain.grow()
    pairs: list[Json] = chain.head.block["transactions"]
    return pairs


@pytest.mark.parametrize("version", ["v0_9", "v0_10"])
@pytest.mark.parametrize("family", FAMILIES)
async def test_each_transaction_is_sent_once_under_way_and_once_with_its_block(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain, family: str, version: str
) -> None:
    pairs = sealed(made)
    hashes = [pair["receipt"]["transaction_hash"] for pair in pairs]
    async with scene(tmp_path, made, nursery) as stage:
        client = await stage.served.connect(path=f"/ws/v3/key/rpc/{version}")
        both = {"finality_status": ["PRE_CONFIRMED", "ACCEPTED_ON_L2"]}
        transactions = await client.watch(family, "NewTransactions", **both)
        receipts = await client.watch(family, "NewTransactionReceipts", **both)
        events = await client.watch(family, "Events", finality_status="PRE_CONFIRMED")
        only = await client.watch(family, "NewTransactions", finality_status=["PRE_CONFIRMED"])
        accepted = await client.watch(family, "NewTransactions")
        others = await client.watch(family, "NewTransactions", sender_address=["0x5"], **both)
        status = await client.watch(family, "TransactionStatus", transaction_hash=hashes[1])
        stage.node.under_way = made.under_way(1)
        await stage.until(lambda: len(client.told[events]) == 2)
        stage.node.under_way = made.under_way(2)
        await stage.until(lambda: len(client.told[events]) == 4)
        under_way = [(each, "PRE_CONFIRMED") for each in hashes]
        await stage.until(lambda: finalities(client, transactions) == under_way)
        await stage.until(lambda: finalities(client, receipts) == under_way)
        assert told(client, transactions)[0] == pairs[0]["transaction"] | {
            "transaction_hash": hashes[0],
            "finality_status": "PRE_CONFIRMED",
        }
        number = made.head.number + 1
        shown = made.under_way(2).block["transactions"][0]["receipt"]
        assert told(client, receipts)[0] == shown | {"block_number": number}
        places = {} if version == "v0_9" else {"transaction_index": 0, "event_index": 1}
        assert told(client, events)[1] == pairs[0]["receipt"]["events"][1] | places | {
            "block_number": number,
            "transaction_hash": hashes[0],
            "finality_status": "PRE_CONFIRMED",
        }
        await stage.node.grow()
        sealed_too = under_way + [(each, "ACCEPTED_ON_L2") for each in hashes]
        await stage.until(lambda: finalities(client, transactions) == sealed_too)
        await stage.until(lambda: finalities(client, receipts) == sealed_too)
        await stage.until(lambda: len(client.told[events]) == 8)
        await stage.until(lambda: finalities(client, accepted) == sealed_too[2:])
        of_one = [(hashes[1], finality) for finality in ("PRE_CONFIRMED", "ACCEPTED_ON_L2")]
        await stage.until(lambda: finalities(client, status) == of_one)
        assert finalities(client, only) == under_way
        assert finalities(client, others) == []


async def test_events_under_way_are_filtered(tmp_path: Path, nursery: trio.Nursery, made: MadeChain) -> None:
    async with scene(tmp_path, made, nursery) as stage:
        client = await stage.served.connect()
        asked = {"finality_status": "PRE_CONFIRMED"}
        found = await client.watch(kind="Events", from_address=TOKEN, keys=[["0x1"]], **asked)
        empty = await client.watch(kind="Events", from_address="0x77", **asked)
        later = await client.watch(kind="Events", finality_status="ACCEPTED_ON_L2")
        stage.node.under_way = made.under_way(2)
        await stage.until(lambda: len(client.told[found]) == 4)
        assert (client.told[empty], client.told[later]) == ([], [])


async def test_a_subscription_begins_with_what_the_block_under_way_has(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    hashes = [pair["receipt"]["transaction_hash"] for pair in sealed(made)]
    async with scene(tmp_path, made, nursery) as stage:
        stage.node.under_way = made.under_way(2)
        await stage.until_shown(2)
        client = await stage.served.connect()
        live = await client.watch(kind="NewTransactions", finality_status=ANY)
        await stage.until(lambda: len(client.told[live]) == 2)
        status = await client.watch(kind="TransactionStatus", transaction_hash=hashes[0])
        unknown = await client.watch(kind="TransactionStatus", transaction_hash="0x99")
        from_the_first = await client.watch(
            kind="NewTransactions", finality_status=ANY, cursors=True, block_id={"block_number": 0}
        )
        under_way = [(each, "PRE_CONFIRMED") for each in hashes]
        stored = [
            (pair["receipt"]["transaction_hash"], "ACCEPTED_ON_L2")
            for block in made.blocks
            for pair in block.block["transactions"]
        ]
        await stage.until(lambda: finalities(client, from_the_first) == stored + under_way)
        cursors = ["cursor" in message["params"] for message in client.told[from_the_first]]
        assert cursors == [True] * len(stored) + [False] * 2
        await stage.until(lambda: finalities(client, status) == [(hashes[0], "PRE_CONFIRMED")])
        assert finalities(client, live) == under_way
        assert client.told[unknown] == []


async def test_a_block_that_is_given_up_takes_nothing_back(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    hashes = [pair["receipt"]["transaction_hash"] for pair in sealed(made)]
    async with scene(tmp_path, made, nursery) as stage:
        client = await stage.served.connect()
        live = await client.watch(kind="NewTransactions", finality_status=["PRE_CONFIRMED"])
        for count in (2, 1, 2):
            stage.node.under_way = made.under_way(count)
            await stage.until_shown(count)
        await stage.until(lambda: len(client.told[live]) >= 2)
        assert finalities(client, live) == [(each, "PRE_CONFIRMED") for each in hashes]
        # On another head they are sent anew.
        stage.node.under_way = None
        made.reorganise(1, 1)
        await stage.node.tell()
        await stage.world.until_at(made)
        again = [pair["receipt"]["transaction_hash"] for pair in sealed(made)]
        stage.node.under_way = made.under_way(2)
        await stage.until(lambda: len(transactions_of(client, live)) == 4)
        assert transactions_of(client, live)[2:] == again


def transactions_of(client: HeadClient, identity: str) -> list[str]:
    """Return the hashes of transactions, without notices of reorganisations."""
    return [each["transaction_hash"] for each in told(client, identity) if "transaction_hash" in each]


async def test_sent_transactions_are_received_until_a_block_has_them(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    async with scene(tmp_path, made, nursery) as stage:
        node = stage.node
        node.answers["addInvokeTransaction"] = lambda _params: {"transaction_hash": "0xabc"}
        node.answers["addDeployAccountTransaction"] = lambda _params: {
            "transaction_hash": "0xdef",
            "contract_address": "0x55",
        }
        node.answers["addDeclareTransaction"] = lambda _params: {
            "transaction_hash": "0xd0",
            "class_hash": "0x66",
        }
        node.answers["getTransactionStatus"] = lambda _params: Error(29, "Transaction hash not found")
        client = await stage.served.connect()
        live = await client.watch(kind="NewTransactions", finality_status=["RECEIVED"])
        own = await client.watch(
            kind="NewTransactions", finality_status=["RECEIVED"], sender_address=["0x55"]
        )
        receipts = await client.watch(kind="NewTransactionReceipts", finality_status=["PRE_CONFIRMED"])
        early = await client.watch(kind="TransactionStatus", transaction_hash="0xabc")
        assert await stage.world.call("starknet_addInvokeTransaction", INVOKE) == {
            "transaction_hash": "0xabc"
        }
        # Sent again, it is no other one.
        await stage.world.call("starknet_addInvokeTransaction", INVOKE)
        await stage.until(lambda: len(client.told[live]) == 1)
        assert told(client, live) == [
            INVOKE | {"calldata": ["0xa"], "transaction_hash": "0xabc", "finality_status": "RECEIVED"}
        ]
        deployed = {
            name: value
            for name, value in INVOKE.items()
            if name not in ("sender_address", "calldata", "account_deployment_data")
        } | {
            "type": "DEPLOY_ACCOUNT",
            "contract_address_salt": "0x1",
            "constructor_calldata": [],
            "class_hash": "0x5",
        }
        await stage.world.call("starknet_addDeployAccountTransaction", deployed)
        declared = {name: value for name, value in INVOKE.items() if name != "calldata"} | {
            "type": "DECLARE",
            "compiled_class_hash": "0x8",
            "contract_class": {"sierra_program": ["0x1"]},
        }
        await stage.world.call("starknet_addDeclareTransaction", declared)
        await stage.until(lambda: len(client.told[live]) == 3)
        assert told(client, live)[2] == {
            name: value for name, value in declared.items() if name != "contract_class"
        } | {"class_hash": "0x66", "transaction_hash": "0xd0", "finality_status": "RECEIVED"}
        await stage.until(lambda: transactions_of(client, own) == ["0xdef"])
        late = await client.watch(kind="TransactionStatus", transaction_hash="0xabc")
        received = {"transaction_hash": "0xabc", "status": {"finality_status": "RECEIVED"}}
        await stage.until(lambda: told(client, late) == [received])
        await stage.until(lambda: told(client, early) == [received])
        assert client.told[receipts] == []
        status = await stage.world.call("starknet_getTransactionStatus", "0xabc")
        assert status == {"finality_status": "RECEIVED"}
        assert (await stage.world.call("starknet_getTransactionStatus", "0xabd"))["code"] == 29


@pytest.mark.slow
async def test_acceptance_on_l1_is_a_change_of_the_status(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wsnode.sync.starknet.follower.L1_SECONDS", 0.01)
    (first, *_) = [pair["receipt"]["transaction_hash"] for pair in made.blocks[2].block["transactions"]]
    async with scene(tmp_path, made, nursery) as stage:
        client = await stage.served.connect()
        live = await client.watch(kind="TransactionStatus", transaction_hash=first)
        await stage.until(lambda: finalities(client, live) == [(first, "ACCEPTED_ON_L2")])
        for number in (1, 2, 3):
            stage.node.l1_accepted = number
            await stage.until(lambda number=number: accepted(stage) == number)  # type: ignore[misc]
        await stage.until(lambda: len(client.told[live]) == 2)
        assert finalities(client, live)[1] == (first, "ACCEPTED_ON_L1")
        later = await client.watch(kind="TransactionStatus", transaction_hash=first)
        await stage.until(lambda: finalities(client, later) == [(first, "ACCEPTED_ON_L1")])


def accepted(stage: Scene) -> int | None:
    with stage.world.chain.snapshot() as view:
        return view.l1_accepted


class Clock:
    """A time that the test chooses."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


def reply(number: int) -> bytes:
    return b'{"transaction_hash":"0x%x"}' % number


def test_a_sent_transaction_is_forgotten_after_its_time() -> None:
    clock = Clock()
    kept = SentTransactions(clock)
    assert kept.add(INVOKE, reply(1))
    clock.time = 1.0
    assert kept.add(INVOKE, reply(2))
    clock.time = float(SENT_SECONDS)
    assert kept.find("0x1") is not None
    clock.time += 0.5
    assert kept.find("0x1") is None
    assert kept.find("0x2") is not None
    assert [body.hashes for body in kept.after(0)] == [["0x2"]]
    assert list(kept.after(2)) == []


def test_the_oldest_are_forgotten_beyond_the_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = SentTransactions(Clock())
    kept.add(INVOKE, reply(1))
    size = kept.size
    monkeypatch.setattr(module, "MAX_SENT_BYTES", 2 * size)
    kept.add(INVOKE, reply(2))
    assert kept.find("0x1") is not None
    kept.add(INVOKE, reply(3))
    assert (kept.find("0x1"), kept.size) == (None, 2 * size)
    assert kept.find("0x2") is not None


@pytest.mark.parametrize(
    ("transaction", "answer"),
    [
        (INVOKE, b"[]"),
        (INVOKE, b'{"transaction_hash":"x"}'),
        (INVOKE | {"type": "PRAYER"}, reply(1)),
        (INVOKE | {"version": 3}, reply(1)),
        (INVOKE | {"resource_bounds": []}, reply(1)),
        ({}, reply(1)),
    ],
    ids=str,
)
def test_what_is_of_no_known_form_is_not_kept(transaction: Json, answer: bytes) -> None:
    kept = SentTransactions(Clock())
    assert not kept.add(transaction, answer)
    assert (kept.sequence, list(kept.after(0))) == (0, [])
