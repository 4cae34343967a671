"""Other nodes of a chain: the one that writes it, and those with blocks no longer in the journal."""

import logging
from collections.abc import Sequence
from typing import Final

from wsnode.cluster.membership import REPORT_SECONDS, ClusterMembership, ClusterNode, PresentNodes
from wsnode.cluster.replica.apply import GapError
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import UnverifiedBlock
from wsnode.ethereum.tree.head_writer import LiveTree
from wsnode.ethereum.tree.statuses import DeferredBlock, InvalidBlock, ValidBlock
from wsnode.sync.follow.blocks.ancestor_fetcher import AncestorFetcher
from wsnode.sync.follow.upstream import PeerError, Upstream, Upstreams, named
from wsnode.sync.follow.upstream_txs import send_to_all
from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.client import Client, running
from wsnode.upstream.errors import AddressError, SendFailedError, UpstreamError
from wsnode.upstream.link import Connect

MAX_ASKED: Final = 4
"""Maximum number of nodes that are asked for blocks, the highest first."""
MEETING_SECONDS: Final = 2 * REPORT_SECONDS
"""Seconds to wait for nodes: each announces itself every `REPORT_SECONDS`."""

logger = logging.getLogger("wsnode.replica")


class PeerNodes:
    """Client that fetches blocks missing from the journal from other nodes of the chain, found in the
    directory `presence`.
    """

    def __init__(self, chain: Chain, live: LiveTree, presence: ClusterMembership) -> None:
        self._chain = chain
        self._live = live
        self._presence = presence

    async def bridge(self, gap: GapError) -> bool:
        """Fetch the blocks up to the journal's first from other nodes; return True if this chain has them
        now.
        """
        for node in (await self._presence.others(MEETING_SECONDS))[:MAX_ASKED]:
            blocks = await self._way(node, gap)
            if blocks and await take(self._live, blocks):
                logger.info("%d blocks that the journal no longer has came from another node", len(blocks))
                return True
        return False

    async def _way(self, node: ClusterNode, gap: GapError) -> list[UnverifiedBlock]:
        """Return the blocks up to the one before the journal's first record; none if they cannot be had."""
        upstream = _upstream(node)
        if upstream is None:
            return []
        walks = AncestorFetcher(self._chain, Upstreams([upstream]), self._is_known)
        async with running([upstream.client]):
            try:
                link = await upstream.client.link()
                return await walks.up_to(upstream, link, gap.wanted.head.hash, 0)
            except (UpstreamError, PeerError) as error:
                logger.warning(
                    "the blocks before the journal's first could not be fetched from %s: %s", upstream, error
                )
                return []

    def _is_known(self, block_hash: bytes) -> bool:
        with self._chain.snapshot() as view:
            return view.number_of(block_hash) is not None


async def take(live: LiveTree, blocks: Sequence[UnverifiedBlock]) -> bool:
    """Make the last of some blocks the head; return True if all of them verify, False, with a line in the
    log, if one does not.

    The parent of the first block is known, and each block is the parent of the next.
    """
    for block in blocks:
        status = await live.judge(block)
        if isinstance(status, DeferredBlock):
            # The tree executes no more blocks beside the head, so the head first moves to the block's parent.
            await live.set_head(block.parent_hash)
            status = await live.judge(block)
        if not isinstance(status, ValidBlock):
            reason = status.error if isinstance(status, InvalidBlock) else "its parent is unknown"
            logger.warning("block %d of another node does not verify: %s", block.number, reason)
            return False
    await live.set_head(blocks[-1].hash)
    return True


def writer_of(present: PresentNodes, connect: Connect | None) -> Upstream | None:
    """Return the process that writes the chain as an upstream; None if it is not present or has no URL."""
    return None if present.leader is None else _upstream(present.leader, connect)


async def send_to_writer(present: PresentNodes, encoded: bytes, connect: Connect | None) -> None:
    """Return once the process that writes the chain has taken a signed transaction.

    Raises:
        SendFailedError: It has not, or is not known.
    """
    upstream = writer_of(present, connect)
    if upstream is None:
        raise SendFailedError("the node that writes this chain is not known here")
    async with running([upstream.client]) as nursery:
        await send_to_all([upstream], encoded, nursery)


def _upstream(node: ClusterNode, connect: Connect | None = None) -> Upstream | None:
    try:
        return named([Client(UpstreamAddress.parse(node.url), connect=connect)])[0]
    except AddressError:
        return None
