"""The tree in a process that serves the chain: one change at a time, in a thread, told when it is whole."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Protocol, TypeVar

import trio

from wsnode.ethereum.codec.blocks import UnverifiedBlock
from wsnode.ethereum.head import HeadChange
from wsnode.ethereum.tree.statuses import Invalid, Status
from wsnode.ethereum.tree.tree import BlockTree

Result = TypeVar("Result")


class Audience(Protocol):
    """Who is told of changes of the head, and meanwhile may look for some by itself."""

    is_held: bool
    """Whether it has to wait with that, for a change that has several steps."""

    def advance(self) -> object:
        """Take note of what is stored by now."""


class LiveTree:
    """Judges blocks and moves the head of a chain that is served, and tells an audience of it."""

    def __init__(self, tree: BlockTree, audience: Audience) -> None:
        self.tree = tree
        self._audience = audience
        self.lock = trio.Lock()
        """Held by each change of the chain; whoever makes one of several steps takes it."""

    async def judge(self, block: UnverifiedBlock) -> Status:
        """Return what is known of a block once it has been executed on its parent; the head stays.

        Raises:
            StateError, StoreError: A store cannot be read, or written.
        """
        async with self.lock:
            return await in_thread(partial(self.tree.judge, block))

    async def set_head(
        self, block_hash: bytes, *, safe: bytes | None = None, finalized: bytes | None = None
    ) -> HeadChange | Invalid:
        """Make a known block the head, as `BlockTree.set_head`; it has been told when this returns.

        Raises:
            UnknownBlockError, StateError, StoreError: As there.
        """
        move = partial(self.tree.set_head, block_hash, safe=safe, finalized=finalized)
        async with self.lock:
            with self.telling():
                return await in_thread(move)

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Have a change, of one step or several, told as one in the end; the lock is held meanwhile."""
        self._audience.is_held = True
        try:
            yield
        finally:
            self._audience.is_held = False
            self.tell()

    def tell(self) -> None:
        """Tell of a change of one step that has been stored."""
        self._audience.advance()


async def in_thread(work: Callable[[], Result]) -> Result:
    """Return the result of work that blocks."""
    # Not given up when nobody waits for it any more: what is begun is finished and told.
    return await trio.to_thread.run_sync(work)
