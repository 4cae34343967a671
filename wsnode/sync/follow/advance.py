"""From what upstreams announce to the head: fetched, judged, chosen, and made canonical in one change."""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec
import trio

from wsnode.ethereum.appender import Extension
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.tree.live import LiveTree, in_thread
from wsnode.ethereum.tree.statuses import Invalid, UnknownParent
from wsnode.sync.follow.catching_up import Batch, Ranges
from wsnode.sync.follow.choice import agreed_number, chosen
from wsnode.sync.follow.fetching import head_at
from wsnode.sync.follow.pace import Pace
from wsnode.sync.follow.upstream import Unfit, Upstream, Upstreams
from wsnode.sync.follow.verified import VerifiedBlocks
from wsnode.sync.follow.walk import Walks
from wsnode.sync.progress import ImportProgress, Step
from wsnode.upstream.errors import UpstreamError
from wsnode.upstream.link import Link

FAR: Final = 16
"""A way of more blocks is fetched by numbers, many at once; a shorter one by hashes."""
COMMIT_BYTES: Final = 1 << 23
COMMIT_SECONDS: Final = 2.0

logger = logging.getLogger("wsnode.follow")


class Advance:
    """Moves the head of one chain to where enough upstreams are."""

    def __init__(
        self,
        chain: Chain,
        live: LiveTree,
        upstreams: Upstreams,
        agree: int,
        progress: ImportProgress,
        pace: Pace,
    ) -> None:
        self._chain = chain
        self._live = live
        self._upstreams = upstreams
        self.agree = agree
        self._progress = progress
        self._pace = pace
        self._done = Step(number=chain.head.number)
        self._verified = VerifiedBlocks(chain)
        self._walks = Walks(chain.spec, upstreams, self._verified.__contains__)
        self._catching_up = trio.Lock()
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

    async def take(self, upstream: Upstream, link: Link) -> None:
        """Fetch and judge what an upstream has announced last, and move the head.

        Raises:
            Unfit: Something about its blocks is wrong.
            UpstreamError: They cannot be had.
        """
        announced = upstream.announced
        if announced is None:
            return
        if announced.hash not in self._verified:
            if announced.number - self.head.number > FAR:
                await self._come_near(announced.number)
                announced = upstream.announced or announced
                if announced.number - self.head.number > FAR:
                    return
            await self._judge_up_to(upstream, link, announced)
        before = upstream.head
        is_ancestor = (
            before is not None and announced.number < before.number and self._is_canonical(announced)
        )
        upstream.verified(announced, is_ancestor=is_ancestor)
        await self.choose()

    async def choose(self) -> None:
        """Make the block the head that enough upstreams have, but for the time of a long way there."""
        if self._catching_up.locked():
            return
        async with self._choosing:
            heads = [upstream.head for upstream in self._upstreams if upstream.is_fit and upstream.head]
            paths = [path for path in map(self._verified.path_to, heads) if path is not None]
            found = chosen(paths, self.agree)
            if isinstance(found, Head):
                self._lower_since = None
                await self._set_head(found.hash)
            elif found is not None:
                await self._stay_or_go_back(found)

    async def mark(self, head: Head, *, safe: Hash32 | None, finalized: Hash32 | None) -> bool:
        """Mark what is safe and what is final below a head, and return whether that still is the head."""
        tree = self._live.tree
        async with self._live.lock:
            # With blocks that are executed and not stored yet, setting this head would take them back.
            if tree.head != head:
                return False
            await in_thread(partial(tree.set_head, head.hash, safe=safe, finalized=finalized))
        return True

    async def _judge_up_to(self, upstream: Upstream, link: Link, announced: Head) -> None:
        for block in await self._walks.up_to(upstream, link, announced.hash, self.floor):
            status = await self._live.judge(block)
            if isinstance(status, Invalid):
                raise Unfit(f"it sent an invalid block: {status.error}", for_good=True)
            if isinstance(status, UnknownParent):
                # The chain was switched meanwhile; the next announcement walks further back.
                raise UpstreamError("absent", f"the parent of block {block.number}")
            self._verified.add(block)

    async def _set_head(self, block_hash: Hash32) -> None:
        change = await self._live.set_head(block_hash)
        if isinstance(change, Invalid):
            for upstream in self._upstreams:
                if upstream.head is not None and upstream.head.hash == block_hash:
                    upstream.quarantine(Unfit(f"it sent an invalid block: {change.error}", for_good=True))
            return
        if change.removed:
            self.reorganisations += 1
            logger.info(
                "reorganised: %d blocks left, %d joined, the head is %s",
                len(change.removed),
                len(change.added),
                self.head,
            )
        self._verified.forget_below(self.floor)

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
            with self._chain.snapshot() as view:
                slot = self._pace(view)
            if now - self._lower_since < slot:
                return
        self._lower_since = None
        target = backers[0].head
        assert target is not None, "a backer has a head"
        await self._set_head(target.hash)

    def _is_canonical(self, head: Head) -> bool:
        with self._chain.snapshot() as view:
            return view.number_of(head.hash) is not None

    async def _come_near(self, announced: int) -> None:
        """Fetch a long way by numbers, up to where enough upstreams are."""
        async with self._catching_up:
            for attempt in range(3):
                fit = [upstream for upstream in self._upstreams.fit if upstream.announced is not None]
                numbers = [upstream.announced.number for upstream in fit if upstream.announced is not None]
                target = agreed_number(numbers, self.agree)
                if target is None or target - self.head.number <= FAR:
                    return
                # Blocks that do not fit together came from several chains: then one upstream is asked alone.
                sources = fit if not attempt else [fit[attempt % len(fit)]]
                try:
                    await self._fetch_up_to(sources, target)
                except UpstreamError as error:
                    logger.warning("catching up: %s", error)

    async def _fetch_up_to(self, sources: Sequence[Upstream], target: int) -> None:
        root = await self._root_with(sources[0])
        takes = self._execute if root == self.head.number else self._hold
        sender, receiver = trio.open_memory_channel[Batch](1)
        ranges = Ranges(self._chain.spec, lambda: [each for each in sources if each.is_fit])
        failures: list[Exception] = []
        async with trio.open_nursery() as nursery:

            async def fetch() -> None:
                try:
                    await ranges.run(root + 1, target, sender)
                except* (UpstreamError, trio.BrokenResourceError) as errors:
                    failures.append(errors.exceptions[0])

            nursery.start_soon(fetch)
            last: Hash32 | None = None
            try:
                async with receiver:
                    async for batch in receiver:
                        last = await takes(batch)
            except UpstreamError as error:
                # Not out of the nursery, which would wrap it in a group.
                failures.insert(0, error)
            finally:
                with trio.CancelScope(shield=True):
                    await self._commit()
            nursery.cancel_scope.cancel()
        if takes == self._hold and last is not None:
            await self._set_head(last)
        if failures:
            raise UpstreamError("absent", str(failures[0]))

    async def _root_with(self, upstream: Upstream) -> int:
        """Return the last block that an upstream has as we have it."""
        back = 1
        number: int = self.head.number
        while True:
            theirs = await head_at(upstream, hex(number))
            with self._chain.snapshot() as view:
                if theirs is not None and view.hash_of(number) == theirs.hash:
                    return number
            if number <= self.floor:
                raise UpstreamError("invalid", f"its block {number} is another one")
            number, back = max(number - back, self.floor), 2 * back

    async def _execute(self, batch: Batch) -> Hash32:
        """Put blocks on the head; they are committed now and then."""
        async with self._live.lock:
            extension = await in_thread(partial(self._live.tree.extend, batch.blocks))
        self._count(batch)
        if extension.error is not None or extension.taken < len(batch.blocks):
            giver = _giver_of(batch, extension)
            if extension.error is not None:
                giver.quarantine(Unfit(f"it sent an invalid block: {extension.error}", for_good=True))
            raise UpstreamError("invalid", f"{giver}: {extension.error or 'a block that does not follow'}")
        if self._live.tree.pending_bytes > COMMIT_BYTES or self._is_commit_due():
            await self._commit()
        return Hash32(batch.blocks[-1].hash)

    async def _hold(self, batch: Batch) -> Hash32:
        """Keep blocks of a branch that is to become canonical as a whole."""
        for block, giver in zip(batch.blocks, batch.givers, strict=True):
            async with self._live.lock:
                status = await in_thread(partial(self._live.tree.hold, block))
            if isinstance(status, Invalid | UnknownParent):
                raise UpstreamError("invalid", f"{giver}: block {block.number} does not follow")
        return Hash32(batch.blocks[-1].hash)

    def _count(self, batch: Batch) -> None:
        done = self._done
        self._done = msgspec.structs.replace(
            done,
            number=self._live.tree.head.number,
            blocks=done.blocks + len(batch.blocks),
            transactions=done.transactions + sum(block.transaction_count for block in batch.blocks),
            gas=done.gas + sum(block.gas_used for block in batch.blocks),
        )
        self._progress.advanced(self._done)

    def _is_commit_due(self) -> bool:
        return trio.current_time() - self._committed >= COMMIT_SECONDS

    async def _commit(self) -> None:
        async with self._live.lock:
            tree = self._live.tree
            await in_thread(lambda: tree.store(tree.take_pending()))
            self._live.tell()
        self._committed = trio.current_time()

    _committed = 0.0


def _giver_of(batch: Batch, extension: Extension) -> Upstream:
    """Return who gave the block that ended an extension: of a linked run, any may be the invalid one."""
    wanted = None if extension.error is None else extension.error.block_hash
    for block, giver in zip(batch.blocks, batch.givers, strict=True):
        if block.hash == wanted:
            return giver
    return batch.givers[extension.taken]
