"""Whatever the chain does and whenever a client comes and goes: what it rebuilds is the canonical chain."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from tests.drawing import examples
from tests.ethereum.live.growing import EMITTERS, TOPICS, GrowingChain
from tests.ethereum.live.sessions import LogView, Node, ReturningClient, open_node
from tests.live.steps import Breathe, Notice, Return, common_steps, take_common_step
from wsnode.ethereum.live import pages
from wsnode.ethereum.logs.filter import Log, LogFilter

pytestmark = pytest.mark.slow

logs = st.tuples(st.sampled_from(EMITTERS), st.lists(st.sampled_from(TOPICS), max_size=3).map(tuple))
branches = st.lists(st.lists(logs, max_size=4), min_size=1, max_size=3)
criteria = st.builds(
    LogFilter,
    addresses=st.lists(st.sampled_from(EMITTERS), max_size=2),
    topics=st.lists(st.lists(st.sampled_from(TOPICS), max_size=2), max_size=3),
)


class Grow(msgspec.Struct, frozen=True):
    blocks: Sequence[Sequence[Log]]


class Reorganise(msgspec.Struct, frozen=True):
    depth: int
    blocks: Sequence[Sequence[Log]]


class Subscribe(msgspec.Struct, frozen=True):
    criteria: LogFilter
    reorgs: bool


steps = st.one_of(
    st.builds(Grow, branches),
    st.builds(Reorganise, st.integers(1, 5), branches),
    st.builds(Subscribe, criteria, st.booleans()),
    common_steps,
)


def request_of(wanted: LogFilter) -> dict[str, Any]:
    return {
        "address": [f"0x{address.hex()}" for address in wanted.addresses],
        "topics": [[f"0x{topic.hex()}" for topic in values] or None for values in wanted.topics],
    }


def expected(growing: GrowingChain, wanted: LogFilter) -> list[tuple[str, int]]:
    return [
        (f"0x{block.head.hash.hex()}", index)
        for block in growing.blocks
        for index, log in enumerate(block.logs)
        if wanted.matches(log)
    ]


class Watcher(ReturningClient):
    """A client with one subscription to logs from the genesis on, which it resumes when it comes back."""

    def __init__(self, node: Node, wanted: LogFilter, *, reorgs: bool) -> None:
        super().__init__(node)
        self.wanted = wanted
        self.reorgs = reorgs
        self.view = LogView()

    async def come(self) -> None:
        if self._client is not None:
            return
        self._client = await self._node.connect()
        cursor = self.view.cursor
        start = {"fromBlock": "0x0", "cursors": True} if cursor is None else {"cursor": cursor}
        options = {**request_of(self.wanted), **start, "reorgs": self.reorgs}
        await self._client.ask("eth_subscribe", "logs", options)

    def told(self) -> list[dict[str, Any]]:
        """Return the notifications so far, none of which was taken."""
        assert self._client is not None
        return [message["params"] for message in self._client.messages if "params" in message]

    def take(self) -> None:
        """Apply the messages since the last time."""
        if self._client is None:
            return
        for message in self._client.messages:
            assert "error" not in message, message
            if "params" in message:
                self.view.apply(message["params"])
        self._client.messages.clear()


async def run(growing: GrowingChain, script: Sequence[Any]) -> None:
    async with open_node(growing) as node:
        watchers: list[Watcher] = []
        for step in script:
            await take_step(node, watchers, step)
        node.hub.advance()
        for watcher in watchers:
            await watcher.come()
        await wait_all_tasks_blocked()
        for watcher in watchers:
            watcher.take()
            assert watcher.view.logs == expected(growing, watcher.wanted)


async def take_step(node: Node, watchers: list[Watcher], step: Any) -> None:
    growing = node.growing
    match step:
        case Grow(blocks):
            growing.reorganise(0, blocks)
        case Reorganise(depth, blocks):
            growing.reorganise(min(depth, len(growing.blocks)), blocks)
        case Subscribe(wanted, reorgs):
            watchers.append(Watcher(node, wanted, reorgs=reorgs))
            await watchers[-1].come()
        case _:
            await take_common_step(growing, node.hub, watchers, step)


@pytest.fixture(params=[False, True], ids=["whole pages", "a log a page, searched among four"])
def page_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param:
        monkeypatch.setattr(pages, "PAGE_BYTES", 600)
        monkeypatch.setattr(pages, "WINDOW", 4)


@pytest.mark.usefixtures("page_bytes")
@settings(
    max_examples=examples(50),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(script=st.lists(steps, max_size=20))
def test_a_client_rebuilds_the_canonical_logs(growing: GrowingChain, script: list[Any]) -> None:
    growing.clear()
    trio.run(run, growing, script)


class ReceiptWatcher(ReturningClient):
    """A client with one subscription to receipts from the genesis on, which it resumes when it comes back."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self._blocks: list[tuple[int, str]] = []

    async def come(self) -> None:
        if self._client is None:
            self._client = await self._node.connect()
            start = (
                {"fromBlock": "0x0", "cursors": True} if self._cursor is None else {"cursor": self._cursor}
            )
            await self._client.ask("eth_subscribe", "transactionReceipts", start)

    def take(self) -> None:
        assert self._client is not None
        for message in self._client.messages:
            assert "error" not in message, message
            if (params := message.get("params")) is not None:
                self._cursor, (first, *_others) = params["cursor"], params["result"]
                assert {each["blockHash"] for each in params["result"]} == {first["blockHash"]}
                self._add(int(first["blockNumber"], 16), first["blockHash"])
        self._client.messages.clear()

    def check(self) -> None:
        """Compare what it believes in with the chain; only logs tell that a block is gone."""
        self.take()
        blocks = [block for block in self._node.growing.blocks if block.logs]
        canonical = [(block.head.number, f"0x{block.head.hash.hex()}") for block in blocks]
        assert [place for place in self._blocks if place in canonical] == canonical

    def _add(self, number: int, block_hash: str) -> None:
        while self._blocks and self._blocks[-1][0] >= number:
            self._blocks.pop()
        self._blocks.append((number, block_hash))


async def run_with_receipts(growing: GrowingChain, script: Sequence[Any]) -> None:
    async with open_node(growing) as node:
        watchers = [ReceiptWatcher(node) for _ in range(2)]
        for watcher in watchers:
            await watcher.come()
        for step in script:
            match step:
                case Grow(blocks):
                    growing.reorganise(0, blocks)
                case Reorganise(depth, blocks):
                    growing.reorganise(min(depth, len(growing.blocks)), blocks)
                case Subscribe():
                    pass
                case _:
                    await take_common_step(growing, node.hub, watchers, step)
        node.hub.advance()
        for watcher in watchers:
            await watcher.come()
        await wait_all_tasks_blocked()
        for watcher in watchers:
            watcher.check()


@pytest.mark.usefixtures("page_bytes")
@settings(
    max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(script=st.lists(steps, max_size=20))
def test_a_client_has_the_receipts_of_each_canonical_block(growing: GrowingChain, script: list[Any]) -> None:
    growing.clear()
    trio.run(run_with_receipts, growing, script)


FULL = [[(EMITTERS[place], TOPICS[:place])] * 3 for place in range(3)]


@pytest.mark.parametrize("wanted", [LogFilter(), LogFilter(EMITTERS[:1])], ids=["all", "one emitter"])
def test_the_chain_may_change_at_any_moment_of_a_replay(
    growing: GrowingChain, wanted: LogFilter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE_BYTES", 600)
    changes: list[Any] = [
        Grow(FULL),
        Reorganise(1, FULL),
        Reorganise(4, FULL[:1]),
        Reorganise(6, FULL),
        Return(3, noticed=True),
        Return(2, noticed=False),
    ]
    for change in changes:
        for turns in range(0, 60, 4):
            growing.clear()
            history = [Grow(FULL), Grow(FULL), Notice(), Subscribe(wanted, reorgs=False), Breathe(turns)]
            trio.run(run, growing, [*history, change, Breathe(turns % 7), Reorganise(2, FULL), Notice()])


def test_every_cursor_stands_right_behind_its_notification(growing: GrowingChain) -> None:
    trio.run(check_cursors, growing)


async def check_cursors(growing: GrowingChain) -> None:
    async with open_node(growing) as node:
        first = Watcher(node, LogFilter(), reorgs=True)
        await first.come()
        await wait_all_tasks_blocked()
        for blocks in (FULL, [*FULL, *FULL]):
            growing.reorganise(0, blocks)
            node.hub.advance()
        growing.reorganise(4, [*FULL, FULL[2]])
        node.hub.advance()
        late = await node.connect()
        identity = await late.subscribe("logs", {"fromBlock": "0x0", "cursors": True})
        assert [params["result"] for params in late.told[identity]] == [
            params["result"] for params in late.told[identity] if not params["result"]["removed"]
        ]
        await wait_all_tasks_blocked()
        for told in (first.told(), late.told[identity]):
            for count in range(1, len(told) + 1):
                await check_resuming(node, told[:count])
        growing.reorganise(6, FULL)
        node.hub.advance()
        for count in range(1, len(first.told()) + 1):
            await check_resuming(node, first.told()[:count])


async def check_resuming(node: Node, told: list[dict[str, Any]]) -> None:
    """Go on behind the last of these notifications, on a new connection."""
    view = LogView()
    for params in told:
        view.apply(params)
    client = await node.connect()
    identity = await client.subscribe("logs", {"cursor": view.cursor})
    for params in client.told[identity]:
        view.apply(params)
    assert view.logs == expected(node.growing, LogFilter())
    await client.leave()
