"""Receipts of blocks that are not executed: fetched, and held against the block's header."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import (
    BuiltBlock,
    UnverifiedBlock,
    encode_told_receipts,
    verify_told_block,
)
from wsnode.ethereum.execution import NoReceiptsError
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.state import ChainSpec, InvalidBlockError
from wsnode.sync.follow.blocks.asking import all_at_once, first_of
from wsnode.sync.follow.blocks.fetching import SHORT, asked_again, decoded, is_absent
from wsnode.sync.follow.upstream import Unfit, Upstream, Upstreams
from wsnode.upstream.errors import RefusedError, UpstreamError
from wsnode.upstream.messages import NOTHING

AT_ONCE: Final = 16
"""Blocks whose receipts are asked for, and kept in memory, together."""
METHOD: Final = "eth_getBlockReceipts"


@contextmanager
def kept() -> Iterator[None]:
    """Have blocks judged with the receipts that were brought.

    Raises:
        UpstreamError: Those of one are forgotten by now, and can be brought again.
    """
    try:
        yield
    except NoReceiptsError as error:
        raise UpstreamError("absent", str(error)) from None


class Receipts:
    """Fetches the receipts of blocks, and quarantines upstreams whose receipts are not the block's."""

    def __init__(self, chain: Chain, upstreams: Upstreams) -> None:
        self._chain = chain
        self._upstreams = upstreams

    async def bring(self, blocks: Sequence[UnverifiedBlock], givers: Sequence[Upstream]) -> None:
        """Give the chain the receipts of at most `AT_ONCE` blocks, so that it can judge them.

        Raises:
            Unfit: A block is wrong; its giver is quarantined.
            UpstreamError: The receipts of one cannot be had.
        """
        told = self._chain.told
        assert told is not None, "only a light folder is given receipts"
        told.tell(await self.verified(blocks, givers))

    async def of_encoded(self, encoded: bytes, giver: Upstream) -> BuiltBlock:
        """Return a block with its receipts, out of its RLP.

        Raises:
            Unfit: The block is wrong; its giver is quarantined.
            UpstreamError: Its receipts cannot be had.
        """
        try:
            blocks = await decoded(self._chain.spec, [encoded])
        except UpstreamError as error:
            raise _quarantined(giver, f"it sent a malformed block: {error.detail}") from None
        return (await self.verified(blocks, [giver]))[0]

    async def verified(
        self, blocks: Sequence[UnverifiedBlock], givers: Sequence[Upstream]
    ) -> list[BuiltBlock]:
        """Return blocks with their receipts; the giver of a block is asked first for its receipts.

        Raises:
            Unfit: A block's body is not that of its header; its giver is quarantined.
            UpstreamError: The receipts of one cannot be had.
        """
        return await all_at_once(zip(blocks, givers, strict=True), lambda each: self._of(*each))

    async def _of(self, block: UnverifiedBlock, giver: Upstream) -> BuiltBlock:
        if not block.has_own_body:
            raise _quarantined(giver, f"its block {block.number} has a body that is not its header's")
        fit = sorted(self._upstreams.fit, key=lambda upstream: upstream is not giver)
        return (await first_of(fit, lambda upstream: self._from(upstream, block)))[0]

    async def _from(self, upstream: Upstream, block: UnverifiedBlock) -> BuiltBlock:
        judged = await _judged(self._chain.spec, block, await _told(upstream, block.hash))
        if isinstance(judged, BuiltBlock):
            return judged
        if judged.rule in ("receipts_root", "json"):
            unfit = _quarantined(upstream, f"its receipts of block {block.number} are wrong: {judged}")
            raise UpstreamError("invalid", str(unfit))
        raise UpstreamError("invalid", str(judged))


def _quarantined(upstream: Upstream, why: str) -> Unfit:
    """Quarantine an upstream for good, and return why as an exception."""
    unfit = Unfit(why, for_good=True)
    upstream.quarantine(unfit)
    return unfit


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
