"""Fetch of the proved block by its hash, with its unknown ancestors; once judged it is the anchor's head."""

import logging
from typing import Final

import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32, hexadecimal
from wsnode.sync.follow.beacon.anchor import HeadAnchor
from wsnode.sync.follow.blocks.any_upstream import first_of
from wsnode.sync.follow.blocks.block_client import UnknownForkError, block_of_hash, decoded
from wsnode.sync.follow.head_tracker import AttestedBlockInvalidError, HeadTracker, ReplacedFinalError
from wsnode.sync.follow.storage_retry import StorageRetry
from wsnode.sync.follow.upstream import PeerError, Upstream, Upstreams
from wsnode.untrusted.repeated_warning import RepeatedWarning
from wsnode.upstream.errors import UpstreamError

ELSEWHERE_SLOTS: Final = 3

logger = logging.getLogger("wsnode.follow")


class ProvedHeadSync:
    """Fetcher of each block signed by the sync committee, from any upstream that has it."""

    def __init__(
        self, chain: Chain, upstreams: Upstreams, anchor: HeadAnchor, head_tracker: HeadTracker
    ) -> None:
        self._chain = chain
        self._upstreams = upstreams
        self._anchor = anchor
        self._head_tracker = head_tracker
        self._failures = RepeatedWarning(logger, trio.current_time)
        self._left: dict[Upstream, int] = {}
        """Slot of the clock since which an upstream's head is off the proved chain, by upstream."""

    async def run(self, storage_retry: StorageRetry) -> None:
        while True:
            changed = self._anchor.changed
            await storage_retry.until_stored(self.step)
            self._note_elsewhere()
            with trio.move_on_after(self._anchor.pause_seconds):
                await changed.wait()

    async def step(self) -> None:
        """Fetch and judge the newest proved block, and choose the head again.

        Following stops if the proved chain is invalid or replaces a finalized block.
        """
        if (forked := self._anchor.forked) is not None:
            self._head_tracker.stop(forked)
        wanted = self._anchor.wanted
        if wanted is None or self._anchor.is_catching_up or self._head_tracker.stopped_reason is not None:
            return
        if self._anchor.head is None or self._anchor.head.hash != wanted:
            try:
                if not await self._brought(wanted):
                    return
            except AttestedBlockInvalidError as error:
                self._head_tracker.stop(str(error))
                return
            except ReplacedFinalError as error:
                # Following goes on if another block has been proved meanwhile, which decides, or if the
                # proofs are behind.
                if self._anchor.wanted == wanted and self._anchor.is_fresh:
                    self._head_tracker.stop(str(error))
                return
            except UnknownForkError as error:
                self._failures.say("%s", error.detail)
                return
            except UpstreamError as error:
                self._failures.say("the proved block %s: %s", hexadecimal(wanted), error)
                return
            # Blocks announced above the proved block can be judged from now on.
            for upstream in self._upstreams.usable:
                upstream.woken.set()
        await self._head_tracker.choose()

    def _note_elsewhere(self) -> None:
        """Mark upstreams with a head off the proved chain for at least `ELSEWHERE_SLOTS` slots."""
        slot, proved = self._anchor.clock_slot, self._anchor.head
        if slot is None or proved is None or proved.number > self._chain.head.number:
            return
        heads = {each: each.head for each in self._upstreams if each.is_usable and each.head is not None}
        left = [each for each, head in heads.items() if self._head_tracker.has_left(head, proved)]
        self._left = {each: self._left.get(each, slot) for each in left}
        for upstream in self._upstreams:
            upstream.is_elsewhere = upstream in self._left and slot - self._left[upstream] >= ELSEWHERE_SLOTS

    async def _brought(self, wanted: Hash32) -> bool:
        """Fetch and judge the block and its ancestors; return True if the block is valid and here."""
        if (known := self._head_tracker.known(wanted)) is not None:
            self._anchor.reached(known)
            return True
        usable = [upstream for upstream in self._upstreams.usable if upstream.link is not None]
        try:
            head, giver = await first_of(usable, lambda each: self._located(each, wanted))
        except UpstreamError:
            # No upstream has the block, or none can be asked: for tasks that wait for the head both are the
            # same.
            self._anchor.missing()
            return False
        self._anchor.located(head)
        if not await self._head_tracker.has_begun():
            return False
        if self._is_below_window(head) or giver.link is None:
            return False
        try:
            await self._head_tracker.bring(giver, giver.link, head)
        except PeerError as unfit:
            giver.quarantine(unfit)
            return False
        if self._head_tracker.known(wanted) is None:
            return False
        self._anchor.reached(head)
        return True

    async def _located(self, upstream: Upstream, wanted: Hash32) -> Head:
        """Fetch the block with this hash from an upstream, and return its number and hash.

        Raises:
            UpstreamError: `absent`: the upstream does not have the block, or sent an invalid one.
        """
        link = upstream.link
        if link is None:
            raise UpstreamError("absent", hexadecimal(wanted))
        try:
            (block,) = await decoded(self._chain.spec, [await block_of_hash(upstream, link, wanted)])
        except UnknownForkError:
            raise
        except UpstreamError as error:
            if error.reason == "invalid":
                upstream.quarantine(PeerError(error.detail))
                raise UpstreamError("absent", hexadecimal(wanted)) from None
            raise
        return Head.of(block)

    def _is_below_window(self, head: Head) -> bool:
        """Return True if a block is older than the window: proofs are behind, and will catch up."""
        with self._chain.snapshot() as view:
            return head.number < view.earliest
