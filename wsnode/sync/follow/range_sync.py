"""Sync over a long distance: blocks are fetched by number, executed, and committed at intervals."""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec
import trio

from wsnode.ethereum.appender import ExtendOutcome
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import UnverifiedBlock
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.state import InvalidBlockError
from wsnode.ethereum.tree.head_writer import LiveTree
from wsnode.ethereum.tree.statuses import InvalidBlock, UnknownParentBlock
from wsnode.sync.follow.blocks.batch_fetcher import BatchFetcher, BlockBatch
from wsnode.sync.follow.blocks.block_client import UnknownForkError, beyond_rules, head_at
from wsnode.sync.follow.light.receipts import AT_ONCE, Receipts, kept
from wsnode.sync.follow.upstream import PeerError, Upstream, Upstreams
from wsnode.sync.progress import ImportProgress, ProgressStep
from wsnode.untrusted.repeated_warning import RepeatedWarning
from wsnode.upstream.errors import UpstreamError

logger = logging.getLogger("wsnode.follow")

FAR: Final = 16
"""Blocks of distance up to which ancestors are fetched by hash; a longer way is fetched by numbers, in
batches.
"""
COMMIT_BYTES: Final = 1 << 23
COMMIT_BLOCKS: Final = 4096
COMMIT_SECONDS: Final = 2.0
ATTEMPTS: Final = 3


class RangeSync:
    """Sync over a long distance, one at a time: it fetches blocks by number, and judges each of them. `floor`
    returns the number of the lowest block that may be replaced. A light folder needs `receipts`.
    """

    def __init__(
        self,
        chain: Chain,
        live: LiveTree,
        upstreams: Upstreams,
        progress: ImportProgress,
        floor: Callable[[], int],
        receipts: Receipts | None = None,
    ) -> None:
        self._receipts = receipts
        self._chain = chain
        self._live = live
        self._upstreams = upstreams
        self._progress = progress
        self._floor = floor
        self._lock = trio.Lock()
        self._failures = RepeatedWarning(logger, trio.current_time)
        self._done = ProgressStep(number=chain.head.number)
        self._committed = 0.0
        self._held: list[Hash32] = []
        """Hash of the last block of each held batch, lowest first."""

    @property
    def is_running(self) -> bool:
        """Return True while blocks are fetched over a long distance."""
        return self._lock.locked()

    def is_far(self, number: int) -> bool:
        """Return True if a block is so far ahead that its ancestors are fetched by number."""
        return number - self._chain.head.number > FAR

    async def come_near(self, target: Callable[[], int | None]) -> Hash32 | None:
        """Fetch the blocks up to the number that `target` returns, until it returns None.

        Return the hash of the last block if the blocks leave this chain, None if they do not. That block is
        not executed yet, and not the head.

        Raises:
            UnknownForkError: A block is of a fork that is not known here; the blocks before it are executed.
        """
        async with self._lock:
            for attempt in range(ATTEMPTS):
                usable = [upstream for upstream in self._upstreams.usable if upstream.announced is not None]
                wanted = target()
                if not usable or wanted is None or not self.is_far(wanted):
                    break
                # If blocks do not fit together, they came from several chains, so each later attempt asks one
                # upstream alone.
                sources = usable if not attempt else [usable[attempt % len(usable)]]
                try:
                    if (beside := await self._fetch_up_to(sources, wanted)) is not None:
                        return beside
                except UnknownForkError:
                    # The other upstreams of the chain have the same block, so another attempt would not help.
                    raise
                except UpstreamError as error:
                    self._failures.say("catching up failed and is tried again: %s", error)
        return None

    async def reach(self, proved: Head) -> list[Hash32]:
        """Fetch the blocks up to a proved one by number, without making any the head.

        Return hashes on the way, lowest first, the last one of the proved block; none if it is not far any
        more.

        Raises:
            UnknownForkError: A block is of a fork that is not known here.
            UpstreamError: No upstream has the way to the proved block.
        """
        async with self._lock:
            usable = self._upstreams.usable
            for attempt in range(1 + len(usable)):
                # Blocks of several upstreams may be of several chains, so each later attempt asks one
                # upstream alone.
                sources = usable if not attempt else [usable[attempt - 1]]
                sources = [upstream for upstream in sources if upstream.is_usable]
                if not self.is_far(proved.number):
                    return []
                if not sources:
                    continue
                self._held.clear()
                try:
                    last = await self._fetch_up_to(sources, proved.number, is_held=True)
                except UnknownForkError:
                    raise
                except UpstreamError as error:
                    self._failures.say("catching up failed and is tried again: %s", error)
                    continue
                if last == proved.hash:
                    return list(self._held)
                if len(sources) == 1:
                    why = f"its block {proved.number} is not the one that the committee has signed"
                    sources[0].quarantine(PeerError(why))
        raise UpstreamError("absent", f"the blocks that lead to the proved block {proved}")

    async def _fetch_up_to(
        self, sources: Sequence[Upstream], target: int, *, is_held: bool = False
    ) -> Hash32 | None:
        root = await self._root_with(sources[0])
        is_next = root == self._chain.head.number and not is_held
        takes = self._execute if is_next else self._hold
        sender, receiver = trio.open_memory_channel[BlockBatch](1)
        ranges = BatchFetcher(self._chain.spec, lambda: [each for each in sources if each.is_usable])
        failures: list[Exception] = []
        async with trio.open_nursery() as nursery:

            async def fetch() -> None:
                try:
                    await ranges.run(root + 1, target, sender)
                except* (UpstreamError, trio.BrokenResourceError) as errors:
                    failures.append(_leaf(errors))

            nursery.start_soon(fetch)
            last: Hash32 | None = None
            try:
                async with receiver:
                    async for batch in receiver:
                        last = await takes(batch)
                        if self._is_commit_due():
                            await self._commit(nursery)
            except UpstreamError as error:
                # The nursery would wrap the error in an exception group, so it is raised after the nursery.
                failures.insert(0, error)
            finally:
                with trio.CancelScope(shield=True):
                    await self._commit(nursery)
            nursery.cancel_scope.cancel()
        if takes == self._hold and last is not None:
            return last
        for failure in failures:
            if isinstance(failure, UnknownForkError):
                raise failure
        if failures:
            raise UpstreamError("absent", str(failures[0]))
        return None

    async def _root_with(self, upstream: Upstream) -> int:
        """Return the number of the last block that an upstream and our chain have in common."""
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

    async def _execute(self, batch: BlockBatch) -> Hash32:
        """Execute blocks on top of the head, to be committed later; return the hash of the last one."""
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
                self._require_known_rules(extension.error)
                giver.quarantine(PeerError(f"it sent an invalid block: {extension.error}", permanent=True))
            raise UpstreamError("invalid", f"{giver}: {extension.error or 'a block that does not follow'}")
        return Hash32(batch.blocks[-1].hash)

    async def _hold(self, batch: BlockBatch) -> Hash32:
        """Keep blocks of a branch that is to become canonical as a whole; return the hash of the last one."""
        # A light folder executes nothing to judge a block, so its blocks are judged here and not later.
        keep = self._live.hold if self._receipts is None else self._live.judge
        for block, giver in zip(batch.blocks, batch.givers, strict=True):
            await self._bring([block], [giver])
            with kept():
                status = await keep(block)
            if isinstance(status, InvalidBlock):
                self._require_known_rules(status.error)
                giver.quarantine(PeerError(f"it sent an invalid block: {status.error}", permanent=True))
            if isinstance(status, InvalidBlock | UnknownParentBlock):
                raise UpstreamError("invalid", f"{giver}: block {block.number} does not follow")
        last = Hash32(batch.blocks[-1].hash)
        self._held.append(last)
        return last

    def _require_known_rules(self, error: InvalidBlockError) -> None:
        if (beyond := beyond_rules(self._chain.spec, error)) is not None:
            raise beyond

    async def _bring(self, blocks: Sequence[UnverifiedBlock], givers: Sequence[Upstream]) -> None:
        """Fetch the receipts that a light folder needs to judge blocks; do nothing for a full folder."""
        if self._receipts is None:
            return
        try:
            await self._receipts.bring(blocks, givers)
        except PeerError as unfit:
            raise UpstreamError("invalid", str(unfit)) from None

    def _count(self, batch: BlockBatch) -> None:
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


def _leaf(error: Exception) -> Exception:
    """Return the first failure in a group of groups."""
    return _leaf(error.exceptions[0]) if isinstance(error, ExceptionGroup) else error


def _pieces(batch: BlockBatch) -> Iterator[BlockBatch]:
    for start in range(0, len(batch.blocks), AT_ONCE):
        end = start + AT_ONCE
        yield BlockBatch(batch.blocks[start:end], batch.givers[start:end])


def _giver_of(batch: BlockBatch, extension: ExtendOutcome) -> Upstream:
    """Return the giver of the invalid block, or without one of the first block that was not taken."""
    wanted = None if extension.error is None else extension.error.block_hash
    for block, giver in zip(batch.blocks, batch.givers, strict=True):
        if block.hash == wanted:
            return giver
    return batch.givers[extension.taken]
