"""From what upstreams announce to the head of a Starknet chain: fetched, proved, chosen, stored at once."""

import logging
from collections.abc import Sequence
from typing import Final

import trio

from wsnode.ethereum.head import Head
from wsnode.starknet.block import VerifiedStarknetBlock
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.felt import ZERO, felt_text
from wsnode.sync.follow.blocks.any_upstream import all_at_once
from wsnode.sync.follow.fork_choice import Path, chosen
from wsnode.sync.follow.upstream import LowerHead, PeerError, Upstream, Upstreams
from wsnode.sync.starknet.client import block_at, fetch_announced, fetch_block
from wsnode.sync.starknet.replies import StarknetHead, head_at
from wsnode.sync.starknet.side_blocks import NOWHERE, ProvedBlock, SideBlocks
from wsnode.sync.starknet.store import ChainWriter, RefusedRootError
from wsnode.sync.starknet.verifying import BlockVerifier
from wsnode.upstream.errors import UpstreamError
from wsnode.upstream.link import Link

NEAR_BLOCKS: Final = 16
"""Up to there above the head the way is walked from a block to its parents."""
RANGE_BLOCKS: Final = 16
"""Blocks that are asked for at once, by number."""
MOST_WALKED: Final = 64
LEAST_WAY_BACK: Final = 1024
"""How far below the head another branch may begin, if the window is no longer."""
LOWER_SECONDS: Final = 4.0
"""How long one upstream's head must be below ours until that is no lag: two of its polls."""

logger = logging.getLogger("wsnode.follow")


class StarknetHeadTracker:
    """Moves the head of one chain to where enough upstreams are."""

    def __init__(
        self,
        chain: StarknetChain,
        writer: ChainWriter,
        verifier: BlockVerifier,
        upstreams: Upstreams,
        agree: int,
        checkpoint: bytes | None = None,
    ) -> None:
        """A light folder without a block begins with the one of the hash `checkpoint`, if one is given."""
        self._chain = chain
        self._writer = writer
        self._verifier = verifier
        self._upstreams = upstreams
        self.agree = agree
        self._checkpoint = checkpoint
        self._beside = SideBlocks(chain)
        self._lower = LowerHead(upstreams)
        self._choosing = trio.Lock()
        self.reorganisations = 0
        self.floor: StarknetHead | None = None
        """The last block that L1 has accepted, by the upstreams' word: no branch may leave ours below it."""
        self.stopped_reason: str | None = None
        """Why the upstreams are not followed, if they are not."""

    @property
    def head(self) -> int:
        """Return the number of the head, -1 without a block."""
        return self._writer.head

    async def take(self, upstream: Upstream, _link: Link) -> None:
        """Fetch and prove what an upstream has announced last, and move the head.

        Raises:
            PeerError: Something about its blocks is wrong.
            UpstreamError: They cannot be had.
        """
        announced = upstream.announced
        if announced is None:
            return
        if self._beside.find(announced.hash) is None:
            announced = await self._bring(upstream, announced)
        await self._took(upstream, announced)

    async def _bring(self, upstream: Upstream, announced: Head) -> Head:
        """Prove a head and the way to it, and return it, or the one that it has announced since."""
        if self.head < 0 and self._writer.is_light:
            begun = await self._begin(upstream, announced)
            if begun == announced:
                return announced
            await self._took(upstream, begun)
        while announced.number - self.head > NEAR_BLOCKS:
            if self._is_out_of_reach(announced):
                return await self._begin(upstream, announced)
            if (base := await self._common_block(upstream, announced)) is None:
                return await self._begin(upstream, announced)
            reached = await self._go_range(upstream, base, announced)
            if reached.number - self.head > 0:
                # Other upstreams must agree first.
                return reached
            announced = upstream.announced or announced
        if not await self._walk(upstream, announced):
            base = await self._common_block(upstream, announced)
            if base is None:
                return await self._begin(upstream, announced)
            return await self._go_range(upstream, base, announced)
        return announced

    def _is_out_of_reach(self, announced: Head) -> bool:
        """Return whether a light folder's window would have no block of those that it has."""
        window = self._writer.window
        return window is not None and self._checkpoint is None and announced.number - self.head >= window

    async def _begin(self, upstream: Upstream, announced: Head) -> Head:
        """Prove a block with which a light folder begins, or begins again, and return it."""
        if self.head < 0 and self._checkpoint is not None:
            block = await fetch_block(upstream, {"block_hash": felt_text(self._checkpoint)})
        else:
            block = await fetch_announced(upstream, announced)
        proved = await self._verifier.prove(upstream, block)
        await self._add(upstream, proved, is_first=True)
        return head_at(proved.number, proved.hash)

    async def _walk(self, upstream: Upstream, announced: Head) -> bool:
        """Prove a block and those below it that are unknown; return False where these are too many."""
        walked: list[VerifiedStarknetBlock] = []
        wanted = announced
        while (known := self._beside.find(wanted.hash)) is None and wanted.number >= 0:
            if len(walked) >= MOST_WALKED or wanted.number < self._writer.first_block:
                return False
            self._require_above_floor(wanted.number)
            block = await fetch_announced(upstream, wanted)
            proved = await self._verifier.prove(upstream, block)
            if proved.number != wanted.number:
                raise PeerError(f"it sent an invalid block: {wanted} has the number {proved.number}")
            walked.append(proved)
            wanted = head_at(proved.number - 1, proved.header.parent_hash or ZERO)
        if known is None and self.head >= 0:
            raise PeerError("its first block is another one than ours", is_forked=True)
        for block in reversed(walked):
            if known is not None:
                self._verifier.link(block, known)
            await self._add(upstream, block)
            known = (block.number, block.hash, block.new_root)
        return True

    def _require_above_floor(self, number: int) -> None:
        floor = self.floor
        if floor is not None and number <= floor.number and floor.number <= self.head:
            raise PeerError(f"its chain leaves ours below block {floor.number}, final on L1", is_forked=True)

    async def _common_block(self, upstream: Upstream, announced: Head) -> int | None:
        """Return the number of the last block of ours that an upstream has, -1 for none of a full folder.

        None means that a light folder has none that it has too.

        Raises:
            PeerError: That is too far below the head, or below what L1 has accepted.
        """
        number, step = min(self.head, announced.number), 1
        lowest = self._writer.first_block
        while number >= lowest:
            theirs = await block_at(upstream, {"block_number": number})
            with self._chain.snapshot() as view:
                row = view.block(number)
            if theirs is not None and row is not None and theirs.hash == row.hash:
                return number
            self._require_above_floor(number)
            if self.head - number > max(LEAST_WAY_BACK, self._writer.window or 0):
                blocks = max(LEAST_WAY_BACK, self._writer.window or 0)
                raise PeerError(f"its chain left ours more than {blocks} blocks ago", is_forked=True)
            if number == lowest:
                break
            number, step = max(lowest, number - step), 2 * step
        if self._writer.is_light:
            return None
        if self.head >= 0:
            raise PeerError(f"its block {lowest} is another one than ours, the first", is_forked=True)
        return NOWHERE

    async def _go_range(self, upstream: Upstream, base: int, announced: Head) -> Head:
        """Go to an announced head by ranges of numbers, from a common block on; return the end of the way.

        Each range becomes a part of the chain once enough upstreams have it.
        """
        reached: Head | None = None
        while base < announced.number:
            last = min(base + RANGE_BLOCKS, announced.number)
            reached = await self._known_at(upstream, last)
            if reached is None:
                reached = await self._fetch_range(upstream, range(base + 1, last + 1))
            await self._took(upstream, reached)
            base, announced = last, upstream.announced or announced
        if reached is None:
            raise UpstreamError("absent", f"blocks above {base}, which {announced} has replaced")
        return reached

    async def _known_at(self, upstream: Upstream, number: int) -> Head | None:
        """Return the block that an upstream has at a number, if another one has brought it already."""
        if len(self._upstreams.usable) < 2:
            return None
        told = await block_at(upstream, {"block_number": number})
        return told if told is not None and self._beside.find(told.hash) is not None else None

    async def _fetch_range(self, upstream: Upstream, numbers: Sequence[int]) -> Head:
        """Prove the blocks that an upstream has at these numbers, and return the last of them.

        Raises:
            UpstreamError: `absent`: they are no chain, as the upstream has gone over to another one.
        """

        async def prove(number: int) -> VerifiedStarknetBlock:
            block = await fetch_block(upstream, {"block_number": number})
            return await self._verifier.prove(upstream, block)

        blocks = await all_at_once(numbers, prove)
        for block in blocks:
            parent = block.header.parent_hash or ZERO
            known = self._beside.find(parent)
            if known is None and block.number > 0:
                raise UpstreamError("absent", f"the parent of block {block.number}")
            if known is not None:
                self._verifier.link(block, known)
            await self._add(upstream, block)
        return head_at(blocks[-1].number, blocks[-1].hash)

    async def _add(self, upstream: Upstream, block: VerifiedStarknetBlock, *, is_first: bool = False) -> None:
        classes = await self._verifier.fetch_classes(upstream, block)
        self._beside.add(ProvedBlock(block, classes, is_first))

    async def _took(self, upstream: Upstream, head: Head) -> None:
        """Take note that a head of an upstream is proved, and choose ours again."""
        before = upstream.head
        with self._chain.snapshot() as view:
            is_canonical = view.number_of(head.hash) is not None
        is_lower = before is not None and head.number < before.number
        upstream.verified(head, is_ancestor=is_lower and is_canonical)
        upstream.refused_blocks = 0
        await self.choose()

    async def choose(self) -> None:
        """Make the block the head that enough upstreams have."""
        async with self._choosing:
            heads = [each.head for each in self._upstreams if each.is_usable and each.head]
            paths = [path for path in map(self._beside.path_to, heads) if path is not None]
            found = chosen(paths, self.agree)
            if isinstance(found, Head):
                self._lower.forget()
                if (path := self._beside.path_to(found)) is not None:
                    await self._set_head(path)
            elif found is not None:
                target = self._lower.target(found, self.head, self.agree, LOWER_SECONDS)
                if target is not None and found >= 0:
                    await self._set_head(Path(found))

    async def _set_head(self, path: Path) -> None:
        """Make the end of a way the head, in one change of the store."""
        before = self.head
        blocks = self._beside.blocks_of(path)
        try:
            await self._writer.set_head(path.root, blocks)
        except RefusedRootError as error:
            self._beside.forget(error.block_hash)
            self._quarantine(error)
            return
        self.stopped_reason = None
        self._beside.forget_below(self.head - MOST_WALKED)
        for proved in blocks:
            self._beside.drop(proved.block.hash)
        if path.root < before:
            self.reorganisations += 1
            logger.info(
                "reorganised: %d blocks left, %d joined, the head is %d",
                before - path.root,
                len(blocks),
                self.head,
            )

    def _quarantine(self, error: RefusedRootError) -> None:
        """Follow the upstreams no more whose head leads over a block that breaks a rule."""
        for upstream in self._upstreams:
            if upstream.head is not None and self._beside.path_to(upstream.head) is None:
                upstream.quarantine(PeerError(f"it sent an invalid block: {error}"))
