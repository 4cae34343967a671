"""Tracker of a Starknet head: announced blocks are fetched and verified, and the chosen ones stored."""

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
from wsnode.sync.starknet.store import ChainWriter, RefusedRootError
from wsnode.sync.starknet.verified_blocks import NOWHERE, BlockVerifier, StarknetSideBlocks, VerifiedSideBlock
from wsnode.upstream.errors import UpstreamError
from wsnode.upstream.link import Link

NEAR_BLOCKS: Final = 16
"""Maximum number of blocks above the head over which a block's parents are fetched one by one, by hash."""
RANGE_BLOCKS: Final = 16
"""Blocks of one request for a range, by number."""
MAX_WALKED: Final = 64
MIN_WAY_BACK: Final = 1024
"""Maximum number of blocks below the head at which another branch may begin, unless the window is longer."""
LOWER_SECONDS: Final = 4.0
"""Seconds for which a single upstream's head must stay below this node's before it counts: two polls."""

logger = logging.getLogger("wsnode.follow")


class StarknetHeadTracker:
    """Tracker that moves the head of one Starknet chain to the highest block of `agree` or more upstreams,
    once it is verified.
    """

    def __init__(
        self,
        chain: StarknetChain,
        writer: ChainWriter,
        verifier: BlockVerifier,
        upstreams: Upstreams,
        agree: int,
        checkpoint: bytes | None = None,
    ) -> None:
        """Track the head of `chain`; an empty light folder begins with the block `checkpoint`, if given."""
        self._chain = chain
        self._writer = writer
        self._verifier = verifier
        self._upstreams = upstreams
        self.agree = agree
        self._checkpoint = checkpoint
        self._beside = StarknetSideBlocks(chain)
        self._lower = LowerHead(upstreams)
        self._choosing = trio.Lock()
        self.reorganisations = 0
        self.floor: StarknetHead | None = None
        """Last block accepted on L1 as upstreams report it: no branch may leave our chain below it."""
        self.stopped_reason: str | None = None
        """Reason why the upstreams are not followed, or None if they are."""

    @property
    def head(self) -> int:
        """Return the number of the head, -1 without a block."""
        return self._writer.head

    async def take(self, upstream: Upstream, _link: Link) -> None:
        """Fetch and verify the last announced block of an upstream, and move the head.

        Raises:
            PeerError: The blocks are invalid, or leave our chain below its last block accepted on L1.
            UpstreamError: The upstream does not give the blocks.
        """
        announced = upstream.announced
        if announced is None:
            return
        if self._beside.find(announced.hash) is None:
            announced = await self._bring(upstream, announced)
        await self._took(upstream, announced)

    async def _bring(self, upstream: Upstream, announced: Head) -> Head:
        """Fetch and verify the blocks up to an announced head; return the last of them.

        It may be another head announced meanwhile, or a lower block on which upstreams must agree first.
        """
        if self.head < 0 and self._writer.is_light:
            begun = await self._begin_empty(upstream, announced)
            if begun == announced:
                return announced
            if begun is not None:
                await self._took(upstream, begun)
        while announced.number - self.head > NEAR_BLOCKS:
            if self._is_out_of_reach(announced):
                return await self._begin(upstream, announced)
            if (base := await self._common_block(upstream, announced)) is None:
                return await self._begin(upstream, announced)
            reached = await self._go_range(upstream, base, announced)
            if reached.number - self.head > 0:
                # The blocks are above the head, because other upstreams must have them before they join the
                # chain.
                return reached
            announced = upstream.announced or announced
        if not await self._walk(upstream, announced):
            base = await self._common_block(upstream, announced)
            if base is None:
                return await self._begin(upstream, announced)
            return await self._go_range(upstream, base, announced)
        return announced

    def _is_out_of_reach(self, announced: Head) -> bool:
        """Return True if a light folder's window below `announced` would contain no stored block."""
        window = self._writer.window
        if window is None or not self._writer.is_light or self._checkpoint is not None:
            return False
        return announced.number - self.head >= window

    async def _begin_empty(self, upstream: Upstream, announced: Head) -> Head | None:
        """Fetch and verify the first block of an empty light folder; return its head.

        None if another upstream's block has become the first one meanwhile.
        """
        first = await self._first_block(upstream, announced)
        async with self._choosing:
            if self.head >= 0:
                return None
            self._beside.add(first)
        return first.head

    async def _begin(self, upstream: Upstream, announced: Head) -> Head:
        """Fetch and verify the first block of a light folder that begins again; return its head."""
        first = await self._first_block(upstream, announced)
        self._beside.add(first)
        return first.head

    async def _first_block(self, upstream: Upstream, announced: Head) -> VerifiedSideBlock:
        """Return the verified first block: an empty folder's checkpoint, or the announced block."""
        if self.head < 0 and self._checkpoint is not None:
            block = await fetch_block(upstream, {"block_hash": felt_text(self._checkpoint)})
        else:
            block = await fetch_announced(upstream, announced)
        proved = await self._verifier.prove(upstream, block)
        return VerifiedSideBlock(proved, await self._verifier.fetch_classes(upstream, proved), is_first=True)

    async def _walk(self, upstream: Upstream, announced: Head) -> bool:
        """Fetch and verify a block and its unknown ancestors, by hash.

        Return False if they are more than `MAX_WALKED`, or reach below the first stored block.

        Raises:
            PeerError: A block is invalid, or the branch leaves our chain below its last block on L1.
            UpstreamError: The upstream does not give a block.
        """
        walked: list[VerifiedStarknetBlock] = []
        wanted = announced
        while (known := self._beside.find(wanted.hash)) is None and wanted.number >= 0:
            if len(walked) >= MAX_WALKED or wanted.number < self._writer.first_block:
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
        """Return the number of our last block that the upstream has too.

        It is -1 if a full folder is empty, and None if a light folder has no such block. The search goes down
        by doubling steps, so it may find an earlier common block than the last.

        Raises:
            PeerError: The branch begins too far below the head, or below the last block accepted on L1.
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
            if self.head - number > max(MIN_WAY_BACK, self._writer.window or 0):
                blocks = max(MIN_WAY_BACK, self._writer.window or 0)
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
        """Fetch and verify the blocks above common block `base` up to an announced head, by number.

        Return the last block. Each range joins the chain once enough upstreams have it.
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
            raise UpstreamError(
                "absent", f"the blocks above {base}, because the upstream's chain now ends with {announced}"
            )
        return reached

    async def _known_at(self, upstream: Upstream, number: int) -> Head | None:
        """Return the upstream's block of a number, None if no other upstream has sent that block yet."""
        if len(self._upstreams.usable) < 2:
            return None
        told = await block_at(upstream, {"block_number": number})
        return told if told is not None and self._beside.find(told.hash) is not None else None

    async def _fetch_range(self, upstream: Upstream, numbers: Sequence[int]) -> Head:
        """Fetch and verify the upstream's blocks with these numbers, and return the last of them.

        Raises:
            UpstreamError: `absent`: a block's parent is unknown, as the upstream has changed its branch.
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

    async def _add(self, upstream: Upstream, block: VerifiedStarknetBlock) -> None:
        classes = await self._verifier.fetch_classes(upstream, block)
        self._beside.add(VerifiedSideBlock(block, classes))

    async def _took(self, upstream: Upstream, head: Head) -> None:
        """Note that a head of an upstream is verified, and choose our head again."""
        before = upstream.head
        with self._chain.snapshot() as view:
            is_canonical = view.number_of(head.hash) is not None
        is_lower = before is not None and head.number < before.number
        upstream.verified(head, is_ancestor=is_lower and is_canonical)
        upstream.refused_blocks = 0
        await self.choose()

    async def choose(self) -> None:
        """Make the highest block of enough upstreams the head; go back to a lower one only if it stays."""
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
        """Make the end of a path the head, in one change of the store.

        If a block's state root is wrong, its upstreams are quarantined instead.
        """
        before = self.head
        blocks = self._beside.blocks_of(path)
        try:
            await self._writer.set_head(path.root, blocks)
        except RefusedRootError as error:
            self._beside.forget(error.block_hash)
            self._quarantine(error)
            return
        self.stopped_reason = None
        self._beside.forget_below(self.head - MAX_WALKED)
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
        """Quarantine the upstreams whose head is the refused block, or a descendant of it."""
        for upstream in self._upstreams:
            if upstream.head is not None and self._beside.path_to(upstream.head) is None:
                upstream.quarantine(PeerError(f"it sent an invalid block: {error}"))
