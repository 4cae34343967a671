"""Tracker of the head: blocks of upstreams are fetched and judged, and the chosen one is made the head."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import UnverifiedBlock
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32, hexadecimal
from wsnode.ethereum.state import InvalidBlockError
from wsnode.ethereum.tree.head_writer import LiveTree, in_thread
from wsnode.ethereum.tree.statuses import (
    BelowFinalizedError,
    InvalidBlock,
    UnknownForkchoiceBlockError,
    UnknownParentBlock,
)
from wsnode.sync.follow.block_time import BlockTime
from wsnode.sync.follow.blocks.ancestor_fetcher import AncestorFetcher
from wsnode.sync.follow.blocks.any_upstream import all_at_once
from wsnode.sync.follow.blocks.block_client import (
    UnknownForkError,
    UnsupportedBlockError,
    beyond_rules,
    block_of_number,
    decoded,
)
from wsnode.sync.follow.blocks.verified_blocks import VerifiedBlockIndex
from wsnode.sync.follow.head_policy import HeadPolicy
from wsnode.sync.follow.light.bootstrap import LightBootstrap
from wsnode.sync.follow.light.receipts import Receipts, kept
from wsnode.sync.follow.range_sync import RangeSync
from wsnode.sync.follow.upstream import LowerHead, PeerError, Upstream, Upstreams
from wsnode.upstream.errors import UpstreamError
from wsnode.upstream.link import Link

logger = logging.getLogger("wsnode.follow")


class AttestedBlockInvalidError(Exception):
    """Error of a `block` on the proved chain that breaks a rule, though the sync committee has signed it or a
    descendant; `error` has the rule.
    """

    def __init__(self, block: UnverifiedBlock, error: InvalidBlockError) -> None:
        name = f"block {block.number} ({hexadecimal(Hash32(block.hash))})"
        super().__init__(f"the committee signed {name}, which breaks {error.rule}: {error}")
        self.block, self.error = block, error


class ReplacedFinalError(Exception):
    """Error of a proved chain branching off below this node's finalized block, which it would replace."""


class HeadTracker:
    """Tracker that moves the head of one chain to the block chosen by its policy."""

    def __init__(
        self,
        chain: Chain,
        live: LiveTree,
        upstreams: Upstreams,
        range_sync: RangeSync,
        block_time: BlockTime,
        policy: HeadPolicy,
        beginning: LightBootstrap | None = None,
        receipts: Receipts | None = None,
    ) -> None:
        """Track the head of `chain`; a light folder has a `beginning`, and judges blocks by `receipts`."""
        self._chain = chain
        self._policy = policy
        self._beginning = beginning
        self._receipts = receipts
        self._live = live
        self._upstreams = upstreams
        self._block_time = block_time
        self._verified = VerifiedBlockIndex(chain)
        self._ancestor_fetcher = AncestorFetcher(chain, upstreams, self._verified.__contains__)
        self._range_sync = range_sync
        self._choosing = trio.Lock()
        self._far_takes = 0
        """Number of `take` calls over a long distance that have not come near an upstream's head yet."""
        self._lower = LowerHead(upstreams)
        self.accepts_any = False
        """True if even a finalized block may be replaced."""
        self.reorganisations = 0
        self.stopped_reason: str | None = None
        """Reason why the proved chain is not followed, None if it is."""

    @property
    def head(self) -> Head:
        return self._chain.head

    @property
    def floor(self) -> int:
        """Return the finalized block's number, 0 if even that may be replaced; lower branches are refused."""
        if self.accepts_any:
            return 0
        with self._chain.snapshot() as view:
            return view.finalized or 0

    @property
    def is_going_far(self) -> bool:
        return self._range_sync.is_running

    def stop(self, reason: str) -> None:
        """Stop following, because the proved chain breaks a rule, or replaces a finalized block."""
        if self.stopped_reason != reason:
            logger.error("following stopped: %s", reason)
        self.stopped_reason = reason

    async def take(self, upstream: Upstream, link: Link) -> None:
        """Fetch and judge the last announced block of an upstream, and move the head.

        Raises:
            PeerError: The blocks are invalid, or leave our chain below the finalized block.
            UnknownForkError: A block is of a fork that is not known here; the blocks before it are judged.
            UpstreamError: The upstream does not give the blocks.
        """
        try:
            await self._take(upstream, link)
        except UnknownForkError as error:
            if not any(each.is_beyond for each in self._upstreams):
                logger.error("%s", error.detail)  # noqa: TRY400 - no bug of ours
            upstream.is_beyond, upstream.why = True, error.detail
            upstream.is_unsupported = isinstance(error, UnsupportedBlockError)
            raise

    async def _take(self, upstream: Upstream, link: Link) -> None:
        announced = upstream.announced
        if announced is None or not await self.has_begun():
            return
        if announced.hash not in self._verified:
            if not self._policy.is_within_reach(announced, self.head):
                return
            try:
                judged = await self._take_unknown(upstream, link, announced)
            except UnknownForkError as error:
                raise await self._take_known(upstream, upstream.announced or announced) or error from None
            if judged is None:
                return
            announced = judged
        if upstream.is_beyond:
            upstream.is_beyond, upstream.is_unsupported, upstream.why = False, False, ""
        await self._took(upstream, announced)

    async def _take_unknown(self, upstream: Upstream, link: Link, announced: Head) -> Head | None:
        """Fetch and judge the blocks up to an announced head; return that head, or None if it is too far.

        Over a long distance the upstream's newest head takes the place of `announced`.
        """
        if not (self._policy.follows_word and self._range_sync.is_far(announced.number)):
            await self._judge_up_to(upstream, link, announced)
            return announced
        self._far_takes += 1
        try:
            await self._come_near()
            announced = upstream.announced or announced
            if self._range_sync.is_far(announced.number):
                return None
            await self._judge_up_to(upstream, link, announced)
        finally:
            self._far_takes -= 1
        return announced

    async def _took(self, upstream: Upstream, head: Head) -> None:
        """Note that a head of an upstream is valid, and choose our head again."""
        before = upstream.head
        is_ancestor = before is not None and head.number < before.number and self._is_canonical(head)
        upstream.verified(head, is_ancestor=is_ancestor)
        await self.choose()

    async def _take_known(self, upstream: Upstream, announced: Head) -> UnknownForkError | None:
        """Fetch by number and judge the blocks of an upstream before a fork that is not known here.

        Return the error of the first block of that fork, or None if it was not reached.
        """
        for number in range(self.head.number + 1, announced.number):
            try:
                (block,) = await decoded(self._chain.spec, [await block_of_number(upstream, number)])
            except UnknownForkError as error:
                return error
            if block.parent_hash not in self._verified:
                return None
            await self._judge(upstream, [block])
            await self._took(upstream, Head.of(block))
        return None

    async def has_begun(self) -> bool:
        """Return True if the chain has its first block; a light folder gets it once upstreams agree."""
        return self._beginning is None or await self._beginning.begun(self._policy.beginning_agree)

    def known(self, block_hash: Hash32) -> Head | None:
        """Return the number and hash of a block that is judged valid, or None for any other hash."""
        return self._verified.head_of(block_hash)

    async def bring(self, upstream: Upstream, link: Link, proved: Head) -> None:
        """Fetch and judge a proved block, and its unknown ancestors.

        Raises:
            AttestedBlockInvalidError: A block breaks a rule.
            ReplacedFinalError: The proved chain leaves this node's chain below its finalized block.
            UnknownForkError: A block is of a fork that is not known here.
            PeerError, UpstreamError: The upstream does not give the blocks.
        """
        if self.known(proved.hash) is not None:
            # An announcement has brought the block meanwhile, or the folder has begun with it.
            return
        if proved.number <= self.floor:
            raise ReplacedFinalError(
                f"the proved block {proved.number} is another one than ours, which is final"
            )
        try:
            way = await self._range_sync.reach(proved) if self._range_sync.is_far(proved.number) else []
            if not way:
                await self._judge_up_to(upstream, link, proved, is_proved=True)
        except PeerError as error:
            if not error.is_forked:
                raise
            raise ReplacedFinalError(
                f"the proved chain leaves ours below block {self.floor}, which is final here"
            ) from None
        for step in way:
            if not await self._set_head(step):
                return

    async def choose(self) -> None:
        """Make the policy's choice the head, except while blocks are fetched over a long distance.

        At the end of such a fetch the upstreams' heads are out of date until one is judged.
        """
        if self._far_takes:
            return
        async with self._choosing:
            heads = [upstream.head for upstream in self._upstreams if upstream.is_usable and upstream.head]
            paths = [path for path in map(self._verified.path_to, heads) if path is not None]
            choice = self._policy.choose(paths, self.head, self._verified.path_to)
            if choice is None:
                return
            if isinstance(choice.block, Head):
                self._lower.forget()
                if choice.block != self.head and await self._set_head(choice.block.hash):
                    self.stopped_reason = None
                self._verified.forget_below(self.floor)
            elif choice.is_certain:
                await self._go_back(choice.block)
            else:
                await self._stay_or_go_back(choice.block)

    async def _go_back(self, number: int) -> None:
        """Make canonical block `number` the head, if it is below the head."""
        if number < self.head.number:
            with self._chain.snapshot() as view:
                target = view.hash_of(BlockNumber(number))
            assert target is not None, "a block below the head is canonical"
            await self._set_head(target)

    def has_left(self, head: Head, canonical: Head) -> bool:
        """Return True if the path to a head leaves our chain below block `canonical`."""
        path = self._verified.path_to(head)
        return path is not None and bool(path.beside) and path.root < canonical.number

    async def mark(self, *, safe: Hash32 | None, finalized: Hash32 | None) -> bool:
        """Mark the safe and the finalized block; return False if they are not below the head."""
        async with self._live.turn() as tree:
            # While executed blocks are not stored yet, setting the stored head would take them back.
            if tree.head != (head := self._chain.head):
                return False
            try:
                await in_thread(partial(tree.set_head, head.hash, safe=safe, finalized=finalized))
            except UnknownForkchoiceBlockError:
                # A reorganization has taken the blocks to mark off the chain.
                return False
        return True

    async def _judge_up_to(
        self, upstream: Upstream, link: Link, announced: Head, *, is_proved: bool = False
    ) -> None:
        heads = [announced, *self._ancestor_fetcher.announced_below(upstream, announced.number)]
        asked: list[Callable[[], Awaitable[Sequence[UnverifiedBlock] | None]]] = [
            partial(self._ancestor_fetcher.up_to, upstream, link, announced.hash, self.floor, heads)
        ]
        if self._receipts is not None:
            asked.append(partial(self._receipts.ask_ahead, upstream, [each.hash for each in heads]))
        blocks, *_ = await all_at_once(asked, lambda ask: ask())
        assert blocks is not None, "there are blocks, or an error"
        if self._receipts is not None:
            await self._receipts.ask_ahead(upstream, [block.hash for block in blocks])
        # A single next block becomes the head in the same step as it is judged, if this upstream's word is
        # enough for a head.
        is_enough = (
            self._policy.follows_word
            and upstream.is_usable
            and self._policy.agree == 1 == len(blocks)
            and not self._range_sync.is_running
        )
        await self._judge(upstream, blocks, is_enough=is_enough, is_proved=is_proved)

    async def _judge(
        self,
        upstream: Upstream,
        blocks: Sequence[UnverifiedBlock],
        *,
        is_enough: bool = False,
        is_proved: bool = False,
    ) -> None:
        """Judge blocks of an upstream; with `is_enough` a valid block becomes the head immediately.

        Raises:
            AttestedBlockInvalidError: A block is invalid, and `is_proved`.
            PeerError: A block is invalid.
            UnknownForkError: A block is beyond the rules known here.
            UpstreamError: `absent`: a block's parent is unknown.
        """
        judge = self._live.append if is_enough else self._live.judge
        for block in blocks:
            if self._receipts is not None:
                await self._receipts.bring([block], [upstream])
            with kept():
                status = await judge(block)
            if isinstance(status, InvalidBlock):
                if (beyond := beyond_rules(self._chain.spec, status.error)) is not None:
                    raise beyond
                if is_proved and block.has_own_body:
                    # The block has the hash that was signed, so it was not changed on the way and the
                    # upstream is not at fault.
                    raise AttestedBlockInvalidError(block, status.error)
                raise PeerError(f"it sent an invalid block: {status.error}", permanent=True)
            if isinstance(status, UnknownParentBlock):
                # A switch of the chain has removed the parent meanwhile; the next announcement walks further
                # back.
                raise UpstreamError("absent", f"the parent of block {block.number}")
            self._verified.add(block)

    async def _come_near(self) -> None:
        """Fetch blocks by number up to the height that the policy gives, and set the head to them."""
        while (beside := await self._range_sync.come_near(self._highest)) is not None:
            if not await self._set_head(beside):
                break

    def _highest(self) -> int | None:
        return self._upstreams.highest(self._policy.agree)

    async def _set_head(self, block_hash: Hash32) -> bool:
        """Make a known block the head; return False if it is invalid or replaces a finalized block.

        Then the upstreams with that head are quarantined or, if the head is proved, following stops.
        """
        try:
            change = await self._live.set_head(block_hash, keeps_final=not self.accepts_any)
        except BelowFinalizedError as error:
            if self._policy.follows_word:
                self._quarantine_at(block_hash, PeerError(f"its head {error}", is_forked=True))
            elif self._policy.is_decided:
                self.stop(f"the proved chain {error}")
            return False
        if isinstance(change, InvalidBlock):
            if self._policy.follows_word:
                sent = PeerError(f"it sent an invalid block: {change.error}", permanent=True)
                self._quarantine_at(block_hash, sent)
            else:
                self.stop(f"the proved chain has a block that breaks a rule: {change.error}")
            return False
        if change.removed:
            self.reorganisations += 1
            logger.info(
                "reorganised: %d blocks left, %d joined, the head is %s",
                len(change.removed),
                len(change.added),
                self.head,
            )
        self._verified.forget_below(self.floor)
        return True

    def _quarantine_at(self, block_hash: Hash32, unfit: PeerError) -> None:
        """Quarantine the upstreams whose head is this block."""
        for upstream in self._upstreams:
            if upstream.head is not None and upstream.head.hash == block_hash:
                upstream.quarantine(unfit)

    async def _stay_or_go_back(self, number: int) -> None:
        """Move the head back to canonical block `number`, if upstreams have moved back to it and stay."""
        seconds, agree = self._block_time(self._chain), self._policy.agree
        if (target := self._lower.target(number, self.head.number, agree, seconds)) is not None:
            await self._set_head(target.hash)

    def _is_canonical(self, head: Head) -> bool:
        with self._chain.snapshot() as view:
            return view.number_of(head.hash) is not None
