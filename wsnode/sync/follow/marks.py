"""What is safe and what is final, by the upstreams' word as far as it is about our chain."""

from collections.abc import Sequence
from typing import Final

from wsnode.ethereum.primitives.values import BlockNumber
from wsnode.ethereum.snapshot import Snapshot
from wsnode.sync.follow.blocks.fetching import head_at
from wsnode.sync.follow.choice import agreed_number
from wsnode.sync.follow.upstream import Upstream
from wsnode.upstream.errors import UpstreamError

EVERY_BLOCKS: Final = 32
EVERY_SECONDS: Final = 60.0
SAFE_BELOW: Final = 32
FINALIZED_BELOW: Final = 64
"""How far below the head a block is safe and final where no upstream says so: two epochs, as with anvil."""


async def tagged(upstreams: Sequence[Upstream], tag: str, view: Snapshot, agree: int) -> BlockNumber | None:
    """Return the highest block that `agree` upstreams call `tag` of our chain, None if there is none."""
    numbers: list[BlockNumber] = []
    for upstream in upstreams:
        try:
            told = await head_at(upstream, tag)
        except UpstreamError:
            continue
        if told is not None and view.hash_of(told.number) == told.hash:
            numbers.append(told.number)
    return agreed_number(numbers, agree)


def below(head: int, blocks: int) -> BlockNumber:
    """Return the number of the block so far below the head, the genesis block at the lowest."""
    return BlockNumber(max(head - blocks, 0))
