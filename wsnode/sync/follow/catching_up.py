"""A long way to the upstreams' head: blocks by number, executed as they come and stored now and then."""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec
import trio

from wsnode.ethereum.appender import Extension
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import UnverifiedBlock
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.tree.live import LiveTree
from wsnode.ethereum.tree.statuses import Invalid, UnknownParent
from wsnode.sync.follow.blocks.fetching import head_at
from wsnode.sync.follow.blocks.ranges import Batch, Ranges
from wsnode.sync.follow.light.receipts import AT_ONCE, Receipts, kept
from wsnode.sync.follow.upstream import Unfit, Upstream, Upstreams
from wsnode.sync.progress import ImportProgress, Step
from wsnode.upstream.errors import UpstreamError

FAR: Final = 16
"""A way of more blocks is fetched by numbers, many at once; a shorter one by hashes."""
COMMIT_BYTES: Final = 1 << 23
COMMIT_BLOCKS: Final = 4096
COMMIT_SECONDS: Final = 2.0
ATTEMPTS: Final = 3

logger = logging.getLogger("wsnode.follow")


class CatchingUp:
    """Goes long ways, one at a time; the blocks fetched are judged, and never believed."""

    def __init__(
        self,
        chain: Chain,
        live: LiveTree,
        upstreams: Upstreams,
        progress: ImportProgress,
        floor: Callable[[], int],
        receipts: Receipts | None = None,
    ) -> None:
        """`floor` returns the number of the block that no branch may leave ours below.

        A light folder needs `receipts` to judge blocks.
        """
        self._receipts = receipts
        self._chain = chain
        self._live = live
        self._upstreams = upstreams
        self._progress = progress
        self._floor = floor
        self._lock = trio.Lock()
        self._done = Step(number=chain.head.number)
        self._committed = 0.0

    @property
    def is_running(self) -> bool:
        """Return whether a long way is being gone."""
        return self._lock.locked()

    def is_far(self, number: int) -> bool:
        """Return whether a block is so far ahead that the way to it is fetched by numbers."""
        return number - self._chain.head.number > FAR

    async def come_near(self, target: Callable[[], int | None]) -> Hash32 | None:
        """Fetch the way up to a number, None if it is not known any more.

        Return the last block of it if that way left our chain: it is not executed, and not the head, yet.
        """
        async with self._lock:
            for attempt in range(ATTEMPTS):
                fit = [upstream for upstream in self._upstreams.fit if upstream.announced is not None]
                wanted = target()
                if not fit or wanted is None or not self.is_far(wanted):
                    break
                # Blocks that do not fit together came from several chains: then one upstream is asked alone.
                sources = fit if not attempt else [fit[attempt % len(fit)]]
                try:
                    if (beside := await self._fetch_up_to(sources, wanted)) is not None:
                        return beside
                except UpstreamError as error:
                    logger.warning("catching up: %s", error)
        return None

    async def _fetch_up_to(self, sources: Sequence[Upstream], target: int) -> Hash32 | None:
        root = await self._root_with(sources[0])
        takes = self._execute if root == self._chain.head.number else self._hold
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
                        if self._is_commit_due():
                            await self._commit(nursery)
            except UpstreamError as error:
                # Not out of the nursery, which would wrap it in a group.
                failures.insert(0, error)
            finally:
                with trio.CancelScope(shield=True):
                    await self._commit(nursery)
            nursery.cancel_scope.cancel()
        if takes == self._hold and last is not None:
            return last
        if failures:
            raise UpstreamError("absent", str(failures[0]))
        return None

    async def _root_with(self, upstream: Upstream) -> int:
        """Return the last block that an upstream has as we have it."""
        back = 1
        number: int = self._chain.head.number
        while True:
            theirs = await head_at(upstream, hex(number))
            with self._chain.snapshot() as view:
                if theirs is not None and view.hash_of(number) == theirs.hash:
                    return number
            floor = self._floor()
            if number <= floor:
                raise UpstreamError("invalid", f"its block {number} is another one")
            number, back = max(number - back, floor), 2 * back

    async def _execute(self, batch: Batch) -> Hash32:
        """Put blocks on the head; they are committed now and then."""
        if self._receipts is not None and len(batch.blocks) > AT_ONCE:
            for some in _pieces(batch):
                last = await self._execute(some)
            return last
        await self._bring(batch.blocks, batch.givers)
        with kept():
            extension = await self._live.extend(batch.blocks)
        self._count(batch)
        if extension.error is not None or extension.taken < len(batch.blocks):
            giver = _giver_of(batch, extension)
            if extension.error is not None:
                giver.quarantine(Unfit(f"it sent an invalid block: {extension.error}", for_good=True))
            raise UpstreamError("invalid", f"{giver}: {extension.error or 'a block that does not follow'}")
        return Hash32(batch.blocks[-1].hash)

    async def _hold(self, batch: Batch) -> Hash32:
        """Keep blocks of a branch that is to become canonical as a whole."""
        # A light folder executes nothing to judge a block, so that it is judged at once.
        keep = self._live.hold if self._receipts is None else self._live.judge
        for block, giver in zip(batch.blocks, batch.givers, strict=True):
            await self._bring([block], [giver])
            with kept():
                status = await keep(block)
            if isinstance(status, Invalid):
                giver.quarantine(Unfit(f"it sent an invalid block: {status.error}", for_good=True))
            if isinstance(status, Invalid | UnknownParent):
                raise UpstreamError("invalid", f"{giver}: block {block.number} does not follow")
        return Hash32(batch.blocks[-1].hash)

    async def _bring(self, blocks: Sequence[UnverifiedBlock], givers: Sequence[Upstream]) -> None:
        """Fetch what it takes to judge a few blocks, if it takes anything."""
        if self._receipts is None:
            return
        try:
            await self._receipts.bring(blocks, givers)
        except Unfit as unfit:
            raise UpstreamError("invalid", str(unfit)) from None

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
        tree = self._live.tree
        return bool(tree.pending) and (
            tree.pending_bytes >= COMMIT_BYTES
            or len(tree.pending) >= COMMIT_BLOCKS
            or trio.current_time() - self._committed >= COMMIT_SECONDS
        )

    async def _commit(self, nursery: trio.Nursery) -> None:
        await self._live.commit(nursery)
        self._committed = trio.current_time()


def _pieces(batch: Batch) -> Iterator[Batch]:
    for start in range(0, len(batch.blocks), AT_ONCE):
        end = start + AT_ONCE
        yield Batch(batch.blocks[start:end], batch.givers[start:end])


def _giver_of(batch: Batch, extension: Extension) -> Upstream:
    """Return who gave the block that ended an extension: of a linked run, any may be the invalid one."""
    wanted = None if extension.error is None else extension.error.block_hash
    for block, giver in zip(batch.blocks, batch.givers, strict=True):
        if block.hash == wanted:
            return giver
    return batch.givers[extension.taken]
