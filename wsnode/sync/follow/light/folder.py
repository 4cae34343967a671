"""Parts of a light folder: its first block, the receipts of its blocks, and its window."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import BuiltBlock
from wsnode.ethereum.codec.rlp import block_hash
from wsnode.ethereum.networks.table import unproved_members
from wsnode.ethereum.primitives.values import Hash32, hexadecimal
from wsnode.ethereum.tree.head_writer import LiveTree, in_thread
from wsnode.ethereum.tree.pruning import Pruning
from wsnode.sync.follow.blocks.any_upstream import all_at_once, block_of_any
from wsnode.sync.follow.light.bootstrap import LightBootstrap
from wsnode.sync.follow.light.receipts import AT_ONCE, Receipts
from wsnode.sync.follow.storage_retry import StorageRetry
from wsnode.sync.follow.upstream import PeerError, Upstreams
from wsnode.untrusted.repeated_warning import RepeatedWarning
from wsnode.upstream.errors import UpstreamError

REST_SECONDS: Final = 0.5
FAILED_SECONDS: Final = 2.0
ABOVE_GENESIS: Final = 1

logger = logging.getLogger("wsnode.follow")


class WindowPruner:
    """Task that keeps the first block of a light folder at the beginning of its window, by pruning or
    backfilling, but never above the finalized block.
    """

    def __init__(
        self,
        chain: Chain,
        live: LiveTree,
        upstreams: Upstreams,
        receipts: Receipts,
        storage_retry: StorageRetry,
    ) -> None:
        self._chain = chain
        self._pruning = Pruning(chain, live)
        self._live = live
        self._upstreams = upstreams
        self._receipts = receipts
        self._storage_retry = storage_retry
        self._failures = RepeatedWarning(logger, trio.current_time)

    async def run(self) -> None:
        while True:
            try:
                has_more = await self._storage_retry.until_stored(self.step)
            except (PeerError, UpstreamError) as error:
                self._failures.say("backfilling failed and is tried again: %s", error)
                await trio.sleep(FAILED_SECONDS)
                continue
            await trio.sleep(0 if has_more else REST_SECONDS)

    async def step(self) -> bool:
        """Backfill or prune one slice; return True if there may be more to do.

        Raises:
            PeerError, UpstreamError: The blocks to be backfilled cannot be had.
        """
        if not self._chain.has_begun:
            return False
        first, lowest = self._pruning.bounds()
        if first > max(lowest, ABOVE_GENESIS):
            return await self._backfill(first, max(lowest, ABOVE_GENESIS, first - AT_ONCE))
        if lowest < first == ABOVE_GENESIS and self._is_above_genesis():
            async with self._live.turn():
                await in_thread(self._chain.prepend_genesis)
            return True
        return await self._pruning.step()

    def _is_above_genesis(self) -> bool:
        """Return True if the first block, number 1, is a child of the genesis block, which no upstream
        gives.
        """
        if not self._chain.spec.has_genesis_header:
            return False
        with self._chain.snapshot() as view:
            header = view.header(ABOVE_GENESIS)
            return header is not None and view.parent_hash(header) == self._chain.spec.genesis_hash

    async def _backfill(self, first: int, lowest: int) -> bool:
        with self._chain.snapshot() as view:
            header = view.header(first)
            assert header is not None, "the first block is stored"
            wanted = view.parent_hash(header)
        numbers = range(first - 1, lowest - 1, -1)
        fetched = await all_at_once(numbers, lambda number: block_of_any(self._upstreams.usable, number))
        linked: list[BuiltBlock] = []
        for encoded, giver in fetched:
            if block_hash(encoded) != wanted:
                why = f"its block {first - 1 - len(linked)} is not the parent of ours"
                giver.quarantine(PeerError(why, is_forked=True))
                break
            block = await self._receipts.of_encoded(encoded, giver)
            linked.append(block)
            wanted = view.parent_hash(block.header)
        async with self._live.turn():
            # Pruning may have moved the beginning of the window past `first` meanwhile, and then the blocks
            # do not join it.
            if linked and self._pruning.bounds()[0] == first:
                await in_thread(partial(self._chain.prepend, linked))
        return True


class LightFolderParts:
    """Tasks of a light folder that a full one does not need: its bootstrap, receipts and window pruner."""

    def __init__(
        self,
        chain: Chain,
        live: LiveTree,
        upstreams: Upstreams,
        storage_retry: StorageRetry,
        checkpoint: Hash32 | None = None,
        proved: Callable[[], Hash32 | None] | None = None,
    ) -> None:
        self._family = chain.spec.family
        self.receipts = Receipts(chain, upstreams)
        self.beginning = LightBootstrap(chain, live, upstreams, self.receipts, checkpoint, proved)
        self.window = WindowPruner(chain, live, upstreams, self.receipts, storage_retry)

    @property
    def trust(self) -> str:
        """Return the checks that the folder's blocks rest on, as text."""
        checkpoint = self.beginning.checkpoint
        begun = "" if checkpoint is None else f", begun at checkpoint {hexadecimal(checkpoint)}"
        left_out = unproved_members(self._family)
        missing = "" if left_out is None else f", {left_out}"
        return f"bodies, receipts and logs are verified by headers, nothing is executed{begun}{missing}"
