"""From what upstreams announce to the head: fetched, judged, chosen, and made canonical in one change."""

import logging
from functools import partial

import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.tree.live import LiveTree, in_thread
from wsnode.ethereum.tree.statuses import BelowFinalizedError, Invalid, UnknownBlockError, UnknownParent
from wsnode.sync.follow.blocks.walk import Walks
from wsnode.sync.follow.catching_up import CatchingUp
from wsnode.sync.follow.choice import chosen
from wsnode.sync.follow.light.beginning import Beginning
from wsnode.sync.follow.light.receipts import Receipts, kept
from wsnode.sync.follow.pace import Pace
from wsnode.sync.follow.upstream import Unfit, Upstream, Upstreams
from wsnode.sync.follow.verified import VerifiedBlocks
from wsnode.upstream.errors import UpstreamError
from wsnode.upstream.link import Link

logger = logging.getLogger("wsnode.follow")


class Advance:
    """Moves the head of one chain to where enough upstreams are."""

    def __init__(
        self,
        chain: Chain,
        live: LiveTree,
        upstreams: Upstreams,
        catching_up: CatchingUp,
        pace: Pace,
        agree: int,
        beginning: Beginning | None = None,
        receipts: Receipts | None = None,
    ) -> None:
        """A light folder has a `beginning`, and needs `receipts` to judge blocks."""
        self._chain = chain
        self._beginning = beginning
        self._receipts = receipts
        self._live = live
        self._upstreams = upstreams
        self.agree = agree
        self._pace = pace
        self._verified = VerifiedBlocks(chain)
        self._walks = Walks(chain.spec, upstreams, self._verified.__contains__)
        self._catching_up = catching_up
        self._choosing = trio.Lock()
        self._lower_since: float | None = None
        """Since when the upstreams' head is below ours, on the same chain."""
        self.accepts_any = False
        """Whether even what is final may be replaced."""
        self.reorganisations = 0

    @property
    def head(self) -> Head:
        """Return the head."""
        return self._chain.head

    @property
    def floor(self) -> int:
        """Return the number of the block that no branch may leave ours below."""
        if self.accepts_any:
            return 0
        with self._chain.snapshot() as view:
            return view.finalized or 0

    @property
    def is_going_far(self) -> bool:
        """Return whether a long way to the upstreams' head is being gone."""
        return self._catching_up.is_running

    async def take(self, upstream: Upstream, link: Link) -> None:
        """Fetch and judge what an upstream has announced last, and move the head.

        Raises:
            Unfit: Something about its blocks is wrong.
            UpstreamError: They cannot be had.
        """
        announced = upstream.announced
        if announced is None or not await self._begun():
            return
        if announced.hash not in self._verified:
            if self._catching_up.is_far(announced.number):
                await self._come_near()
                announced = upstream.announced or announced
                if self._catching_up.is_far(announced.number):
                    return
            await self._judge_up_to(upstream, link, announced)
        before = upstream.head
        is_ancestor = (
            before is not None and announced.number < before.number and self._is_canonical(announced)
        )
        upstream.verified(announced, is_ancestor=is_ancestor)
        await self.choose()

    async def _begun(self) -> bool:
        return self._beginning is None or await self._beginning.begun(self.agree)

    async def choose(self) -> None:
        """Make the block the head that enough upstreams have, but for the time of a long way there."""
        if self._catching_up.is_running:
            return
        async with self._choosing:
            heads = [upstream.head for upstream in self._upstreams if upstream.is_fit and upstream.head]
            paths = [path for path in map(self._verified.path_to, heads) if path is not None]
            found = chosen(paths, self.agree)
            if isinstance(found, Head):
                self._lower_since = None
                if found != self.head:
                    await self._set_head(found.hash)
                self._verified.forget_below(self.floor)
            elif found is not None:
                await self._stay_or_go_back(found)

    async def mark(self, *, safe: Hash32 | None, finalized: Hash32 | None) -> bool:
        """Mark what is safe and what is final, and return whether these blocks are below the head."""
        async with self._live.turn() as tree:
            # With blocks that are executed and not stored yet, setting this head would take them back.
            if tree.head != (head := self._chain.head):
                return False
            try:
                await in_thread(partial(tree.set_head, head.hash, safe=safe, finalized=finalized))
            except UnknownBlockError:
                # A reorganisation has taken them off the chain.
                return False
        return True

    async def _judge_up_to(self, upstream: Upstream, link: Link, announced: Head) -> None:
        blocks = await self._walks.up_to(upstream, link, announced.hash, self.floor)
        # The next block becomes the head in one go if its upstream's word is enough for that.
        is_enough = upstream.is_fit and self.agree == 1 == len(blocks) and not self._catching_up.is_running
        judge = self._live.append if is_enough else self._live.judge
        for block in blocks:
            if self._receipts is not None:
                await self._receipts.bring([block], [upstream])
            with kept():
                status = await judge(block)
            if isinstance(status, Invalid):
                raise Unfit(f"it sent an invalid block: {status.error}", for_good=True)
            if isinstance(status, UnknownParent):
                # The chain was switched meanwhile; the next announcement walks further back.
                raise UpstreamError("absent", f"the parent of block {block.number}")
            self._verified.add(block)

    async def _come_near(self) -> None:
        """Go a long way, up to where enough upstreams are."""
        while (beside := await self._catching_up.come_near(self._highest)) is not None:
            if not await self._set_head(beside):
                break

    def _highest(self) -> int | None:
        return self._upstreams.highest(self.agree)

    async def _set_head(self, block_hash: Hash32) -> bool:
        """Make a known block the head, and return whether it is valid and leaves what is final."""
        try:
            change = await self._live.set_head(block_hash, keeps_final=not self.accepts_any)
        except BelowFinalizedError as error:
            self._quarantine_at(block_hash, Unfit(f"its head {error}", is_forked=True))
            return False
        if isinstance(change, Invalid):
            self._quarantine_at(block_hash, Unfit(f"it sent an invalid block: {change.error}", for_good=True))
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

    def _quarantine_at(self, block_hash: Hash32, unfit: Unfit) -> None:
        """Follow the upstreams no more whose head is a block."""
        for upstream in self._upstreams:
            if upstream.head is not None and upstream.head.hash == block_hash:
                upstream.quarantine(unfit)

    async def _stay_or_go_back(self, number: int) -> None:
        """Go back to a block of ours, if an upstream's own head went back to it and stays there."""
        backers = [
            upstream
            for upstream in self._upstreams
            if upstream.is_fit and upstream.went_back and upstream.head and upstream.head.number == number
        ]
        if number >= self.head.number or not backers:
            self._lower_since = None
            return
        if len(backers) < max(2, self.agree):
            # First of all a lower head is one node that lags behind a URL shared by several.
            now = trio.current_time()
            self._lower_since = now if self._lower_since is None else self._lower_since
            if now - self._lower_since < self._pace(self._chain):
                return
        self._lower_since = None
        target = backers[0].head
        assert target is not None, "a backer has a head"
        await self._set_head(target.hash)

    def _is_canonical(self, head: Head) -> bool:
        with self._chain.snapshot() as view:
            return view.number_of(head.hash) is not None
