"""Starknet's part of a session with an upstream: checks its chain, asks for heads, and sets the pauses."""

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
"""Seconds between polls of announcing nodes: their subscriptions have been seen to stop silently."""
ALONE_SECONDS: Final = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Seconds of quarantine of the only upstream after its first invalid block, its second, and so on."""
MAX_RECHECK_SECONDS: Final = 3600.0


class StarknetDialect:
    """Requests of a session to nodes of a Starknet chain."""

    polls_beside = True

    def __init__(self, chain_id: str, upstreams: Upstreams, floor: Callable[[], StarknetHead | None]) -> None:
        """Check nodes against `chain_id` and `floor`: it returns our last block accepted on L1, or None."""
        self._chain_id = chain_id
        self._upstreams = upstreams
        self._floor = floor

    async def greet(self, upstream: Upstream, link: Link) -> Head:
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
        raise UpstreamError("timeout", f"its chain was not identified within {GREETING_SECONDS:g} s")

    async def subscribe_heads(self, link: Link, hear: Callable[[bytes], None]) -> bool:
        return await subscribe_heads(link, hear)

    def announced_head(self, upstream: Upstream, text: bytes) -> Head | None:
        return upstream.client.read(decode_head, text)

    async def head(self, upstream: Upstream, link: Link) -> Head | None:
        return await head_of(upstream, link)

    def poll_seconds(self, upstream: Upstream) -> float:
        return BESIDE_SECONDS if upstream.announces_heads else POLL_SECONDS

    def recheck_seconds(self, upstream: Upstream) -> float:
        """Return the seconds before a quarantined upstream is checked again, and count the quarantine.

        They double each time, from 60 to 3,600; of the only upstream they are `ALONE_SECONDS`.
        """
        upstream.refused_blocks += 1
        times = upstream.refused_blocks
        if len(self._upstreams.all) == 1:
            return ALONE_SECONDS[min(times, len(ALONE_SECONDS)) - 1]
        return min(RECHECK_SECONDS * 2.0 ** min(times - 1, 10), MAX_RECHECK_SECONDS)
