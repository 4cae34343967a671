"""Missing ancestors of a consensus client's block, fetched from the upstreams and judged.

The head stays where the consensus client has set it. Only over a long distance does it move along, at most up
to the wanted block, because a state so far ahead cannot be kept in memory.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial

import msgspec
import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import UnverifiedBlock
from wsnode.ethereum.primitives.values import Hash32, hexadecimal
from wsnode.ethereum.tree.head_writer import LiveTree
from wsnode.ethereum.tree.statuses import InvalidBlock, UnknownParentBlock
from wsnode.sync.follow.blocks.ancestor_fetcher import AncestorFetcher
from wsnode.sync.follow.blocks.block_client import number_of
from wsnode.sync.follow.range_sync import RangeSync
from wsnode.sync.follow.storage_retry import StorageRetry
from wsnode.sync.follow.upstream import PeerError, Upstream, Upstreams
from wsnode.upstream.errors import UpstreamError
from wsnode.upstream.link import Link

logger = logging.getLogger("wsnode.follow")


class WantedBlock(msgspec.Struct, frozen=True, eq=False):
    """Request for a missing block by hash; `is_over` is set when it has come, or no upstream has it."""

    block_hash: Hash32
    is_over: trio.Event


class AncestorSync:
    """Task that fetches a missing block by hash, the one requested last, with its unknown ancestors. `floor`
    returns the number of the lowest block that may be replaced.
    """

    def __init__(
        self,
        chain: Chain,
        live: LiveTree,
        upstreams: Upstreams,
        range_sync: RangeSync,
        floor: Callable[[], int],
        storage_retry: StorageRetry,
    ) -> None:
        self._live = live
        self._upstreams = upstreams
        self._range_sync = range_sync
        self._floor = floor
        self._storage_retry = storage_retry
        self._ancestor_fetcher = AncestorFetcher(chain, upstreams, self._is_known)
        self._wanted: WantedBlock | None = None
        self._woken = trio.Event()

    def want(self, block_hash: Hash32) -> trio.Event:
        """Have a block fetched in place of an earlier wanted one; return an event for its end."""
        if self._wanted is not None:
            if self._wanted.block_hash == block_hash:
                return self._wanted.is_over
            self._wanted.is_over.set()
        self._wanted = WantedBlock(block_hash, trio.Event())
        self._woken.set()
        return self._wanted.is_over

    async def run(self) -> None:
        while True:
            await self._woken.wait()
            self._woken = trio.Event()
            wanted, self._wanted = self._wanted, None
            if wanted is None:
                continue
            try:
                if not self._is_known(wanted.block_hash):
                    await self._storage_retry.until_stored(partial(self._bring, wanted.block_hash))
            finally:
                wanted.is_over.set()

    def _is_known(self, block_hash: bytes) -> bool:
        return self._live.tree.header(block_hash) is not None

    async def _bring(self, wanted: Hash32) -> None:
        for upstream in self._upstreams.usable:
            if (link := upstream.link) is None:
                continue
            try:
                blocks = await self._fetched(upstream, link, wanted)
            except (UpstreamError, PeerError) as error:
                logger.warning(
                    "%s: block %s, which a consensus client builds on: %s",
                    upstream,
                    hexadecimal(wanted),
                    error,
                )
            else:
                await self._judge(blocks)
                break

    async def _fetched(self, upstream: Upstream, link: Link, wanted: Hash32) -> list[UnverifiedBlock]:
        number = await number_of(upstream, wanted, link)
        if number is not None and self._range_sync.is_far(number):
            await self._range_sync.come_near(lambda: self._reachable(number))
        return await self._ancestor_fetcher.up_to(upstream, link, wanted, self._floor())

    def _reachable(self, number: int) -> int | None:
        """Return the number of the highest announced block up to `number`, None without an announcement."""
        numbers = [upstream.announced.number for upstream in self._upstreams.usable if upstream.announced]
        return min(max(numbers), number) if numbers else None

    async def _judge(self, blocks: Sequence[UnverifiedBlock]) -> None:
        for block in blocks:
            status = await self._live.judge(block)
            if isinstance(status, InvalidBlock):
                logger.warning(
                    "block %d, which a consensus client builds on, is invalid: %s", block.number, status.error
                )
            if isinstance(status, InvalidBlock | UnknownParentBlock):
                return
        if blocks:
            logger.info("%d blocks that a consensus client builds on came from upstreams", len(blocks))
