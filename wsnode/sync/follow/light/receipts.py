"""Receipts of blocks that are not executed: fetched, and held against the block's header."""

from collections.abc import Sequence
from typing import Final

import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import (
    BuiltBlock,
    UnverifiedBlock,
    encode_told_receipts,
    verify_told_block,
)
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.state import ChainSpec, InvalidBlockError
from wsnode.sync.follow.blocks.asking import all_at_once, first_of
from wsnode.sync.follow.blocks.fetching import SHORT, asked_again, is_absent
from wsnode.sync.follow.upstream import Unfit, Upstream, Upstreams
from wsnode.upstream.errors import RefusedError, UpstreamError
from wsnode.upstream.messages import NOTHING

AT_ONCE: Final = 16
"""Blocks whose receipts are asked for, and kept in memory, together."""
METHOD: Final = "eth_getBlockReceipts"


class Receipts:
    """Fetches the receipts of blocks, and quarantines upstreams whose receipts are not the block's."""

    def __init__(self, chain: Chain, upstreams: Upstreams) -> None:
        self._chain = chain
        self._upstreams = upstreams

    async def bring(self, blocks: Sequence[UnverifiedBlock], giver: Upstream | None = None) -> None:
        """Have the chain told of at most `AT_ONCE` blocks, so that it can judge them.

        Raises:
            Unfit: The giver's block is wrong.
            UpstreamError: The receipts of one cannot be had.
        """
        told = self._chain.told
        assert told is not None, "only a light folder is told receipts"
        for block in await self.verified(blocks, giver):
            told.tell(block)

    async def verified(
        self, blocks: Sequence[UnverifiedBlock], giver: Upstream | None = None
    ) -> list[BuiltBlock]:
        """Return blocks with their receipts; the giver of the blocks is asked first.

        Raises:
            Unfit: A block's body is not that of its header, or breaks a rule.
            UpstreamError: The receipts of one cannot be had.
        """
        return await all_at_once(blocks, lambda block: self._of(block, giver))

    async def _of(self, block: UnverifiedBlock, giver: Upstream | None) -> BuiltBlock:
        if not block.has_own_body:
            raise Unfit(f"its block {block.number} has a body that is not its header's", for_good=True)
        fit = self._upstreams.fit
        if giver is not None and giver.is_fit:
            fit.sort(key=lambda upstream: upstream is not giver)
        return (await first_of(fit, lambda upstream: self._from(upstream, block)))[0]

    async def _from(self, upstream: Upstream, block: UnverifiedBlock) -> BuiltBlock:
        judged = await _judged(self._chain.spec, block, await _told(upstream, block.hash))
        if isinstance(judged, BuiltBlock):
            return judged
        if judged.rule in ("receipts_root", "json"):
            unfit = Unfit(f"its receipts of block {block.number} are wrong: {judged}", for_good=True)
            upstream.quarantine(unfit)
            raise UpstreamError("invalid", str(unfit))
        raise UpstreamError("invalid", str(judged))


async def _told(upstream: Upstream, block_hash: bytes) -> bytes:
    """Return the JSON of a block's receipts, asked for again while they are not there yet."""

    async def ask() -> bytes | None:
        try:
            text = await upstream.client.ask_text(METHOD, [hexadecimal(block_hash)], link=upstream.link)
        except RefusedError as error:
            if is_absent(error):
                return None
            raise
        return None if text == NOTHING else text

    return await asked_again(ask, f"the receipts of {hexadecimal(block_hash)}")


async def _judged(spec: ChainSpec, block: UnverifiedBlock, text: bytes) -> BuiltBlock | InvalidBlockError:
    def judge() -> BuiltBlock | InvalidBlockError:
        try:
            row = encode_told_receipts(text)
        except InvalidBlockError as error:
            return error
        return verify_told_block(spec, block, row)

    return judge() if len(text) < SHORT // 4 else await trio.to_thread.run_sync(judge)
