"""Tree of a served chain: one change at a time, in a thread, published when complete."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Final, Protocol, TypeVar

import trio

from wsnode.ethereum.appender import ExtendOutcome
from wsnode.ethereum.codec.blocks import UnverifiedBlock
from wsnode.ethereum.codec.rows import CorruptRowError
from wsnode.ethereum.execution import PendingCommit
from wsnode.ethereum.head import HeadChange
from wsnode.ethereum.state import StateError
from wsnode.ethereum.storage.errors import StoreError
from wsnode.ethereum.tree.statuses import InvalidBlock, Status
from wsnode.ethereum.tree.tree import BlockTree

Result = TypeVar("Result")

STORE_FAILURES: Final = (CorruptRowError, StateError, StoreError)
"""Exceptions of a change of a chain that cannot be read or written: its disk is full, failing or damaged."""


class HeadObserver(Protocol):
    """Observer called after each change of the head; `Hub` implements it, to publish the change."""

    is_held: bool
    """True while a change of several steps is in progress; the receiver then must not read the store."""

    def advance(self) -> object:
        """Read and publish the stored head."""


class LiveTree:
    """Tree of blocks of a chain in service: verifies blocks in threads, moves the head, and has each change
    published to subscribers.
    """

    def __init__(self, tree: BlockTree, audience: HeadObserver) -> None:
        self.tree = tree
        self._audience = audience
        self.lock = trio.Lock()
        """Lock held by each change of the chain, through all its steps."""
        self._stored = trio.Event()
        """Event set unless executed blocks are being written."""
        self._stored.set()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[BlockTree]:
        """Yield the tree for exclusive use: no other change is made, and nothing is being written."""
        async with self.lock:
            await self._stored.wait()
            yield self.tree

    async def judge(self, block: UnverifiedBlock) -> Status:
        """Execute a block, and return its status as `BlockTree.judge` does."""
        async with self.turn() as tree:
            return await in_thread(partial(tree.judge, block))

    async def append(self, block: UnverifiedBlock) -> Status:
        """Return the status of a block as `BlockTree.append` does, and publish a new head."""
        async with self.turn() as tree:
            with self.telling():
                return await in_thread(partial(tree.append, block))

    async def hold(self, block: UnverifiedBlock) -> Status:
        """Return the status of a block by its header alone, as `BlockTree.hold` does."""
        async with self.turn() as tree:
            return await in_thread(partial(tree.hold, block))

    async def extend(self, blocks: Sequence[UnverifiedBlock]) -> ExtendOutcome:
        """Execute blocks that follow the head; they are stored by `commit`, or by another change before.

        Raises:
            StateError, StoreError: A store cannot be read.
        """
        async with self.lock:
            if self.tree.is_torn:
                await self._stored.wait()
            return await in_thread(partial(self.tree.extend, blocks))

    async def commit(self, nursery: trio.Nursery) -> None:
        """Have `nursery` commit all executed blocks, beside further work.

        Raises:
            StateError: The state cannot be read.
        """
        async with self.turn() as tree:
            pending = await in_thread(tree.take_pending)
            self._stored = trio.Event()
            nursery.start_soon(self._store, pending)

    async def _store(self, pending: PendingCommit) -> None:
        try:
            # The pending blocks must be stored before the tree is used for anything else, so a cancellation
            # waits for that.
            with trio.CancelScope(shield=True):
                await in_thread(partial(self.tree.store, pending))
        finally:
            self._stored.set()
        self.tell()

    async def set_head(
        self,
        block_hash: bytes,
        *,
        safe: bytes | None = None,
        finalized: bytes | None = None,
        keeps_final: bool = False,
    ) -> HeadChange | InvalidBlock:
        """Make a known block the head, as `BlockTree.set_head`; returns once the change is published.

        Raises:
            UnknownForkchoiceBlockError, BelowFinalizedError, StateError, StoreError: As there.
        """
        async with self.turn() as tree:
            move = partial(tree.set_head, block_hash, safe=safe, finalized=finalized, keeps_final=keeps_final)
            with self.telling():
                return await in_thread(move)

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Publish the change within the block, of one step or several, as one at the block's end."""
        self._audience.is_held = True
        try:
            yield
        finally:
            self._audience.is_held = False
            self.tell()

    def tell(self) -> None:
        """Publish a stored change of one step."""
        self._audience.advance()


async def in_thread(work: Callable[[], Result]) -> Result:
    """Return the result of blocking work, run in a thread to its end."""
    # A cancellation does not stop the thread: a change that has begun is completed and published.
    return await trio.to_thread.run_sync(work)
