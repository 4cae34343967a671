"""newBlocks and alchemy_minedTransactions: whole blocks, and the transactions of blocks."""

from collections.abc import Sequence
from typing import Any

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from tests.drawing import examples
from tests.ethereum.live.growing import EMITTERS, SENDER, TOPICS, GrowingChain
from tests.ethereum.live.sessions import Node, ReturningClient, open_node
from tests.ethereum.live.test_replay_model import Grow, Reorganise, branches
from tests.live.client import Client
from tests.live.steps import common_steps, take_common_step
from wsnode.ethereum.live import hub, pages
from wsnode.ethereum.live.position import Position
from wsnode.server.limits import Limits

BLOCKS, MINED = "newBlocks", "alchemy_minedTransactions"
LOGS = [(EMITTERS[0], TOPICS[:1]), (EMITTERS[1], TOPICS[:2])]
OTHER = "0x" + "77" * 20


def text(address: bytes) -> str:
    return f"0x{address.hex()}"


def results(client: Client, name: str) -> list[Any]:
    return [params["result"] for params in client.told[name] if "result" in params]


async def block_of(client: Client, number: int, *, full: bool = False) -> dict[str, Any]:
    block: dict[str, Any] = (await client.call("eth_getBlockByNumber", hex(number), full))["result"]
    # The bare path has the plain form, the test's path that of the service.
    block.pop("totalDifficulty", None)
    return block


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("with_receipts", [False, True])
async def test_each_block_is_one_notification_as_the_methods_write_it(
    growing: GrowingChain, full: bool, with_receipts: bool
) -> None:
    async with open_node(growing) as node:
        client = await node.connect()
        name = await client.subscribe(BLOCKS, {"transactions": full, "receipts": with_receipts})
        for logs in (LOGS, [], LOGS[:1]):
            growing.grow(logs)
            node.hub.advance()
        await client.settle()
        wanted = [await block_of(client, number, full=full) for number in (1, 2, 3)]
        if with_receipts:
            for number, block in enumerate(wanted, 1):
                block["receipts"] = (await client.call("eth_getBlockReceipts", hex(number)))["result"]
        assert results(client, name) == wanted
        assert {tuple(params) for params in client.told[name]} == {("subscription", "result")}
        assert (await client.call("eth_unsubscribe", name))["result"] is True
        assert len(node.hub.groups) == 0


@pytest.mark.parametrize("page_bytes", [600, 64 * 1024])
async def test_blocks_resume_behind_each_cursor_on_any_branch(
    growing: GrowingChain, monkeypatch: pytest.MonkeyPatch, page_bytes: int
) -> None:
    monkeypatch.setattr(pages, "PAGE_BYTES", page_bytes)
    async with open_node(growing) as node:
        client = await node.connect()
        name = await client.subscribe(BLOCKS, {"cursors": True, "reorgs": True})
        for depth, blocks in ((0, [LOGS, []]), (1, [LOGS[:1], LOGS, []])):
            growing.reorganise(depth, blocks)
            node.hub.advance()
        await client.settle()
        told = client.told[name]
        assert [list(params)[1] for params in told] == ["result", "result", "reorg", *["result"] * 3]
        events = [params for params in told if "result" in params]
        for params in events:
            position = Position.parse(params["cursor"])
            assert (hex(position.number), text(position.hash)) == (
                params["result"]["number"],
                params["result"]["hash"],
            )
        for place, params in enumerate(events):
            # The second one was dropped: the new branch follows it.
            rest = events[max(place + 1, 2) :]
            again = await client.subscribe(BLOCKS, {"cursor": params["cursor"]})
            assert results(client, again) == [each["result"] for each in rest]
        # A cursor of heads continues blocks, and the other way round.
        heads = await client.subscribe("newHeads", {"cursor": events[2]["cursor"]})
        assert [head["hash"] for head in results(client, heads)] == [
            params["result"]["hash"] for params in events[3:]
        ]


@pytest.mark.parametrize("options", [{}, {"cursors": True}], ids=str)
async def test_who_reads_slowly_gets_all_blocks(growing: GrowingChain, options: dict[str, Any]) -> None:
    async with open_node(growing, limits=Limits(outbox_bytes=4096)) as node:
        slow = await node.connect(pauses=True)
        name = await slow.subscribe(BLOCKS, {"transactions": True, "receipts": True, **options})
        slow.pause()
        for _ in range(12):
            growing.grow(LOGS)
            node.hub.advance()
            await slow.settle()
        slow.go_on()
        await slow.settle()
        assert [int(block["number"], 16) for block in results(slow, name)] == list(range(1, 13))
        assert sum("error" in params for params in slow.told[name]) == len(options)


class BlockWatcher(ReturningClient):
    """A client with whole blocks from the head on, which it resumes when it comes back."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self._hashes: dict[int, str] = {}

    async def come(self) -> None:
        if self._client is None:
            self._client = await self._node.connect()
            start = {"cursors": True} if self._cursor is None else {"cursor": self._cursor}
            await self._client.ask("eth_subscribe", BLOCKS, {"transactions": True, "receipts": True, **start})

    def take(self) -> None:
        assert self._client is not None
        for message in self._client.messages:
            assert "error" not in message, message
            if "result" in (params := message.get("params", {})):
                self._cursor, block = params["cursor"], params["result"]
                assert [each["hash"] for each in block["transactions"]] == [
                    each["transactionHash"] for each in block["receipts"]
                ]
                number = int(block["number"], 16)
                assert number - 1 not in self._hashes or self._hashes[number - 1] == block["parentHash"]
                self._hashes[number] = block["hash"]
        self._client.messages.clear()

    def check(self) -> None:
        self.take()
        for block in self._node.growing.blocks:
            number = int(block.head.number)
            assert self._hashes.get(number, text(block.head.hash)) == text(block.head.hash)
        head = self._node.growing.blocks[-1:]
        assert [self._hashes[int(block.head.number)] for block in head] == [
            text(block.head.hash) for block in head
        ]


class MinedWatcher:
    """A client with all transactions of blocks, removed ones too."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self._name = name

    def check(self, growing: GrowingChain) -> None:
        held: list[tuple[str, int]] = []
        for told in results(self._client, self._name):
            transaction = told["transaction"]
            place = (transaction["blockHash"], int(transaction["transactionIndex"], 16))
            if told["removed"]:
                assert held.pop() == place, "transactions are taken back in reverse order"
            else:
                held.append(place)
        assert held == [
            (text(block.head.hash), index) for block in growing.blocks for index in range(len(block.logs))
        ]


block_steps = st.one_of(
    st.builds(Grow, branches), st.builds(Reorganise, st.integers(1, 5), branches), common_steps
)


async def run(growing: GrowingChain, script: Sequence[Any], *, pauses: bool) -> None:
    async with open_node(growing, limits=Limits(outbox_bytes=8192)) as node:
        watchers = [BlockWatcher(node) for _ in range(2)]
        for watcher in watchers:
            await watcher.come()
        client = await node.connect(pauses=pauses)
        mined = MinedWatcher(client, await client.subscribe(MINED, {"includeRemoved": True}))
        if pauses:
            client.pause()
        growing.grow(LOGS)
        node.hub.advance()
        await wait_all_tasks_blocked()
        for watcher in watchers:
            watcher.take()
        for step in script:
            match step:
                case Grow(blocks):
                    growing.reorganise(0, blocks)
                case Reorganise(depth, blocks):
                    growing.reorganise(min(depth, len(growing.blocks)), blocks)
                case _:
                    await take_common_step(growing, node.hub, watchers, step)
        node.hub.advance()
        for watcher in watchers:
            await watcher.come()
        client.go_on()
        await wait_all_tasks_blocked()
        for watcher in watchers:
            watcher.check()
        mined.check(growing)


@pytest.mark.parametrize("pauses", [False, True], ids=["reads", "reads slowly"])
@settings(
    max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(script=st.lists(block_steps, max_size=15))
def test_clients_have_each_block_and_each_transaction_of_the_chain(
    growing: GrowingChain, pauses: bool, script: list[Any]
) -> None:
    growing.clear()
    trio.run(lambda: run(growing, script, pauses=pauses))


SELECTED: list[tuple[Any, list[int]]] = [
    (None, [0, 1]),
    ([], []),
    ([{"from": text(SENDER)}], [0, 1]),
    ([{"to": text(EMITTERS[1])}], [1]),
    ([{"from": text(SENDER), "to": text(EMITTERS[0]).upper().replace("X", "x")}], [0]),
    ([{"from": OTHER, "to": text(EMITTERS[0])}], []),
    ([{"from": OTHER}, {"to": text(EMITTERS[0])}, {"to": OTHER}], [0]),
]


@pytest.mark.parametrize(("addresses", "indices"), SELECTED, ids=str)
@pytest.mark.parametrize("hashes_only", [False, True], ids=["whole", "hashes"])
async def test_mined_transactions_have_one_of_the_pairs(
    growing: GrowingChain, addresses: Any, indices: list[int], hashes_only: bool
) -> None:
    async with open_node(growing) as node:
        client = await node.connect()
        wanted = {"addresses": addresses, "hashesOnly": hashes_only}
        name = await client.subscribe(MINED, wanted)
        growing.grow(LOGS)
        node.hub.advance()
        await client.settle()
        transactions = (await block_of(client, 1, full=True))["transactions"]
        assert results(client, name) == [
            {
                "removed": False,
                "transaction": {"hash": transactions[index]["hash"]} if hashes_only else transactions[index],
            }
            for index in indices
        ]
        assert node.hub.parameters == sum(len(pair) for pair in addresses or ())
        await client.leave()
        assert (node.hub.parameters, len(node.hub.groups)) == (0, 0)


@pytest.mark.parametrize("with_removed", [False, True])
async def test_a_reorganisation_takes_transactions_back_for_who_asked(
    growing: GrowingChain, monkeypatch: pytest.MonkeyPatch, with_removed: bool
) -> None:
    monkeypatch.setattr(hub, "STEP_BLOCKS", 1)
    async with open_node(growing) as node:
        client = await node.connect()
        name = await client.subscribe(MINED, {"includeRemoved": with_removed, "hashesOnly": True})
        growing.reorganise(0, [LOGS, LOGS[:1]])
        first = [(await block_of(client, number))["transactions"] for number in (1, 2)]
        for _ in range(3):
            node.hub.advance()
        growing.reorganise(2, [LOGS[1:]])
        second = (await block_of(client, 1))["transactions"]
        for _ in range(4):
            node.hub.advance()
        await client.settle()
        old = [place for block in first for place in block]
        removed = old[::-1] if with_removed else []
        assert [(told["removed"], told["transaction"]["hash"]) for told in results(client, name)] == [
            *((False, place) for place in old),
            *((True, place) for place in removed),
            *((False, place) for place in second),
        ]
