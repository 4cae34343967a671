"""The task that publishes: what it does and says when its journal is away, taken or lost."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager

import pytest
import trio
from trio import to_thread
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.cluster.growing import Growing, new_chain
from tests.cluster.memory_journal import MemoryJournal
from wsnode.cluster.journal import Lease
from wsnode.cluster.journal_diff import EthereumSource
from wsnode.cluster.publisher import QUIET_SECONDS, RETRY_SECONDS, JournalPublisher
from wsnode.cluster.records import BlockRecord, FinalityRecord, Record, ReorgRecord
from wsnode.ethereum.codec.blocks import decode_blocks
from wsnode.ethereum.codec.rows import block_rlp
from wsnode.ethereum.live.branches import canonical_rows
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.tree.head_writer import LiveTree
from wsnode.ethereum.tree.statuses import ValidBlock
from wsnode.ethereum.tree.tree import BlockTree


class Node:
    """A chain with a hub, a journal, and what publishes it."""

    def __init__(self, stack: ExitStack, clock: MockClock, journal: MemoryJournal | None = None) -> None:
        self.chain = chain = stack.enter_context(new_chain())
        self.clock = clock
        self.growing = Growing(chain)
        self.hub = Hub(chain)
        self.journal = journal or MemoryJournal(chain.spec.genesis_hash)
        self.publisher = JournalPublisher(EthereumSource(chain, is_development=True), self.hub, self._open)

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[MemoryJournal]:
        yield self.journal

    async def pass_time(self, seconds: float) -> None:
        """Let time pass, a retry after the other."""
        for _ in range(int(seconds / RETRY_SECONDS)):
            await settle()
            self.clock.jump(RETRY_SECONDS)
            self.journal.now += RETRY_SECONDS
        await settle()

    def extend(self) -> None:
        self.growing.extend(1)
        self.hub.advance()

    async def published(self) -> int:
        """Return how many blocks the journal has, once it has all."""
        with trio.fail_after(60):
            assert await self.publisher.finish(30)
        tip = await self.journal.tip()
        return -1 if tip is None else tip.after.head.number


async def settle() -> None:
    """Wait until every task waits for time: what a thread does takes none of the clock's."""
    await wait_all_tasks_blocked()
    while to_thread.current_default_thread_limiter().borrowed_tokens:
        await wait_all_tasks_blocked(0.001)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


async def running(work: Callable[[Node], Awaitable[None]], clock: MockClock) -> Node:
    with ExitStack() as stack:
        node = Node(stack, clock)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(node.publisher.run)
            await work(node)
            nursery.cancel_scope.cancel()
        return node


async def test_every_change_that_the_hub_sees_is_published(mock_clock: MockClock) -> None:
    async def work(node: Node) -> None:
        for number in range(1, 4):
            node.extend()
            assert await node.published() == number
        assert node.publisher.report.is_leading
        assert node.publisher.lag == 0

    node = await running(work, mock_clock)
    assert not node.publisher.report.is_leading
    # The lease was given back at the end.
    await node.journal.claim("another")


@pytest.mark.slow
async def test_a_journal_that_is_away_for_an_hour_costs_some_lines(
    mock_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(node: Node) -> None:
        node.extend()
        assert await node.published() == 1
        node.journal.is_away = True
        node.extend()
        await node.pass_time(3600)
        lines = warnings(caplog)
        assert 2 <= len(lines) <= 3600 / QUIET_SECONDS + 1
        assert all("away" in line for line in lines)
        assert (node.publisher.lag, node.publisher.report.is_leading) == (1, False)
        node.journal.is_away = False
        await node.pass_time(2 * RETRY_SECONDS)
        assert await node.published() == 2
        assert node.publisher.report.error is None

    await running(work, mock_clock)


async def test_a_second_writer_stands_by_and_takes_over(
    mock_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(node: Node) -> None:
        node.extend()
        assert await node.published() == 1
        with ExitStack() as stack:
            other = Node(stack, mock_clock, node.journal)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(other.publisher.run)
                await other.pass_time(10)
                report = other.publisher.report
                assert (report.is_leading, report.failures) == (False, 0)
                assert report.error is not None
                assert "is written by" in report.error
                assert warnings(caplog) == []
                nursery.cancel_scope.cancel()

    await running(work, mock_clock)


async def test_a_change_of_several_steps_is_published_as_one(mock_clock: MockClock) -> None:
    async def work(node: Node) -> None:
        node.extend()
        assert await node.published() == 1
        node.hub.is_held = True
        node.growing.unwind(1)
        await node.pass_time(3)
        node.growing.extend(2)
        node.hub.is_held = False
        node.hub.advance()
        assert await node.published() == 2
        changes = [type(record.change) for record in node.journal.written]
        assert changes == [BlockRecord, ReorgRecord]

    await running(work, mock_clock)


class InterruptedJournal(MemoryJournal):
    """A journal during whose appends something else happens."""

    meanwhile: Callable[[], None] | None = None

    async def append(self, lease: Lease, record: Record) -> None:
        await super().append(lease, record)
        if self.meanwhile is not None:
            self.meanwhile()


async def test_a_change_of_several_steps_that_begins_during_an_append_is_published_as_one(
    mock_clock: MockClock,
) -> None:
    with ExitStack() as stack:
        node = Node(stack, mock_clock)
        node.journal = journal = InterruptedJournal(node.chain.spec.genesis_hash)

        def begin() -> None:
            journal.meanwhile = None
            node.hub.is_held = True
            node.growing.unwind(1)

        journal.meanwhile = begin
        async with trio.open_nursery() as nursery:
            nursery.start_soon(node.publisher.run)
            node.extend()
            await node.pass_time(3)
            assert node.hub.is_held
            node.growing.extend(2)
            node.hub.is_held = False
            node.hub.advance()
            assert await node.published() == 2
            nursery.cancel_scope.cancel()
    assert [type(record.change) for record in journal.written] == [BlockRecord, ReorgRecord]


async def test_each_branch_that_a_consensus_client_chooses_is_published(mock_clock: MockClock) -> None:
    async def work(node: Node) -> None:
        live = LiveTree(BlockTree(node.chain), node.hub)
        with ExitStack() as stack:
            branches = [branch(stack, blocks) for blocks in (2, 3)]
        assert await node.published() == 0
        for blocks in branches:
            for encoded in blocks:
                (block,), error = decode_blocks(node.chain.spec, [encoded])
                assert error is None
                assert isinstance(await live.judge(block), ValidBlock)
            await live.set_head(block.hash)
            assert await node.published() == len(blocks)
        # Back to the first one: its blocks are published again, because readers went down below them.
        (block,), _error = decode_blocks(node.chain.spec, branches[0][-1:])
        await live.set_head(block.hash, finalized=block.hash)
        assert await node.published() == 2
        changes = [type(record.change) for record in node.journal.written]
        assert changes == [
            FinalityRecord,
            *[BlockRecord] * 2,
            ReorgRecord,
            ReorgRecord,
        ]
        assert node.journal.written[-1].after.finalized == node.chain.head
        await live.set_head(block.hash, safe=block.hash)
        assert await node.published() == 2
        assert isinstance(node.journal.written[-1].change, FinalityRecord)

    await running(work, mock_clock)


def branch(stack: ExitStack, blocks: int) -> list[bytes]:
    """Return the blocks of another chain after the genesis block."""
    chain = stack.enter_context(new_chain())
    Growing(chain).extend(blocks)
    with chain.snapshot() as view:
        rows = [canonical_rows(view, number) for number in range(1, blocks + 1)]
    return [block_rlp(header, body) for header, body, _receipts in rows]
