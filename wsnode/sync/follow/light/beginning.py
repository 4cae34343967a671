"""The block that a light folder begins with: a checkpoint, or the one that the upstreams call final."""

import logging
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Final

import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import BuiltBlock
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.head import Head
from wsnode.ethereum.networks import final_total_difficulty
from wsnode.ethereum.primitives.values import BlockNumber, Hash32, hexadecimal
from wsnode.ethereum.state import ChainSpec
from wsnode.ethereum.tree.live import LiveTree, in_thread
from wsnode.sync.follow.blocks.fetching import block_of_hash, head_at
from wsnode.sync.follow.choice import agreed_number
from wsnode.sync.follow.light.receipts import Receipts
from wsnode.sync.follow.marks import FINALIZED_BELOW, below
from wsnode.sync.follow.upstream import Unfit, Upstream, Upstreams
from wsnode.upstream.errors import UpstreamError

GENESIS: Final = BlockNumber(0)

logger = logging.getLogger("wsnode.follow")


class Beginning:
    """Gives a light folder its first block, once enough upstreams can be asked."""

    def __init__(
        self,
        chain: Chain,
        live: LiveTree,
        upstreams: Upstreams,
        receipts: Receipts,
        checkpoint: Hash32 | None = None,
    ) -> None:
        self._chain = chain
        self._live = live
        self._upstreams = upstreams
        self._receipts = receipts
        self.checkpoint = checkpoint
        self._has_begun = chain.has_begun
        self._lock = trio.Lock()

    async def begun(self, agree: int) -> bool:
        """Return whether there is a first block, as which `agree` upstreams have one.

        Raises:
            UpstreamError: `absent`: it cannot be had.
        """
        async with self._lock:
            if not self._has_begun and len(self._upstreams.fit) >= agree:
                await self._begin(agree)
                self._has_begun = True
            return self._has_begun

    async def _begin(self, agree: int) -> None:
        first = await first_block(self._upstreams, agree, self.checkpoint, self._receipts)
        total = total_difficulty_of(self._chain.spec)
        async with self._live.turn():
            with self._live.telling():
                await in_thread(partial(self._chain.begin_at, first, total))
                self._live.tree.reset()
        logger.info("the folder begins at block %s", self._chain.head)


async def first_block(
    upstreams: Upstreams, agree: int, checkpoint: Hash32 | None, receipts: Receipts
) -> BuiltBlock | None:
    """Return the block to begin with, verified by its hash and its receipts; None for the genesis block.

    Raises:
        UpstreamError: `absent`: there is none, or too few upstreams have it.
    """
    fit = [upstream for upstream in upstreams.fit if upstream.link is not None]
    if checkpoint is None:
        head = await _finalized(fit, agree)
        if head.number == GENESIS:
            return None
        checkpoint = head.hash
    failure = "no upstream can be asked"
    for upstream in fit:
        try:
            assert upstream.link is not None
            encoded = await block_of_hash(upstream, upstream.link, checkpoint)
            block = await receipts.of_encoded(encoded, upstream)
        except (Unfit, UpstreamError) as error:
            failure = str(error)
            continue
        if block.difficulty:
            raise UpstreamError("absent", "a light folder begins with a block of proof of stake")
        return block
    # It says nothing of the upstream whose announcement this is done for.
    raise UpstreamError("absent", f"the block to begin with, {hexadecimal(checkpoint)}: {failure}")


async def _finalized(fit: Sequence[Upstream], agree: int) -> Head:
    """Return the highest block that `agree` upstreams have, and have passed with what they call final."""
    told = [head for upstream in fit if (head := await _final_of(upstream)) is not None]
    number = agreed_number([head.number for head in told], agree)
    if number is None:
        raise UpstreamError("absent", f"{len(told)} of {agree} upstreams say what is final")
    support = Counter([await _head_at(upstream, hex(number)) for upstream in fit])
    heads = [head for head in support if head is not None and head.number == number]
    best = max(heads, key=lambda head: support[head], default=None)
    if best is None or support[best] < agree:
        raise UpstreamError("absent", f"fewer than {agree} upstreams have one final block {number}")
    return best


async def _final_of(upstream: Upstream) -> Head | None:
    """Return the block that an upstream calls final, or one far below its head if it calls none so."""
    found = await _head_at(upstream, "finalized")
    latest = None if found is not None else await _head_at(upstream, "latest")
    if latest is None:
        return found
    return await _head_at(upstream, hex(below(latest.number, FINALIZED_BELOW)))


async def _head_at(upstream: Upstream, tag: str) -> Head | None:
    """Return the block that an upstream has at a number or tag, None if it gives none."""
    try:
        return await head_at(upstream, tag)
    except UpstreamError as error:
        logger.debug("%s: block %s: %s", upstream, tag, error)
        return None


def total_difficulty_of(spec: ChainSpec) -> int:
    """Return the total difficulty of blocks of proof of stake.

    Of other chains than those known here it is taken for that of a chain that was never mined.
    """
    genesis = header_fields(spec.genesis_block().header)
    known = final_total_difficulty(spec.genesis_hash)
    return known if known is not None else max(spec.terminal_total_difficulty or 0, genesis.difficulty)
