"""First block of a light folder: a checkpoint, or the block that the upstreams call final."""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import BuiltBlock
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.head import Head
from wsnode.ethereum.networks.table import final_total_difficulty, unknown_chain
from wsnode.ethereum.primitives.values import BlockNumber, Hash32, hexadecimal
from wsnode.ethereum.state import ChainSpec
from wsnode.ethereum.tree.head_writer import LiveTree, in_thread
from wsnode.sync.errors import UnsupportedChainError
from wsnode.sync.follow.blocks.block_client import (
    UnknownForkError,
    UnsupportedBlockError,
    block_of_hash,
    head_at,
)
from wsnode.sync.follow.finality import FINALIZED_BELOW, below
from wsnode.sync.follow.fork_choice import agreed_number
from wsnode.sync.follow.light.receipts import Receipts
from wsnode.sync.follow.upstream import PeerError, Upstream, Upstreams
from wsnode.upstream.errors import UpstreamError

GENESIS: Final = BlockNumber(0)

NOTHING_FINAL: Final = "no block above the genesis block is final, and the genesis block is not known"

UNKNOWN_TOTAL: Final = 1 << 128
"""Total difficulty above any chain's real one, which has at most 80 bits."""

logger = logging.getLogger("wsnode.follow")


class LightBootstrap:
    """Beginning of a light folder, one with a window of verified blocks: it stores the first block once
    `agree` upstreams name the same one.
    """

    def __init__(
        self,
        chain: Chain,
        live: LiveTree,
        upstreams: Upstreams,
        receipts: Receipts,
        checkpoint: Hash32 | None = None,
        proved: Callable[[], Hash32 | None] | None = None,
    ) -> None:
        """Prepare to begin at `checkpoint`, or at the finalized block that `proved` returns once it is
        known.
        """
        self._chain = chain
        self._proved = proved
        self._live = live
        self._upstreams = upstreams
        self._receipts = receipts
        self.checkpoint = checkpoint
        self._has_begun = chain.has_begun
        self._lock = trio.Lock()

    async def begun(self, agree: int) -> bool:
        """Return True if the first block is stored; store it if `agree` upstreams name the same one.

        Raises:
            UpstreamError: `absent` if the block cannot be had.
        """
        async with self._lock:
            is_known = self._proved is None or self._proved() is not None
            if not self._has_begun and is_known and len(self._upstreams.usable) >= agree:
                await self._begin(agree)
                self._has_begun = True
            return self._has_begun

    async def _begin(self, agree: int) -> None:
        spec = self._chain.spec
        checkpoint = self.checkpoint if self._proved is None else self._proved()
        first = await first_block(self._upstreams, agree, checkpoint, self._receipts, spec)
        total = total_difficulty_of(spec)
        async with self._live.turn():
            with self._live.telling():
                await in_thread(partial(self._chain.begin_at, first, total))
                self._live.tree.reset()
        logger.info("the folder begins at block %s", self._chain.head)


async def first_block(
    upstreams: Upstreams, agree: int, checkpoint: Hash32 | None, receipts: Receipts, spec: ChainSpec
) -> BuiltBlock | None:
    """Return the block to begin with, verified by its hash and its receipts; None for the genesis block.

    Raises:
        UnsupportedChainError: It cannot be read, or breaks a rule that the chain may not have.
        UpstreamError: `absent` if there is none, or too few upstreams have it.
    """
    usable = [upstream for upstream in upstreams.usable if upstream.link is not None]
    if checkpoint is None:
        head = await _finalized(usable, agree)
        if head.number == GENESIS:
            if not spec.has_genesis_header:
                raise UpstreamError("absent", NOTHING_FINAL)
            return None
        checkpoint = head.hash
    if checkpoint == spec.genesis_hash and spec.has_genesis_header:
        return None
    failure, unread = "no upstream can be asked", None
    for upstream in usable:
        try:
            assert upstream.link is not None
            encoded = await block_of_hash(upstream, upstream.link, checkpoint)
            block = await receipts.of_encoded(encoded, upstream)
        except UnsupportedBlockError as error:
            # Another upstream may have a body that can be read.
            unread = error.detail
            continue
        except UnknownForkError:
            raise
        except (PeerError, UpstreamError) as error:
            failure = str(error)
            continue
        if block.number == GENESIS:
            raise UpstreamError("absent", NOTHING_FINAL)
        if block.difficulty and not spec.is_sealed_by_authority:
            if (unknown := unknown_chain(spec)) is not None:
                found = (
                    f"block {block.number} has the difficulty {block.difficulty}, by Ethereum's rules it is 0"
                )
                raise UnsupportedChainError(f"{found}. {unknown}")
            raise UpstreamError("absent", "a light folder begins with a block of proof of stake")
        return block
    if unread is not None:
        raise UnsupportedChainError(unread)
    # The reason is `absent`, because the failure is no fault of the upstream whose announcement led to this
    # call.
    raise UpstreamError("absent", f"the block to begin with, {hexadecimal(checkpoint)}: {failure}")


async def _finalized(usable: Sequence[Upstream], agree: int) -> Head:
    """Return the highest block that `agree` upstreams have, at or below their finalized blocks.

    Raises:
        UpstreamError: `absent` if too few upstreams name a finalized block.
    """
    reported = [head for upstream in usable if (head := await _final_of(upstream)) is not None]
    number = agreed_number([head.number for head in reported], agree)
    if number is None:
        raise UpstreamError("absent", f"{len(reported)} of {agree} upstreams name a finalized block")
    support = Counter([await _head_at(upstream, hex(number)) for upstream in usable])
    heads = [head for head in support if head is not None and head.number == number]
    best = max(heads, key=lambda head: support[head], default=None)
    if best is None or support[best] < agree:
        raise UpstreamError("absent", f"fewer than {agree} upstreams have one final block {number}")
    return best


async def _final_of(upstream: Upstream) -> Head | None:
    """Return number and hash of an upstream's finalized block, or of a block `FINALIZED_BELOW` blocks below
    its head if it names none; None without either.
    """
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

    An unknown chain is taken for one without mined blocks. If its blocks have difficulties nevertheless, the
    total is unknown and not shown: it is so high that subtracting them leaves it positive.
    """
    if spec.is_sealed_by_authority:
        return UNKNOWN_TOTAL
    genesis = header_fields(spec.genesis_block().header)
    known = final_total_difficulty(spec.genesis_hash)
    return known if known is not None else max(spec.terminal_total_difficulty or 0, genesis.difficulty)
