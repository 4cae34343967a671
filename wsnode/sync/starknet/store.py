"""Writer of a followed Starknet chain, and the task that keeps its window of blocks."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import trio

from wsnode.starknet.block import VerifiedStarknetBlock
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.errors import InvalidStarknetBlockError
from wsnode.starknet.felt import felt_text
from wsnode.starknet.roots import StateRoots
from wsnode.sync.follow.blocks.any_upstream import all_at_once
from wsnode.sync.follow.storage_retry import StorageRetry
from wsnode.sync.follow.upstream import PeerError, Upstream, Upstreams
from wsnode.sync.starknet.client import fetch_block
from wsnode.sync.starknet.verified_blocks import NOWHERE, BlockVerifier, VerifiedSideBlock
from wsnode.untrusted.repeated_warning import RepeatedWarning
from wsnode.upstream.errors import UpstreamError

PRUNED_AT_ONCE: Final = 64
"""Maximum number of blocks pruned in one change of the store."""


class RefusedRootError(Exception):
    """Error of a block whose state difference does not give its state root."""

    def __init__(self, error: InvalidStarknetBlockError) -> None:
        super().__init__(str(error))
        self.block_hash = error.block_hash


class ChainWriter:
    """Sole writer of the blocks of one Starknet chain: it sets the head, and keeps the window of blocks."""

    def __init__(
        self,
        chain: StarknetChain,
        chain_id: str,
        window: int | None,
        publish: Callable[[], None],
        *,
        keeps_state: bool = False,
    ) -> None:
        """Write to `chain`; `publish` is called after each change of the head.

        A new folder with a `window` is light, unless it `keeps_state`: then it begins with block 0, and keeps
        the state written before the window. A folder with the whole state takes such a window later too; of
        any other folder the stored window counts.

        Raises:
            StoreError: The store cannot be written.
        """
        self._chain = chain
        self._chain_id = chain_id
        self._publish = publish
        self._turn = trio.Lock()
        self._roots: StateRoots | None = None
        with chain.snapshot() as view:
            has_state = keeps_state or window is None if view.head is None else view.has_whole_state
            takes_window = keeps_state and has_state and window is not None
            self.window = window if view.head is None or takes_window else view.window
            self.is_light = self.window is not None and not (takes_window or view.keeps_state)
            """True if the folder has nothing but a window of blocks; state before it is read by proofs."""
            self.checks_roots = has_state and not self.is_light
            """True if every block's state root is recomputed: in full folders from block 0 on."""
        if takes_window and window is not None:
            chain.keep_window(window)
        self._look()

    def _look(self) -> None:
        with self._chain.snapshot() as view:
            head = view.head
            self.head = NOWHERE if head is None else head
            """Number of the head, -1 without a block."""
            self.first_block = 0 if head is None else view.first_block

    @property
    def wanted_first(self) -> int:
        """Return the number of the window's first block, 0 without a window."""
        return 0 if self.window is None else max(0, self.head - self.window + 1)

    async def set_head(self, root: int, blocks: Sequence[VerifiedSideBlock]) -> None:
        """Replace the blocks above block `root` of the chain by `blocks`, lowest first.

        With the root `NOWHERE` a light folder begins anew with them.

        Raises:
            RefusedRootError: A block's state difference gives another state root.
            StoreError: The store cannot be written.
        """
        async with self._turn:
            await trio.to_thread.run_sync(partial(self._set_head, root, blocks))
            self._look()
        self._publish()

    def _set_head(self, root: int, blocks: Sequence[VerifiedSideBlock]) -> None:
        verified = [proved.block for proved in blocks]
        classes = [found for proved in blocks for found in proved.classes]
        if root == NOWHERE and self.is_light and self.window is not None:
            self._chain.begin_with(verified, classes, self._chain_id, self.window)
            return
        if root == NOWHERE and self.head == NOWHERE:
            self._chain.begin(0, self._chain_id)
        self._check_roots(root, blocks)
        try:
            self._chain.append(verified, classes, after=root if root < self.head else None)
        except BaseException:
            # The tries are ahead of the stored blocks now, so they are dropped.
            self._roots = None
            raise

    def _check_roots(self, root: int, blocks: Sequence[VerifiedSideBlock]) -> None:
        if not self.checks_roots:
            return
        if self._roots is None or root < self.head:
            with self._chain.reader() as reader:
                self._roots = StateRoots() if root == NOWHERE else StateRoots.of_head(reader, root)
        for proved in blocks:
            block = proved.block
            if (found := self._roots.after(block)) != block.new_root:
                self._roots = None
                raise RefusedRootError(
                    InvalidStarknetBlockError(
                        block.number, block.hash, "state_root", felt_text(block.new_root), felt_text(found)
                    )
                )

    async def prepend(self, blocks: Sequence[VerifiedSideBlock]) -> bool:
        """Store blocks below the first stored block, highest first; return False if they do not join it.

        Raises:
            StoreError: The store cannot be written.
        """
        async with self._turn:
            if not blocks or blocks[0].block.number != self.first_block - 1:
                return False
            classes = [found for proved in blocks for found in proved.classes]
            verified = [proved.block for proved in blocks]
            await trio.to_thread.run_sync(partial(self._chain.prepend, verified, classes))
            self._look()
        return True

    async def prune(self) -> bool:
        """Remove up to `PRUNED_AT_ONCE` blocks below the window; return True if there were any.

        Raises:
            StoreError: The store cannot be written.
        """
        async with self._turn:
            first = min(self.wanted_first, self.first_block + PRUNED_AT_ONCE)
            if self.window is None or first <= self.first_block:
                return False
            await trio.to_thread.run_sync(partial(self._chain.prune, first))
            self._look()
        return True


AT_ONCE: Final = 16
REST_SECONDS: Final = 0.5
FAILED_SECONDS: Final = 2.0

logger = logging.getLogger("wsnode.follow")


class StarknetWindow:
    """Task that prunes the blocks below the window of a chain, and adds older ones to a light folder down to
    the window's start.
    """

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
        failure = UpstreamError("unreachable", "no upstream is followed now")
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
                # The upstream is on another branch at the moment, so the block is requested by its hash and
                # not by its number.
                block = await self._verifier.prove(
                    upstream, await fetch_block(upstream, {"block_hash": felt_text(parent)})
                )
            if block.number != number:
                raise PeerError(f"it sent an invalid block: {felt_text(parent)} has another number")
            classes = await self._verifier.fetch_classes(upstream, block)
            linked.append(VerifiedSideBlock(block, classes))
            parent = block.header.parent_hash or b""
        return linked
