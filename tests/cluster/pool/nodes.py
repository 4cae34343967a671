"""Nodes of one chain, each with a pool; one of them writes the chain and its journal at a time."""

from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import trio

from tests.cluster.memory_journal import MemoryJournal
from tests.cluster.pool.memory_pool import MemoryPool
from tests.ethereum.pool.playground import Playground
from wsnode.cluster.journal import Lease
from wsnode.cluster.pool.mirror import Mirror
from wsnode.cluster.pool.mirror_task import MirrorTask
from wsnode.cluster.pool.publisher import PoolPublisher
from wsnode.cluster.replica.tx_resender import AGAIN_SECONDS, UnsentTransactions
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.head import HeadChange
from wsnode.ethereum.pool.errors import KnownError, PoolError
from wsnode.ethereum.pool.limits import PoolLimits

Block = list[bytes]


class Node:
    """A node that reads the journal's pool, or writes it while it has the lease."""

    def __init__(self, folder: Path, stream: MemoryPool, limits: PoolLimits | None = None) -> None:
        self.playground = Playground(folder, limits)
        self.pool = self.playground.pool
        self.lease: Lease | None = None
        self.listens = True
        """Whether it reads what others have."""
        self.outbox = UnsentTransactions(self.pool, lambda: self.playground.now, hears=True)
        chain = self.playground.chain
        mirror = Mirror(self.pool, self.outbox)
        self.mirroring = MirrorTask(mirror, lambda: chain.head, stream.open, self._is_reader)
        self.publisher = PoolPublisher(self.pool, lambda: self.lease, stream.open)
        self.due: deque[Block] = deque()
        """Blocks that others have and this node has not."""
        self.announced: list[bytes] = []
        """The hashes that its subscribers were told of."""
        self.pool.on_added.append(self._announce)
        self.pool.on_returned.append(self.outbox.doubted)

    def _is_reader(self) -> bool:
        return self.listens and self.lease is None

    def _announce(self, added: Sequence[PooledTransaction]) -> None:
        self.announced += [transaction.hash for transaction in added]

    @property
    def names(self) -> set[bytes]:
        """Return the hashes of what is in the pool."""
        return set(self.pool.entries)

    def append(self, block: Block) -> None:
        built = self.playground.append(block)
        self.pool.advance(HeadChange((), (built.head,)))

    def catch_up(self) -> None:
        while self.due:
            self.append(self.due.popleft())

    def refuses(self, transaction: PooledTransaction) -> bool:
        """Return whether the pool does not take a transaction."""
        try:
            self.pool.check(transaction)
            self.pool.admit(transaction)
        except PoolError:
            return True
        self.pool.drop(transaction.hash)
        return False


class Cluster:
    """The nodes, and what joins them."""

    def __init__(self, nodes: list[Node], journal: MemoryJournal, stream: MemoryPool) -> None:
        self.nodes, self.journal, self.stream = nodes, journal, stream
        self.writer = nodes[0]
        self.taken: dict[bytes, bytes] = {}
        """What its senders were told is taken, by hash."""
        self.dropped: set[bytes] = set()
        """What a writer's pool has dropped, or has taken with it when it ended."""

    @property
    def others(self) -> list[Node]:
        return [node for node in self.nodes if node is not self.writer]

    async def begin_writing(self, node: Node, *, is_empty: bool = False) -> None:
        """Have another process write, with the pool that it has, or with none."""
        if self.writer.lease is not None:
            await self.journal.release(self.writer.lease)
            self.writer.lease = None
        node.catch_up()
        if is_empty:
            # What no other node has heard of is lost with the process that had it.
            self.dropped |= node.names.difference(*(each.names for each in self.nodes if each is not node))
            node.pool.clear()
        lease = await self.journal.claim(f"node {self.nodes.index(node)}")
        self.writer, node.lease = node, lease

    def send(self, node: Node, encoded: bytes) -> bool:
        """Send a transaction as a client of a node does; return whether it was taken."""
        before = self.writer.names
        try:
            name = node.pool.add(encoded)
        except PoolError:
            return False
        self.dropped |= before - self.writer.names
        if node is not self.writer:
            epoch = 0 if self.writer.lease is None else self.writer.lease.epoch
            node.outbox.given(name, epoch)
            if not self._is_taken(encoded):
                node.outbox.unanswered(name)
                node.pool.drop(name)
                return False
        self.taken[name] = encoded
        self.dropped.discard(name)
        return True

    def _is_taken(self, encoded: bytes) -> bool:
        before = self.writer.names
        try:
            self.writer.pool.add(encoded)
        except KnownError:
            return True
        except PoolError:
            return False
        finally:
            # Replaced, or for want of room.
            self.dropped |= before - self.writer.names
        return True

    def drop(self, place: int) -> None:
        if names := sorted(self.writer.names):
            name = names[place % len(names)]
            self.writer.pool.drop(name)
            self.dropped.add(name)

    def mine(self, most: int = 100) -> None:
        block = [each.encoded for each in self.writer.pool.executable()][:most]
        before = self.writer.names
        self.writer.append(block)
        for node in self.others:
            node.due.append(block)
        mined = {PooledTransaction(self.writer.playground.chain.spec, each).hash for each in block}
        self.dropped |= before - self.writer.names - mined

    def deliver(self) -> int:
        """Send again to the writer what it may not have, as replicas do; return how many were sent."""
        sent = 0
        assert self.writer.lease is not None
        epoch = self.writer.lease.epoch
        for node in self.others:
            if node.mirroring.has_heard(epoch):
                for transaction in node.outbox.due(epoch):
                    sent += 1
                    is_taken = self._is_taken(transaction.encoded)
                    (node.outbox.given if is_taken else node.outbox.refused)(transaction.hash, epoch)
        return sent

    async def settle(self) -> None:
        """Return once everything has come everywhere."""
        self.journal.is_away = False
        for node in self.nodes:
            node.catch_up()
        await trio.sleep(5)
        for _ in range(2):
            for node in self.nodes:
                node.playground.now += AGAIN_SECONDS
            self.deliver()
            await trio.sleep(5)


@asynccontextmanager
async def cluster(
    count: int = 3, *, most_changes: int = 1000, limits: Sequence[PoolLimits | None] = ()
) -> AsyncIterator[Cluster]:
    with ExitStack() as stack:
        journal = MemoryJournal(bytes(32))
        stream = MemoryPool(journal, most_changes)
        nodes: list[Node] = []
        for number in range(count):
            folder = Path(stack.enter_context(TemporaryDirectory()))
            nodes.append(Node(folder, stream, limits[number] if limits else None))
            stack.callback(nodes[-1].playground.close)
        made = Cluster(nodes, journal, stream)
        async with trio.open_nursery() as nursery:
            for node in nodes:
                nursery.start_soon(node.mirroring.run)
                nursery.start_soon(node.publisher.run)
            await made.begin_writing(nodes[0])
            await trio.sleep(1)
            yield made
            nursery.cancel_scope.cancel()
