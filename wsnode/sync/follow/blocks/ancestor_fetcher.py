"""Fetch of an announced block and its ancestors back to a known one.

An announced block is fetched together with its ancestors that are missing here, in one round trip. The other
ancestors are fetched block by block, by hash.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

import msgspec
import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import UnverifiedBlock
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32, hexadecimal
from wsnode.sync.follow.blocks.any_upstream import all_at_once, first_of
from wsnode.sync.follow.blocks.block_client import (
    UnknownForkError,
    block_if_there,
    block_of_hash,
    block_of_number,
    decoded,
)
from wsnode.sync.follow.upstream import RECENT_HEADS, PeerError, Upstream, Upstreams
from wsnode.upstream.client import Score
from wsnode.upstream.errors import UpstreamError
from wsnode.upstream.link import Link

MAX_BLOCKS: Final = 4096
MAX_BYTES: Final = 256 << 20
"""Maximum number of bytes of blocks that one walk fetches before they are executed."""


class BlockRequest(msgspec.Struct, frozen=True, eq=False):
    """Request of a block from an upstream; `is_over` is set by its answer, also if it has no block yet."""

    upstream: Upstream
    is_over: trio.Event


class AncestorFetcher:
    """Fetcher of unknown ancestors; a second upstream is asked for a block only if the first one is slow."""

    def __init__(self, chain: Chain, upstreams: Upstreams, is_known: Callable[[bytes], bool]) -> None:
        self._chain = chain
        self._upstreams = upstreams
        self._is_known = is_known
        self._asked: dict[Hash32, BlockRequest] = {}

    async def up_to(
        self, upstream: Upstream, link: Link, wanted: Hash32, floor: int, heads: Sequence[Head] = ()
    ) -> list[UnverifiedBlock]:
        """Return the blocks after a known one up to `wanted`, lowest first.

        `heads` has `wanted` if the upstream has announced it, then its `announced_below`. An announced block
        is given up once another block has replaced it.

        Raises:
            UnknownForkError: A block is of a fork that is not known here.
            UpstreamError: A block cannot be had.
            PeerError: The blocks leave our chain below `floor`, or more than `MAX_BLOCKS` back.
        """
        blocks: list[UnverifiedBlock] = []
        ahead: dict[Hash32, UnverifiedBlock] = {}
        announced, below = (heads[0], heads[1:]) if heads else (None, ())
        number, size = 0 if announced is None else announced.number, 0
        while not self._is_known(wanted):
            block = ahead.pop(wanted, None)
            if block is None:
                if blocks:
                    below = self.announced_below(upstream, number)
                fetch = partial(self._block, upstream, link, wanted, announced)
                block, ahead = await self._with_ancestors(fetch, upstream, link, number, below)
            if block is None:
                # The walk of another upstream has brought the block.
                continue
            blocks.append(block)
            size += len(block.body)
            if block.number <= floor:
                raise PeerError(
                    f"its chain leaves ours below block {floor}, which is final here", is_forked=True
                )
            if len(blocks) > MAX_BLOCKS or size > MAX_BYTES:
                raise PeerError(f"its chain leaves ours more than {len(blocks)} blocks back")
            wanted, announced, number = Hash32(block.parent_hash), None, block.number - 1
        blocks.reverse()
        return blocks

    def announced_below(self, upstream: Upstream, number: int) -> list[Head]:
        """Return the unknown blocks that an upstream has announced right below `number`, highest first."""
        found: list[Head] = []
        while (head := upstream.announced_at(number - 1 - len(found))) and not self._is_known(head.hash):
            found.append(head)
        return found

    async def _with_ancestors(
        self,
        fetch: Callable[[], Awaitable[UnverifiedBlock | None]],
        upstream: Upstream,
        link: Link,
        number: int,
        announced: Sequence[Head],
    ) -> tuple[UnverifiedBlock | None, dict[Hash32, UnverifiedBlock]]:
        """Return the block of `fetch`, None if it has none, and by hash the blocks right below `number` that
        the upstream sends meanwhile.

        The blocks below are fetched at the same time, `RECENT_HEADS` at most: the `announced` ones and those
        above our head.
        """
        lowest = number - len(announced)
        above_ours = range(max(self._chain.head.number + 1, number - RECENT_HEADS), lowest)
        if not announced and not above_ours:
            return await fetch(), {}
        asked: list[Callable[[], Awaitable[UnverifiedBlock | None]]] = [
            fetch,
            *(partial(self._ahead, partial(block_if_there, upstream, link, each.hash)) for each in announced),
            *(partial(self._ahead, partial(block_of_number, upstream, each)) for each in above_ours),
        ]
        first, *others = await all_at_once(asked, lambda ask: ask())
        return first, {Hash32(block.hash): block for block in others if block is not None}

    async def _ahead(self, ask: Callable[[], Awaitable[bytes | None]]) -> UnverifiedBlock | None:
        """Return the block that `ask` returns, None if it fails: then it is asked for again by hash."""
        try:
            encoded = await ask()
            return None if encoded is None else (await decoded(self._chain.spec, [encoded]))[0]
        except UpstreamError:
            return None

    async def _block(
        self, upstream: Upstream, link: Link, wanted: Hash32, announced: Head | None
    ) -> UnverifiedBlock | None:
        if (asked := self._asked.get(wanted)) is not None:
            with trio.move_on_after(patience(upstream.client.score, asked.upstream.client.score)):
                await asked.is_over.wait()
            if self._is_known(wanted):
                return None
        asked = self._asked.setdefault(wanted, BlockRequest(upstream, trio.Event()))
        try:
            return await self._fetched(upstream, link, wanted, announced, asked.is_over)
        finally:
            asked.is_over.set()
            self._asked.pop(wanted, None)

    async def _fetched(
        self, upstream: Upstream, link: Link, wanted: Hash32, announced: Head | None, is_over: trio.Event
    ) -> UnverifiedBlock:
        """Return a block from the upstream that announced it, or else from any other upstream."""

        def note_absent() -> None:
            is_over.set()
            upstream.require_unreplaced(announced)

        try:
            encoded = await block_of_hash(upstream, link, wanted, note_absent)
        except UnknownForkError:
            raise
        except UpstreamError as error:
            if error.reason == "invalid":
                raise PeerError(error.detail) from None
            upstream.require_unreplaced(announced)
            others = [other for other in self._upstreams.usable if other is not upstream]
            if not others:
                raise
        else:
            return (await decoded(self._chain.spec, [encoded]))[0]
        return (await first_of(others, lambda other: self._of_another(other, wanted)))[0]

    async def _of_another(self, other: Upstream, wanted: Hash32) -> UnverifiedBlock:
        """Return a block from another upstream than its announcer; quarantine the upstream for a wrong
        block.
        """
        absent = UpstreamError("absent", hexadecimal(wanted))
        if other.link is None:
            raise absent
        try:
            block = (await decoded(self._chain.spec, [await block_of_hash(other, other.link, wanted)]))[0]
        except UpstreamError as error:
            if error.reason != "invalid":
                raise
            other.quarantine(PeerError(error.detail))
            raise absent from None
        if not block.has_own_body:
            why = f"it sent an invalid block: block {block.number} has a body that is not its header's"
            other.quarantine(PeerError(why, permanent=True))
            raise absent
        return block


def patience(mine: Score, other: Score) -> float:
    """Return the seconds for which an upstream waits for another one's answer, 0 for a worse one."""
    return mine.p95 if other.cost <= mine.cost else 0.0
