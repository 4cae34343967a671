"""Lower end of a window: blocks below it are pruned, and a light folder is filled down to it."""

import logging
from typing import Final

import trio

from wsnode.starknet.block import VerifiedStarknetBlock
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.felt import felt_text
from wsnode.sync.follow.blocks.any_upstream import all_at_once
from wsnode.sync.follow.storage_retry import StorageRetry
from wsnode.sync.follow.upstream import PeerError, Upstream, Upstreams
from wsnode.sync.starknet.client import fetch_block
from wsnode.sync.starknet.side_blocks import VerifiedSideBlock
from wsnode.sync.starknet.store import ChainWriter
from wsnode.sync.starknet.verifying import BlockVerifier
from wsnode.untrusted.repeated_warning import RepeatedWarning
from wsnode.upstream.errors import UpstreamError

AT_ONCE: Final = 16
REST_SECONDS: Final = 0.5
FAILED_SECONDS: Final = 2.0

logger = logging.getLogger("wsnode.follow")


class StarknetWindow:
    """Task that prunes the blocks below a window, and adds older ones to a light folder down to its start."""

    def __init__(
        self,
        chain: StarknetChain,
        writer: ChainWriter,
        verifier: BlockVerifier,
        upstreams: Upstreams,
        storage_retry: StorageRetry,
    ) -> None:
        self._chain = chain
        self._writer = writer
        self._verifier = verifier
        self._upstreams = upstreams
        self._storage_retry = storage_retry
        self._failures = RepeatedWarning(logger, trio.current_time)

    async def run(self) -> None:
        while True:
            try:
                has_more = await self._storage_retry.until_stored(self.step)
            except UpstreamError as error:
                self._failures.say("filling the window: %s", error)
                await trio.sleep(FAILED_SECONDS)
                continue
            await trio.sleep(0 if has_more else REST_SECONDS)

    async def step(self) -> bool:
        """Add or prune a few blocks, and return True if there may be more to do.

        Raises:
            UpstreamError: No upstream gives the blocks.
        """
        writer = self._writer
        if writer.head < 0:
            return False
        if writer.is_light and writer.first_block > writer.wanted_first:
            return await self._fill(writer.first_block)
        return await writer.prune()

    async def _fill(self, first: int) -> bool:
        """Fetch and store up to `AT_ONCE` blocks below block `first`, from the best upstream that has them;
        return True if they are stored.
        """
        with self._chain.snapshot() as view:
            row = view.block(first)
        if row is None or row.parent_hash is None:
            return False
        lowest = max(self._writer.wanted_first, first - AT_ONCE)
        failure = UpstreamError("unreachable", "there is no upstream to ask")
        for upstream in self._upstreams.usable:
            try:
                blocks = await self._fetch(upstream, range(first - 1, lowest - 1, -1), row.parent_hash)
            except PeerError as error:
                upstream.quarantine(error)
            except UpstreamError as error:
                failure = error
            else:
                await self._writer.prepend(blocks)
                return True
        raise failure

    async def _fetch(self, upstream: Upstream, numbers: range, parent: bytes) -> list[VerifiedSideBlock]:
        """Fetch and verify the blocks with these numbers; each has to be the parent of the one before.

        `parent` is the hash of the first of them.

        Raises:
            PeerError: A block or class is invalid.
            UpstreamError: The upstream does not give the blocks.
        """

        async def prove(number: int) -> VerifiedStarknetBlock:
            return await self._verifier.prove(upstream, await fetch_block(upstream, {"block_number": number}))

        found = await all_at_once(numbers, prove)
        linked: list[VerifiedSideBlock] = []
        for number, block in zip(numbers, found, strict=True):
            if block.hash != parent:
                # It is on another branch at the moment: a number is not enough.
                block = await self._verifier.prove(
                    upstream, await fetch_block(upstream, {"block_hash": felt_text(parent)})
                )
            if block.number != number:
                raise PeerError(f"it sent an invalid block: {felt_text(parent)} has another number")
            classes = await self._verifier.fetch_classes(upstream, block)
            linked.append(VerifiedSideBlock(block, classes))
            parent = block.header.parent_hash or b""
        return linked
