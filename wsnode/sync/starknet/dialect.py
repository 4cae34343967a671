"""What a session asks of Starknet nodes."""

from collections.abc import Callable
from typing import Final

import trio

from wsnode.ethereum.head import Head
from wsnode.starknet.felt import felt_text
from wsnode.sync.follow.upstream import RECHECK_SECONDS, PeerError, Upstream, Upstreams
from wsnode.sync.starknet.client import block_at, head_of, require_chain, subscribe_heads
from wsnode.sync.starknet.replies import StarknetHead, decode_head
from wsnode.upstream.errors import UpstreamError
from wsnode.upstream.link import Link

GREETING_SECONDS: Final = 15.0
POLL_SECONDS: Final = 0.5
BESIDE_SECONDS: Final = 2.0
"""Subscriptions have been seen to stop without a word, so announcing nodes are asked too."""
ALONE_SECONDS: Final = (1.0, 2.0, 4.0, 8.0, 15.0)
"""How long an only upstream is left alone, at its first wrong block and at those after."""
MOST_RECHECK_SECONDS: Final = 3600.0


class StarknetDialect:
    """Asks nodes of a Starknet chain for what a session needs."""

    polls_beside = True

    def __init__(self, chain_id: str, upstreams: Upstreams, floor: Callable[[], StarknetHead | None]) -> None:
        """`floor` returns the last block of ours that no branch may leave, if one is known."""
        self._chain_id = chain_id
        self._upstreams = upstreams
        self._floor = floor

    async def greet(self, upstream: Upstream, link: Link) -> Head:
        """Return the head of an upstream of our chain.

        Raises:
            PeerError: It is of another chain, speaks another version, or is on another branch for good.
            UpstreamError: It gives no answer.
        """
        with trio.move_on_after(GREETING_SECONDS):
            await require_chain(upstream, link, self._chain_id)
            floor = self._floor()
            if floor is not None:
                theirs = await block_at(upstream, {"block_number": floor.number}, link)
                if theirs is not None and theirs.hash != floor.hash:
                    raise PeerError(
                        f"its block {floor.number} is {felt_text(theirs.hash)}, and ours, which is final "
                        f"on L1, is {felt_text(floor.hash)}",
                        is_forked=True,
                    )
            return await head_of(upstream, link)
        raise UpstreamError("timeout", "the greeting")

    async def subscribe_heads(self, link: Link, hear: Callable[[bytes], None]) -> bool:
        """Have `hear` called with each header that the upstream announces; False where it announces none.

        Raises:
            UpstreamError: The connection was lost.
        """
        return await subscribe_heads(link, hear)

    def announced_head(self, upstream: Upstream, text: bytes) -> Head | None:
        """Return the head that an announced header names.

        Raises:
            UpstreamError: It is malformed.
        """
        return upstream.client.read(decode_head, text)

    async def head(self, upstream: Upstream, link: Link) -> Head | None:
        """Return the head of an upstream.

        Raises:
            UpstreamError: It gives no answer.
        """
        return await head_of(upstream, link)

    def poll_seconds(self, upstream: Upstream) -> float:
        """Return how long to wait between two questions for the head."""
        return BESIDE_SECONDS if upstream.announces_heads else POLL_SECONDS

    def recheck_seconds(self, upstream: Upstream) -> float:
        """Return how long an upstream is left alone, twice as long each time; an only one is never long."""
        upstream.refused_blocks += 1
        times = upstream.refused_blocks
        if len(self._upstreams.all) == 1:
            return ALONE_SECONDS[min(times, len(ALONE_SECONDS)) - 1]
        return min(RECHECK_SECONDS * 2.0 ** min(times - 1, 10), MOST_RECHECK_SECONDS)
