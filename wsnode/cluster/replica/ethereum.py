"""A chain of the eth family that repeats records: one change at a time, published when complete."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from wsnode.cluster.records import Record, Standing
from wsnode.cluster.replica.repeating import Repeater
from wsnode.cluster.replica.standings import is_reachable
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.tree.live import LiveTree, in_thread


class EthereumCopy:
    """Implements `Copy`."""

    def __init__(self, chain: Chain, live: LiveTree, *, is_development: bool) -> None:
        """With `is_development`, blocks may have unsigned transactions, and states be changed without one."""
        self._chain = chain
        self._live = live
        self._repeater = Repeater(chain, live.tree, is_development=is_development)

    @property
    def head(self) -> Head:
        """Return the head."""
        return self._chain.head

    def __str__(self) -> str:
        return f"block {self.head}"

    def reaches(self, standing: Standing) -> bool:
        """Return whether the chain need only take something back to stand like this."""
        with self._chain.snapshot() as view:
            return is_reachable(view, standing)

    def has_left(self, head: Head) -> bool:
        """Return whether a block was in the chain and left it again."""
        with self._chain.snapshot() as view:
            return view.hash_of(head.number) != head.hash and view.side_header(head.hash) is not None

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Let nothing else change the chain, and publish what is changed as one."""
        async with self._live.turn():
            with self._live.telling():
                yield

    async def apply(self, record: Record) -> None:
        """Do what a record says, as `Repeater.apply`."""
        await in_thread(partial(self._repeater.apply, record))

    async def go_back(self, standing: Standing) -> None:
        """Take back what the chain has beyond a standing, as `Repeater.go_back`."""
        await in_thread(partial(self._repeater.go_back, standing))
