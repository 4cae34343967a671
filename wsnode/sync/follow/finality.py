"""Safe and finalized blocks: by proof, or by the word of upstreams on our chain."""

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.sync.follow.beacon.anchor import HeadAnchor
from wsnode.sync.follow.blocks.block_client import head_at
from wsnode.sync.follow.fork_choice import agreed_number
from wsnode.sync.follow.upstream import Upstream, Upstreams
from wsnode.upstream.errors import UpstreamError

EVERY_BLOCKS: Final = 32
EVERY_SECONDS: Final = 60.0
SAFE_BELOW: Final = 32
FINALIZED_BELOW: Final = 64
"""Depth of the finalized block below the head where no upstream names one: two epochs, as with anvil."""


class SetFinality(Protocol):
    """Function that marks the safe and the finalized block in the chain; it returns False if the head has
    moved meanwhile.
    """

    async def __call__(self, *, safe: Hash32 | None, finalized: Hash32 | None) -> bool: ...


class FinalityTracker:
    """Tracker that asks upstreams for the safe and the finalized block at intervals, as the head moves on,
    and marks them in the chain.
    """

    def __init__(self, chain: Chain, upstreams: Upstreams, mark: SetFinality) -> None:
        self._chain = chain
        self._upstreams = upstreams
        self._mark = mark
        self._marked: tuple[int, float] | None = None
        """Block number and time at which upstreams were asked last."""

    async def follow(self, head: Head, agree: int) -> None:
        """Mark blocks below the head, if `EVERY_BLOCKS` or `EVERY_SECONDS` have passed."""
        now = trio.current_time()
        if self._is_due(head.number, now):
            self._marked = head.number, now
            if not await self._mark_below(head, agree):
                self._marked = None

    def _is_due(self, number: int, now: float) -> bool:
        if self._marked is None:
            return True
        blocks, seconds = number - self._marked[0], now - self._marked[1]
        return abs(blocks) >= EVERY_BLOCKS or (blocks != 0 and seconds >= EVERY_SECONDS)

    async def _mark_below(self, head: Head, agree: int) -> bool:
        usable = self._upstreams.usable
        # The upstreams are asked before a snapshot is opened: while one is open, rows that the chain deletes
        # keep their place in the file.
        safes, finals = await heads_tagged(usable, "safe"), await heads_tagged(usable, "finalized")
        with self._chain.snapshot() as view:
            safe, finalized = agreed(safes, view, agree), agreed(finals, view, agree)
            before = view.finalized or 0
            final = max(below(head.number, FINALIZED_BELOW) if finalized is None else finalized, before)
            secure = max(below(head.number, SAFE_BELOW) if safe is None else safe, final)
            marks = view.hash_of(secure), view.hash_of(final)
        return await self._mark(safe=marks[0], finalized=marks[1])


class ProvedFinality:
    """Tracker that marks the safe and the finalized block in the chain as the light client proves them, after
    each change of either.
    """

    def __init__(self, chain: Chain, anchor: HeadAnchor, mark: SetFinality) -> None:
        self._chain = chain
        self._anchor = anchor
        self._mark = mark
        self._marked: tuple[Hash32 | None, Hash32 | None] | None = None

    async def follow(self) -> None:
        """Mark proved blocks that are canonical here and not below the finalized one."""
        with self._chain.snapshot() as view:
            before = view.finalized or 0
            finalized = self._anchor.finalized
            marks = (
                _newest(view, self._anchor.safe_blocks, before),
                _newest(view, () if finalized is None else (finalized,), before),
            )
        if marks not in (self._marked, (None, None)) and await self._mark(safe=marks[0], finalized=marks[1]):
            self._marked = marks


def _newest(view: Snapshot, blocks: Iterable[Hash32], before: int) -> Hash32 | None:
    """Return the first of some blocks that is canonical; None if it is below block `before`, or none is."""
    found = ((view.number_of(each), each) for each in blocks)
    number, block_hash = next((each for each in found if each[0] is not None), (None, None))
    return None if number is None or number < before else block_hash


async def heads_tagged(upstreams: Sequence[Upstream], tag: str) -> list[Head]:
    """Return the blocks that upstreams name by `tag`; an upstream without an answer is left out."""
    heads: list[Head] = []
    for upstream in upstreams:
        try:
            head = await head_at(upstream, tag)
        except UpstreamError:
            continue
        if head is not None:
            heads.append(head)
    return heads


def agreed(heads: Sequence[Head], view: Snapshot, agree: int) -> BlockNumber | None:
    """Return the highest block of our chain that `agree` of these heads are at or above, None if none is."""
    numbers = [head.number for head in heads if view.hash_of(head.number) == head.hash]
    return agreed_number(numbers, agree)


def below(head: int, blocks: int) -> BlockNumber:
    """Return the number of the block `blocks` below the head, 0 at the lowest."""
    return BlockNumber(max(head - blocks, 0))
