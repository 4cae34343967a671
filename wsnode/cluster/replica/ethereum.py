"""Chain of the eth family that applies the journal's records: one change at a time, published when
complete.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from wsnode.cluster.records import ChainState, Record
from wsnode.cluster.replica.apply import LogApplier
from wsnode.cluster.replica.chain_states import is_reachable
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.tree.head_writer import LiveTree, in_thread


class EthereumReplicaChain:
    """Chain of the eth family in a replica; `str` names its head."""

    def __init__(self, chain: Chain, live: LiveTree, *, is_development: bool) -> None:
        self._chain = chain
        self._live = live
        self._applier = LogApplier(chain, live.tree, is_development=is_development)

    @property
    def head(self) -> Head:
        return self._chain.head

    def __str__(self) -> str:
        return f"block {self.head}"

    def reaches(self, state: ChainState) -> bool:
        with self._chain.snapshot() as view:
            return is_reachable(view, state)

    def has_left(self, head: Head) -> bool:
        """Return True if a block was in the chain and left it again."""
        with self._chain.snapshot() as view:
            return view.hash_of(head.number) != head.hash and view.side_header(head.hash) is not None

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Keep other tasks from changing the chain, and publish the changes as one."""
        async with self._live.turn():
            with self._live.telling():
                yield

    async def apply(self, record: Record) -> None:
        await in_thread(partial(self._applier.apply, record))

    async def go_back(self, state: ChainState) -> None:
        await in_thread(partial(self._applier.go_back, state))
