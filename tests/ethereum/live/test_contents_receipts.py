"""transactionReceipts: a block's receipts in one notification, as eth_getTransactionReceipt writes them."""

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from tests.ethereum.live.growing import EMITTERS, TOPICS, GrowingChain
from tests.ethereum.live.sessions import Node, open_node
from tests.ethereum.pool.geth_node import Geth, geth
from tests.ethereum.pool.playground import ALICE, BOB, signed
from tests.ethereum.rpc.logs.test_subscriptions import ACCEPTED, REFUSED
from tests.geth_process import GETH
from tests.live.client import Client
from tests.node_process import PATIENCE
from tests.sync.test_importer_branches import take as import_blocks
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.live import hub, pages
from wsnode.ethereum.live.position import Position
from wsnode.server.limits import Limits

KIND = "transactionReceipts"
LOGS = [(EMITTERS[0], TOPICS[:1]), (EMITTERS[1], TOPICS[:2])]
WHOLE = {"fromBlock": "earliest", "cursors": True}
needs_geth = pytest.mark.skipif(GETH is None, reason="geth is not installed")


async def receipts_of(client: Client, number: int) -> list[dict[str, Any]]:
    receipts: list[dict[str, Any]] = (await client.call("eth_getBlockReceipts", hex(number)))["result"]
    return receipts


def results(client: Client, name: str) -> list[list[dict[str, Any]]]:
    return [params["result"] for params in client.told[name] if "result" in params]


async def test_each_block_is_one_notification_of_its_receipts(growing: GrowingChain) -> None:
    async with open_node(growing) as node:
        client = await node.connect()
        name = await client.subscribe(KIND)
        for logs in (LOGS, [], LOGS[:1]):
            growing.grow(logs)
            node.hub.advance()
        await client.settle()
        assert results(client, name) == [await receipts_of(client, 1), await receipts_of(client, 3)]
        assert {tuple(params) for params in client.told[name]} == {("subscription", "result")}
        assert (await client.call("eth_unsubscribe", name))["result"] is True
        assert len(node.hub.groups) == 0


async def test_only_the_named_transactions_are_told_in_the_blocks_order(growing: GrowingChain) -> None:
    growing.grow(LOGS * 3)
    async with open_node(growing) as node:
        client = await node.connect()
        (dropped,) = growing.shrink(1)
        wanted = []
        growing.return_to([dropped])
        receipts = await receipts_of(client, 1)
        growing.shrink(1)
        node.hub.advance()
        hashes = [receipts[place]["transactionHash"] for place in (4, 1, 4)]
        for some in (hashes, hashes[:1], ["0x" + "77" * 32], []):
            wanted.append(await client.subscribe(KIND, {"transactionHashes": some}))
        growing.return_to([dropped])
        node.hub.advance()
        await client.settle()
        assert [results(client, name) for name in wanted] == [
            [[receipts[1], receipts[4]]],
            [[receipts[4]]],
            [],
            [receipts],
        ]
        # The same out of the store, and each hash counts as an address does.
        for some, name in zip((hashes, hashes[:1]), wanted, strict=False):
            again = await client.subscribe(KIND, {"transactionHashes": some, **WHOLE})
            assert results(client, again) == results(client, name)
        assert node.hub.parameters == 2 + 1 + 1 + 2 + 1


async def check_resuming(node: Node, told: list[dict[str, Any]], count: int) -> None:
    client = await node.connect()
    name = await client.subscribe(KIND, {"cursor": told[count - 1]["cursor"]})
    assert [params["result"] for params in client.told[name]] == [params["result"] for params in told[count:]]


@pytest.mark.parametrize("page_bytes", [600, 64 * 1024])
async def test_a_subscription_begins_in_the_past_and_resumes_behind_each_cursor(
    growing: GrowingChain, monkeypatch: pytest.MonkeyPatch, page_bytes: int
) -> None:
    monkeypatch.setattr(pages, "PAGE_BYTES", page_bytes)
    monkeypatch.setattr(pages, "RECEIPT_BLOCKS", 3)
    growing.reorganise(0, [LOGS, [], [], [], [], LOGS[:1]])
    async with open_node(growing) as node:
        client = await node.connect()
        name = await client.subscribe(KIND, WHOLE)
        growing.grow(LOGS)
        node.hub.advance()
        await client.settle()
        assert results(client, name) == [await receipts_of(client, number) for number in (1, 6, 7)]
        told = client.told[name]
        assert [Position.parse(params["cursor"]).number for params in told] == [1, 6, 7]
        for count in range(1, 4):
            await check_resuming(node, told, count)


async def test_a_reorganisation_tells_the_new_branch_and_its_notice_to_who_asked(
    growing: GrowingChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "STEP_BLOCKS", 1)
    growing.reorganise(0, [LOGS, LOGS])
    async with open_node(growing) as node:
        client = await node.connect()
        plain = await client.subscribe(KIND)
        asking = await client.subscribe(KIND, {"reorgs": True})
        growing.reorganise(1, [LOGS[:1], LOGS])
        for _ in range(4):
            node.hub.advance()
        await client.settle()
        branch = [await receipts_of(client, number) for number in (2, 3)]
        assert results(client, plain) == results(client, asking) == branch
        assert [list(params)[1] for params in client.told[asking]] == ["reorg", "result", "result"]


@pytest.mark.parametrize("options", [{}, {"cursors": True}], ids=str)
async def test_who_reads_slowly_gets_all_receipts(growing: GrowingChain, options: dict[str, Any]) -> None:
    async with open_node(growing, limits=Limits(outbox_bytes=4096)) as node:
        slow = await node.connect(pauses=True)
        name = await slow.subscribe(KIND, options)
        slow.pause()
        for _ in range(12):
            growing.grow(LOGS)
            node.hub.advance()
            await slow.settle()
        slow.go_on()
        await slow.settle()
        assert results(slow, name) == [await receipts_of(slow, number) for number in range(1, 13)]
        assert sum("error" in params for params in slow.told[name]) == len(options)


class Peer:
    """A subscriber of geth."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    def ask(self, *params: Any) -> dict[str, Any]:
        request = {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": params}
        self._connection.send(json.dumps(request))
        while "id" not in (reply := json.loads(self._connection.recv(PATIENCE))):
            pass
        return {name: reply[name] for name in reply.keys() & {"result", "error"}}

    def told(self, name: str) -> Any:
        while True:
            params = json.loads(self._connection.recv(PATIENCE)).get("params", {})
            if params.get("subscription") == name:
                return params["result"]


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Geth, Peer]]:
    """Return a geth that makes a block of each transaction, and a connection to it."""
    with (
        geth(tmp_path_factory.mktemp("geth"), period=0) as node,
        connect(node.socket_url, max_size=None) as connection,
    ):
        yield node, Peer(connection)


ADDED: list[Any] = [
    ["newHeads", {}],
    ["newHeads", {"includeTransactions": True}],
    *(each for each in ACCEPTED if each[0] == "newPendingTransactions" and len(each) > 2),
    *(each for each in ACCEPTED if each[0] in ("newBlocks", "state") or each[0].startswith("alchemy_")),
]
"""What geth has not: options of these subscriptions, and kinds."""


def is_geths(params: Any, message: str) -> bool:
    """Say whether geth refuses a case of logs or receipts too: it passes over unknown members."""
    return bool(
        params
        and params[0] in ("logs", KIND)
        and "cursor" not in str(params)
        and not message.startswith("unknown member")
    )


@pytest.mark.slow
@needs_geth
@pytest.mark.parametrize("params", [each for each in ACCEPTED if each not in ADDED], ids=json.dumps)
def test_geth_takes_what_is_taken_here(peer: tuple[Geth, Peer], params: list[Any]) -> None:
    assert list(peer[1].ask(*params)) == ["result"]


@pytest.mark.slow
@needs_geth
@pytest.mark.parametrize(
    ("params", "code", "message"),
    [case for case in REFUSED if is_geths(case[0], case[2])],
    ids=str,
)
def test_geth_refuses_in_the_same_words(
    peer: tuple[Geth, Peer], params: list[Any], code: int, message: str
) -> None:
    error = peer[1].ask(*params)["error"]
    assert (error["code"], error["message"]) == (code, message)


@pytest.mark.slow
@needs_geth
async def test_receipts_are_told_as_geth_tells_them(peer: tuple[Geth, Peer], tmp_path: Path) -> None:
    node, subscriber = peer
    sent = [
        signed(sender, {"nonce": nonce, "value": 1 + nonce}) for nonce in range(3) for sender in (ALICE, BOB)
    ]
    # A contract whose creation makes a log, and a call that fails.
    sent.append(signed(ALICE, {"nonce": 3, "to": None, "data": "0x600160005260206000a000"}))
    every = subscriber.ask(KIND)["result"]
    theirs = []
    for encoded in sent:
        posted = node.ask("eth_sendRawTransaction", f"0x{encoded.hex()}")["result"]
        theirs.append(subscriber.told(every))
        assert [receipt["transactionHash"] for receipt in theirs[-1]] == [posted]
    head = int(node.ask("eth_blockNumber")["result"], 16)
    blocks = [
        bytes.fromhex(node.ask("debug_getRawBlock", hex(number))["result"][2:])
        for number in range(1, head + 1)
    ]
    genesis = (files("wsnode.demo") / "genesis.json").read_bytes()
    with Chain.open(tmp_path, genesis, writer=True, durable=False) as chain:
        await import_blocks(chain, blocks)
        growing = GrowingChain(chain)
        async with open_node(growing) as ours:
            client = await ours.connect()
            whole = await client.subscribe(KIND, WHOLE)
            assert results(client, whole) == theirs
            hashes = [theirs[place][0]["transactionHash"] for place in (5, 2)]
            some = await client.subscribe(KIND, {"transactionHashes": hashes, **WHOLE})
            assert results(client, some) == [theirs[2], theirs[5]]
